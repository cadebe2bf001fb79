package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// CollapsedError says that float32 cannot hold a clock: distinct times have become one.
type CollapsedError struct {
	Samples, Distinct int     // timestamps, and how many of them differ
	Spacing           float64 // seconds between neighbouring float32 numbers there
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("got float32 seconds that lie %.3g s apart, so that %d timestamps are %d distinct ones; want float64 seconds, int64 nanoseconds, or seconds from the recording's beginning",
		e.Spacing, e.Samples, e.Distinct)
}

// CheckSpacing returns a *CollapsedError if timestamps [S] are float32 seconds too large for their own steps, as epoch seconds are, which lie 128 s
// apart: timestamps repeat then that were not recorded at one time. Other dtypes are always good. Timestamps need not be in order.
func CheckSpacing(times *tensor.Tensor) error {
	if times.DType() != tensor.F32 || times.Rank() != 1 || times.Len() == 0 {
		return nil
	}
	list, err := tensor.Data[float32](times)
	if err != nil {
		return err
	}
	equal, spacing := 0, 0.0 // neighbours that are equal, and how far apart numbers are there
	var steps []float64      // those forward, as multiples of what float32 tells apart
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		switch {
		case b > a:
			steps = append(steps, (float64(b)-float64(a))/spacingAt(max(b, -a)))
		case b == a:
			equal++
			spacing = max(spacing, spacingAt(max(b, -b)))
		}
	}
	slices.Sort(steps)
	// What was rounded to one number lies within neighbouring ones; and where most are one number, a millisecond is more than sensors take.
	neighbours := len(steps) > 0 && steps[len(steps)/2] < 2
	if equal == 0 || !neighbours && !(2*equal >= len(list)-1 && spacing > 1e-3) {
		return nil
	}
	return &CollapsedError{len(list), len(list) - equal, spacing}
}

// spacingAt returns how far the next greater number is from a positive one.
func spacingAt(v float32) float64 {
	return float64(math.Nextafter32(v, float32(math.Inf(1)))) - float64(v)
}
