package memory

import (
	"math"
	"os"
	"runtime"
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
				if full, room := spent(limit); full {
					over(&Error{What: "the process", Limit: room})
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

// spent reports whether almost all of a limit, or of the address space, is taken.
func spent(limit Room) (bool, Room) {
	if total := InUse(); total > limit.Bytes/20*19 {
		return true, limit
	}
	room := mappable()
	if room.Bytes < small {
		runtime.GC()
		room = mappable()
	}
	return room.Bytes < small, Room{InUse() + room.Bytes, room.From}
}
