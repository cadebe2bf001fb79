package doctor

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// examine runs all checks of an episode.
func (x *examiner) examine() []Finding {
	x.times, x.clockOf = make(map[string][]int64, len(x.e.Streams)), make(map[string]*clock, len(x.e.Streams)+len(x.e.Media))
	x.clocked = x.clocks()
	if !x.e.Steps {
		for _, c := range x.clocked {
			x.clock(c)
		}
		x.coverage()
	}
	for i := range x.e.Streams {
		x.stream(&x.e.Streams[i])
	}
	if !x.e.Steps {
		x.offsets()
	}
	x.noted()
	return x.found()
}

// clock runs the checks of one clock.
func (x *examiner) clock(c *clock) {
	if c.hi, c.wrong = len(c.times), x.noTimes(c); c.wrong {
		return
	}
	if c.wrong = x.stillClock(c); c.wrong {
		return
	}
	c.stats, c.lo, c.hi = dataset.StatsOf(c.times), 0, len(c.times)
	if x.strays(c) {
		c.stats = dataset.StatsOf(c.times[c.lo:c.hi])
	}
	c.steady = steady(&c.stats)
	if c.wrong = x.float32Clock(c) || x.timeUnit(c); c.wrong {
		return // because other faults would follow from this one
	}
	x.backSteps(c)
	x.duplicates(c)
	x.gaps(c)
	x.jitter(c)
	x.fps(c)
	x.coarse(c)
}

// stream runs the checks of the values of one stream.
func (x *examiner) stream(s *dataset.Stream) {
	v, ok := valuesOf(s)
	if !ok {
		return
	}
	x.values += v.rows * v.width
	t := &x.work.tally
	v.scan(t)
	x.stated.add(s.Name, &v, t)
	x.notFinite(s, &v, t)
	x.stuck(s, &v, t)
	x.repeated(s, &v, t)
	turning := x.quaternions(s, &v, t)
	for c := range s.Columns {
		if !s.Columns[c].Integer && !turning[c] {
			x.wraps(s, &v, t, c)
		}
	}
	x.saturated(s, &v, t, turning)
	x.jumps(s, &v, t, turning)
	if n := s.Lossy(); n > 0 {
		x.add(Inexact, s.Name, n, fmt.Sprintf("%s too large for %v, and rounded", text.Count(n, "whole number is", "whole numbers are"), s.Values.DType()))
	}
}

// found returns the findings by cause in order: errors first, then by kind and by stream.
func (x *examiner) found() []Finding {
	list := make([]Finding, len(x.list))
	for i, f := range x.list {
		list[i] = x.placed(f)
	}
	list = grouped(list)
	sortFindings(list)
	return list
}
