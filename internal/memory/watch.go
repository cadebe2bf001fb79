package memory

import (
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Watch sets the collector's limit, unless GOMEMLIMIT does, and calls over once if the process has taken almost all of its memory. Without it the program
// would end with Go's trace, or the system would kill it. The returned function ends the watch.
func Watch(over func(*Error)) (stop func()) {
	limit := Limit()
	if limit.Bytes >= unknown {
		return func() {}
	}
	before := int64(math.MaxInt64)
	if os.Getenv("GOMEMLIMIT") == "" {
		before = debug.SetMemoryLimit(limit.Bytes / 10 * 8)
	}
	done := make(chan struct{})
	go func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				if InUse() > limit.Bytes/20*19 {
					over(&Error{What: "the process", Limit: limit})
					return
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		if os.Getenv("GOMEMLIMIT") == "" {
			debug.SetMemoryLimit(before)
		}
	})
}
