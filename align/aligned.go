package align

import (
	"iter"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Aligned is a stream on the common clock: its own columns, their values at the clock's times, and the recorded samples.
type Aligned struct {
	dataset.Stream                 // Times [T] and Values [T,D]
	Valid          *tensor.Tensor  // [T] u8: 1 if the value is valid
	Age            *tensor.Tensor  // [T] in the clock's dtype: the time since the last sample at or before the target
	Pad            *tensor.Tensor  // [T] u8: 1 if the target is before the first or after the last sample
	Channels       []ops.Channel   // the interpolation method for each column
	How            Sampling        // the plan's settings with defaults and the chosen edge; Channels has the methods
	Recorded       *dataset.Stream // the selected columns, as recorded
}

// Resampled is a recording with each stream on the common clock.
type Resampled struct {
	Clock   ops.Clock
	Times   *tensor.Tensor // [T]
	Streams []Aligned
	Report  Report
}

// Fused is a recording with its streams side by side on the common clock. D is the total number of columns, M the number of
// streams.
type Fused struct {
	Clock   ops.Clock
	Times   *tensor.Tensor // [T]
	Values  *tensor.Tensor // [T,D]
	Valid   *tensor.Tensor // [T,M] u8
	Age     *tensor.Tensor // [T,M]
	Pad     *tensor.Tensor // [T,M] u8
	Streams []Aligned      // views into the tensors above
	Report  Report
}

// Shown returns the values as float64 for a plot, with NaN, which leaves a gap, at targets that are not valid.
func (a *Aligned) Shown() (*tensor.Tensor, error) {
	values, err := tensor.Floats(a.Values)
	if err != nil {
		return nil, err
	}
	flags, err := tensor.Packed[uint8](a.Valid)
	if err != nil {
		return nil, err
	}
	for i := range values {
		if flags[i/len(a.Columns)] == 0 {
			values[i] = math.NaN()
		}
	}
	return tensor.Of(values, a.Values.Shape()...)
}

// Pairs returns each stream as recorded and on the clock, for viz.Panels. Values that are not valid are NaN.
func (r *Resampled) Pairs() iter.Seq2[*dataset.Stream, *dataset.Stream] { return pairs(r.Streams) }

// Pairs returns each stream as recorded and on the clock, for viz.Panels. Values that are not valid are NaN.
func (f *Fused) Pairs() iter.Seq2[*dataset.Stream, *dataset.Stream] { return pairs(f.Streams) }

func pairs(list []Aligned) iter.Seq2[*dataset.Stream, *dataset.Stream] {
	return func(yield func(recorded, made *dataset.Stream) bool) {
		for i := range list {
			a := &list[i]
			made := a.Stream
			if shown, err := a.Shown(); err == nil { // Shown fails if tensors are closed, and then the values cannot be drawn either
				made.Values = shown
			}
			if a.Recorded.Len() > 0 && !yield(a.Recorded, &made) {
				return
			}
		}
	}
}
