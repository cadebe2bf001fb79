package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// headroom is how many bytes of garbage the heap may have besides what is in use. Go lets it have as much again, which is much where several large
// episodes are read at once. Below that nothing changes: collecting more often costs time where there are many small objects.
const headroom = 100 << 20

// gcPercent is how much garbage there may be, of what is in use in bytes.
func gcPercent(live uint64) int {
	return int(min(100, max(10, 100*headroom/max(live, 1))))
}

// collector holds the garbage within the headroom. Whoever sets GOGC has decided otherwise.
type collector struct {
	live    [1]metrics.Sample
	percent int
}

func newCollector() *collector {
	c := &collector{percent: 100}
	c.live[0].Name = "/gc/heap/live:bytes"
	return c
}

// adjust takes into account what is in use now.
func (c *collector) adjust() {
	if os.Getenv("GOGC") != "" {
		return
	}
	metrics.Read(c.live[:])
	if percent := gcPercent(c.live[0].Value.Uint64()); percent != c.percent {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
}

// follow adjusts it every now and then until it is ended: one episode may be most of a run.
func (c *collector) follow() (end func()) {
	ticks, over, done := time.NewTicker(50*time.Millisecond), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-ticks.C:
				c.adjust()
			}
		}
	}()
	return func() { ticks.Stop(); close(over); <-done }
}
