package dataset

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/tensor"
)

// CollapsedError says that float32 cannot hold a clock: distinct times have become one.
type CollapsedError struct {
	Row               int     // of a batch
	Samples, Distinct int     // timestamps, and how many of them differ
	Spacing           float64 // seconds between neighbouring float32 numbers there
}

func (e *CollapsedError) Error() string {
	return fmt.Sprintf("got float32 seconds that lie %.3g s apart, so that %d timestamps are %d distinct ones; want float64 seconds, int64 nanoseconds, or seconds from the recording's beginning",
		e.Spacing, e.Samples, e.Distinct)
}

// CheckSpacing returns a *CollapsedError if timestamps [S] or [B,S] are float32 seconds so large that their steps are smaller than what float32
// tells apart, as epoch seconds are (128 s). Timestamps repeat then that were not recorded at one time. Other dtypes are always good.
func CheckSpacing(times *tensor.Tensor) error {
	if times.DType() != tensor.F32 || times.Rank() == 0 || times.Len() == 0 {
		return nil
	}
	list, err := tensor.Elements[float32](times)
	if err != nil {
		return err
	}
	n := times.Dim(times.Rank() - 1)
	for row := range times.Len() / n {
		first, last, distinct := list[row*n], list[row*n+n-1], 1
		for i := 1; i < n; i++ {
			if list[row*n+i] != list[row*n+i-1] {
				distinct++
			}
		}
		spacing := float64(math.Nextafter32(max(last, -first), float32(math.Inf(1)))) - float64(max(last, -first))
		step := float64(last-first) / float64(max(n-1, 1))
		if distinct == 1 { // of one time that repeats nothing is known but its spacing: a millisecond is more than sensors take
			step = 1e-3
		}
		if distinct < n && spacing > step {
			return &CollapsedError{row, n, distinct, spacing}
		}
	}
	return nil
}
