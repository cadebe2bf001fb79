package doctor

import (
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// The rules for clocks.
const (
	leastEqual  = 10   // least number of equal timestamps that are a fault, unless they are 0
	leastSteps  = 8    // least number of steps from which a clock is judged
	rateDiffers = 0.01 // relative difference from the declared rate that is a fault
	leastJitter = 100  // least number of samples from which jitter is judged
	wideJitter  = 0.5  // of the median step: jitter that is a fault
	tooCoarse   = 0.1  // of the median step: rounding that is a fault
	unevenShare = 0.25 // least share of the steps that the rounding must change
	sameLength  = 0.02 // relative difference of the durations of streams in one recording
	float32Part = 0.01 // of the median step: spacing of float32 seconds that is a fault
)

// clock is the timestamps of one or several streams.
type clock struct {
	stream string   // the first stream with these timestamps
	others []string // the other streams with them
	times  []int64
	raw    *tensor.Tensor // timestamps as recorded; nil for media
	values *values        // the first stream's values; nil for media
	stats  dataset.Stats
	steady bool // it has a rate, and enough steps to show it
	lo, hi int  // samples lo to hi-1 are the ones without outliers at both ends
	wrong  bool // its timestamps are unusable: NaN, in another unit, or float32

	first, last int64 // ns: the first and the last timestamp without outliers
}

// sharers returns text for the end of a sentence that names the other streams with this clock; empty if there is none.
func (c *clock) sharers() string { return sharers(c.others) }

// steady reports whether a clock has a rate and enough steps to show it. Other clocks have no gaps.
func steady(st *dataset.Stats) bool {
	return st.Steady && st.Samples-st.Duplicates-st.BackSteps > leastSteps
}

// Limits for the distance of timestamps from an even clock, as a root mean square in steps: mostOff, and mostDrift times the square root of
// the number of samples. Timestamps of independent events reach 0.25 times the square root.
const (
	mostOff   = 2
	mostDrift = 0.07
)

// keepsTime reports whether timestamps scatter about an even clock. Independent steps would drift away from it.
func (c *clock) keepsTime() bool {
	times := c.times[c.lo:c.hi]
	if len(times) < 2*leastJitter || c.stats.BackSteps > 0 || c.stats.Duplicates > len(times)/leastSteps {
		return false
	}
	middle := float64(len(times)-1) / 2
	var sum, slope, squares float64
	for i, t := range times {
		sec, k := float64(t-times[0]), float64(i)-middle
		sum, slope, squares = sum+sec, slope+k*sec, squares+k*k
	}
	mean, step := sum/float64(len(times)), slope/squares
	off := 0.0
	for i, t := range times {
		d := float64(t-times[0]) - mean - (float64(i)-middle)*step
		off += d * d
	}
	return math.Sqrt(off/float64(len(times))) <= min(mostOff, mostDrift*math.Sqrt(float64(len(times))))*step
}

// Gaps returns the gaps in a stream's clock by the rule for the kind Gap without MaxStep, and longest, the longest step in
// nanoseconds that is not a gap. times ascend, and st are their statistics. If the clock has no steady rate, there are no gaps and
// longest is 0.
func Gaps(stream string, times []int64, st dataset.Stats) (gaps []dataset.Span, longest int64) {
	return gapsOf(times, st, steady(&st), roleOf(stream).command)
}

// gapsOf is Gaps for a clock that is judged already. Commands with many gaps are sent on demand, so these are no gaps.
func gapsOf(times []int64, st dataset.Stats, steady, command bool) (gaps []dataset.Span, longest int64) {
	if !steady {
		return nil, 0
	}
	limit := int64(dataset.GapLimit(st.Median))
	gaps = dataset.Gaps(times, limit)
	if command && len(gaps) > len(times)/100 {
		return nil, 0
	}
	return gaps, limit
}
