package view

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/tensor"
)

// clock is the timestamps of frames or clouds in order.
type clock struct {
	times []int64     // ascending
	which []int       // the frame at each; nil where these are in order
	core  cover.Cover // where sound
	sound bool        // all of them are times
	gaps  []dataset.Span
	stats dataset.Stats
}

func newClock(name string, times []int64) clock {
	c := clock{times: times, stats: dataset.StatsOf(times)}
	if len(times) == 0 {
		return c
	}
	if !slices.IsSorted(times) {
		c.which = make([]int, len(times))
		for i := range c.which {
			c.which[i] = i
		}
		slices.SortStableFunc(c.which, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
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

// at returns the place in order of what is shown at a time: the latest that is not after it, or the first.
func (c *clock) at(t int64) int {
	return max(sort.Search(len(c.times), func(i int) bool { return c.times[i] > t })-1, 0)
}

// index returns the number of the frame at a place.
func (c *clock) index(place int) int {
	if c.which != nil {
		return c.which[place]
	}
	return place
}

// parseNumber reads the number of an episode.
func parseNumber(text string, n int) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, &badRequest{"episode", text, "a number from 0"}
	}
	if i < 0 || i >= n {
		return 0, &dataset.RangeError{What: "episode", Got: i, Len: n}
	}
	return i, nil
}
