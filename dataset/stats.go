package dataset

import (
	"math"
	"time"

	"github.com/robocache/robocache/internal/nth"
)

// GapFactor defines a gap: a step longer than GapFactor times the median step.
const GapFactor = 3

// LeastGap is the lower bound of the gap limit, because a busy computer can delay a sample by 20 ms.
const LeastGap = 20 * time.Millisecond

// evenShare is the least share of steps between half and twice the median on a steady clock.
const evenShare = 0.9

// GapLimit returns the longest step that is not a gap, for a steady clock with this median step in ns: GapFactor times the median,
// and at least LeastGap. Example: 300ms for a median of 100ms.
func GapLimit(median int64) time.Duration {
	return max(LeastGap, time.Duration(GapFactor*min(median, math.MaxInt64/GapFactor)))
}

// Stats describes a clock. A step is the difference between neighbouring timestamps, in nanoseconds.
type Stats struct {
	Samples     int
	First, Last int64   // nanoseconds, in file order, so not always the smallest and largest; 0 without samples
	Median      int64   // the median of positive steps (the lower one of two); 0 without positive steps
	Rate        float64 // 1e9/Median, Hz; 0 without positive steps
	Jitter      int64   // 95th percentile (nearest rank) of |step - Median| over positive steps
	Steady      bool    // the clock has a rate: 90 % of positive steps are from half to twice the median
	Gaps        int     // steps above Limit; 0 if the clock is not steady
	LongestGap  int64   // the longest gap; 0 without gaps
	Duplicates  int     // steps of zero
	BackSteps   int     // steps below zero
}

// Limit returns the longest step that is not a gap, in nanoseconds; 0 if the clock is not steady, because such a clock has no gaps.
func (s *Stats) Limit() int64 {
	if !s.Steady {
		return 0
	}
	return int64(GapLimit(s.Median))
}

// Span is the time between two neighbouring samples, nanoseconds.
type Span struct{ From, To int64 }

// StatsOf returns the statistics of timestamps in nanoseconds.
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

// evenly returns the step of timestamps with one constant step, and 0 for others.
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

// Gaps returns the steps longer than a limit in nanoseconds, in order.
func Gaps(times []int64, longer int64) []Span {
	var gaps []Span
	for i := 1; i < len(times); i++ {
		if step(times[i-1], times[i]) > longer {
			gaps = append(gaps, Span{times[i-1], times[i]})
		}
	}
	return gaps
}

// step returns b-a, clamped to int64.
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
