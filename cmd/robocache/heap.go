package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// headroom is the target for garbage on the heap, in bytes. By default Go allows as much garbage as live memory, which is too much if
// several large episodes are read at once. Small heaps keep the default, because frequent collections cost time when there are many small
// objects.
const headroom = 100 << 20

// gcPercent returns GOGC for a number of live bytes.
func gcPercent(live uint64) int {
	return int(min(100, max(10, 100*headroom/max(live, 1))))
}

// collector limits garbage to headroom, unless GOGC is set.
type collector struct {
	live    [1]metrics.Sample
	percent int
}

func newCollector() *collector {
	c := &collector{percent: 100}
	c.live[0].Name = "/gc/heap/live:bytes"
	return c
}

// adjust sets GOGC for the live bytes at the last collection.
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

// follow calls adjust periodically until end is called, because one episode can take almost the whole run.
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
