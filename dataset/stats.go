package dataset

import (
	"math"
	"time"

	"github.com/robocache/robocache/internal/nth"
)

// GapFactor is how many times the median step a step must exceed to be a gap.
const GapFactor = 3

// LeastGap is the shortest limit of gaps, because a busy computer delays a sample by as much.
const LeastGap = 20 * time.Millisecond

// evenShare is the least share of the steps of a steady clock that lie between half and twice the median.
const evenShare = 0.9

// GapLimit returns the longest step that is no gap of a steady clock with that median step: GapFactor times as long, and LeastGap at least.
func GapLimit(median int64) time.Duration {
	return max(LeastGap, time.Duration(GapFactor*min(median, math.MaxInt64/GapFactor)))
}

// Stats describes a clock. A step is the difference of neighbouring timestamps, in nanoseconds.
type Stats struct {
	Samples     int
	First, Last int64   // nanoseconds; 0 without samples. As recorded: the first and last in order, not the extremes
	Median      int64   // of the steps above zero (the lower one of two); 0 if there is none
	Rate        float64 // 1e9/Median, Hz; 0 if there is no step above zero
	Jitter      int64   // 95th percentile (nearest rank) of |step - Median| over the steps above zero
	Steady      bool    // the clock has a rate: evenShare of the steps above zero are near the median
	Gaps        int     // steps above Limit; 0 without one
	LongestGap  int64   // the longest of those; 0 if there is none
	Duplicates  int     // steps of zero
	BackSteps   int     // steps below zero
}

// Limit returns the longest step that is no gap, in nanoseconds. A clock without a rate has no gaps, and the limit 0.
func (s *Stats) Limit() int64 {
	if !s.Steady {
		return 0
	}
	return int64(GapLimit(s.Median))
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
		s.Median, s.Rate, s.Steady = alike, 1e9/float64(alike), true
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
	even, limit := 0, int64(GapLimit(s.Median))
	for i, d := range steps {
		if d >= s.Median/2 && d <= 2*s.Median {
			even++
		}
		if d > limit {
			s.Gaps++
			s.LongestGap = max(s.LongestGap, d)
		}
		steps[i] = max(d-s.Median, s.Median-d)
	}
	if s.Steady = float64(even) >= evenShare*float64(len(steps)); !s.Steady {
		s.Gaps, s.LongestGap = 0, 0
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
