package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// CollapsedError reports that float32 is too coarse for a clock: different times became equal.
type CollapsedError struct {
	Samples, Distinct int     // timestamps, and the number of different ones
	Spacing           float64 // distance between neighbouring float32 numbers there, seconds
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("got float32 seconds that lie %.3g s apart, so that %d timestamps are %d distinct ones; want float64 seconds, int64 nanoseconds, or seconds from the recording's beginning",
		e.Spacing, e.Samples, e.Distinct)
}

// CheckSpacing returns a *CollapsedError if timestamps [S] are float32 seconds and float32 is too coarse for their steps. Example:
// near 1.7e9 s, the time since 1970, float32 numbers are 128 s apart, so the timestamps repeat. Other dtypes always pass.
// Timestamps need not be in order.
func CheckSpacing(times *tensor.Tensor) error {
	if times.DType() != tensor.F32 || times.Rank() != 1 || times.Len() == 0 {
		return nil
	}
	list, err := tensor.Data[float32](times)
	if err != nil {
		return err
	}
	equal, spacing := 0, 0.0 // neighbours that are equal, and how far apart numbers are there
	var steps []float64      // positive steps, as multiples of the distance between float32 numbers
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
	// Times that were rounded to one number lie next to each other. If most times are equal, a resolution of a millisecond is too
	// coarse for a sensor.
	neighbours := len(steps) > 0 && steps[len(steps)/2] < 2
	if equal == 0 || !neighbours && !(2*equal >= len(list)-1 && spacing > 1e-3) {
		return nil
	}
	return &CollapsedError{len(list), len(list) - equal, spacing}
}

// spacingAt returns the distance from a positive number to the next larger one.
func spacingAt(v float32) float64 {
	return float64(math.Nextafter32(v, float32(math.Inf(1)))) - float64(v)
}
