package dataset

import (
	"math"
	"time"

	"github.com/robocache/robocache/internal/nth"
)

// GapFactor is how many times the median step a step must exceed to be a gap.
const GapFactor = 3

// LeastGap is what a step must exceed besides, where gaps are told or left out: a computer that is busy delays a sample by as much.
const LeastGap = 20 * time.Millisecond

// GapLimit returns the longest step that is no gap of a clock with that median step: GapFactor times as long, and LeastGap at least.
func GapLimit(median int64) time.Duration { return max(LeastGap, time.Duration(gapLimit(median))) }

// Stats describes a clock. A step is the difference of neighbouring timestamps, in nanoseconds.
type Stats struct {
	Samples     int
	First, Last int64   // nanoseconds; 0 without samples. As recorded: the first and last in order, not the extremes
	Median      int64   // of the steps above zero (the lower one of two); 0 if there is none
	Rate        float64 // 1e9/Median, Hz; 0 if there is no step above zero
	Jitter      int64   // 95th percentile (nearest rank) of |step - Median| over the steps above zero
	Gaps        int     // steps above GapFactor*Median
	LongestGap  int64   // the longest of those; 0 if there is none
	Duplicates  int     // steps of zero
	BackSteps   int     // steps below zero
}

// Span is a stretch of time between two neighbouring samples, nanoseconds.
type Span struct{ From, To int64 }

// StatsOf returns the statistics of a clock.
func StatsOf(times []int64) Stats {
	s := Stats{Samples: len(times)}
	if len(times) == 0 {
		return s
	}
	s.First, s.Last = times[0], times[len(times)-1]
	if alike := evenly(times); alike > 0 { // as the steps of a table are
		s.Median, s.Rate = alike, 1e9/float64(alike)
		return s
	}
	steps := make([]int64, 0, len(times)-1)
	for i := 1; i < len(times); i++ {
		switch d := step(times[i-1], times[i]); {
		case d > 0:
			steps = append(steps, d)
		case d == 0:
			s.Duplicates++
		default:
			s.BackSteps++
		}
	}
	if len(steps) == 0 {
		return s
	}
	s.Median = nth.Of(steps, (len(steps)-1)/2)
	s.Rate = 1e9 / float64(s.Median)
	limit := gapLimit(s.Median)
	for i, d := range steps {
		if d > limit {
			s.Gaps++
			s.LongestGap = max(s.LongestGap, d)
		}
		steps[i] = max(d-s.Median, s.Median-d)
	}
	s.Jitter = nth.Of(steps, (95*len(steps)+99)/100-1)
	return s
}

// evenly returns the step of timestamps that are all one step apart, 0 of others.
func evenly(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	d := step(times[0], times[1])
	for i := 2; i < len(times); i++ {
		if step(times[i-1], times[i]) != d {
			return 0
		}
	}
	return max(d, 0)
}

// Gaps returns the steps that are longer than the given nanoseconds, in order.
func Gaps(times []int64, longer int64) []Span {
	var gaps []Span
	for i := 1; i < len(times); i++ {
		if step(times[i-1], times[i]) > longer {
			gaps = append(gaps, Span{times[i-1], times[i]})
		}
	}
	return gaps
}

func gapLimit(median int64) int64 {
	if median > math.MaxInt64/GapFactor {
		return math.MaxInt64
	}
	return GapFactor * median
}

// step returns b-a, held at the ends of int64.
func step(a, b int64) int64 {
	d := b - a
	if a < b && d < 0 {
		return math.MaxInt64
	}
	if a > b && d > 0 {
		return math.MinInt64
	}
	return d
}
