package view

import (
	"sort"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/tensor"
)

// clock has the frames' or clouds' timestamps in ascending order.
type clock struct {
	times []int64     // ascending
	which []int       // frame index at each time; nil if the frames are in order
	core  cover.Cover // range without outliers, if sound
	sound bool        // all timestamps are valid
	gaps  []dataset.Span
	stats dataset.Stats
}

func newClock(name string, times []int64) clock {
	c := clock{times: times, stats: dataset.StatsOf(times)}
	if len(times) == 0 {
		return c
	}
	if c.which = dataset.InOrder(times); c.which != nil {
		c.times = make([]int64, len(times))
		for i, k := range c.which {
			c.times[i] = times[k]
		}
	}
	if t, err := tensor.Of(c.times, len(c.times)); err == nil {
		if _, core, _, _, err := cover.Core(&dataset.Stream{Times: t}); err == nil {
			c.core, c.sound = core, true
		}
	}
	if c.stats.Median > 0 {
		c.gaps, _ = doctor.Gaps(name, c.times, c.stats)
	}
	return c
}

// at returns the frame's place (index in time order) at time t, ns: the latest frame not after t, or the first.
func (c *clock) at(t int64) int {
	return max(sort.Search(len(c.times), func(i int) bool { return c.times[i] > t })-1, 0)
}

// index returns the recorded index for a place in time order.
func (c *clock) index(place int) int {
	if c.which != nil {
		return c.which[place]
	}
	return place
}
