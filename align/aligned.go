package align

import (
	"iter"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Aligned is a stream on the common clock: its own columns, their values at the clock's times, and what was recorded.
type Aligned struct {
	dataset.Stream                 // Times [T] and Values [T,D]
	Valid          *tensor.Tensor  // [T] u8: 1 where there is a value to trust
	Age            *tensor.Tensor  // [T] of the clock's dtype: the target's time less that of the sample at or before it
	Pad            *tensor.Tensor  // [T] u8: 1 where the target is before the stream's samples or after them
	Channels       []ops.Channel   // what is between samples
	How            Sampling        // the plan's, with what it left open filled in, but for the kinds
	Recorded       *dataset.Stream // the columns that were taken, as recorded
}

// Resampled is a recording with each stream on the common clock.
type Resampled struct {
	Clock   ops.Clock
	Times   *tensor.Tensor // [T]
	Streams []Aligned
	Report  Report
}

// Fused is a recording whose streams lie side by side on the common clock: D is the sum of the streams' columns, M their number.
type Fused struct {
	Clock   ops.Clock
	Times   *tensor.Tensor // [T]
	Values  *tensor.Tensor // [T,D]
	Valid   *tensor.Tensor // [T,M] u8
	Age     *tensor.Tensor // [T,M]
	Pad     *tensor.Tensor // [T,M] u8
	Streams []Aligned      // views of the tensors above
	Report  Report
}

// Shown returns what to draw of the values, in float64: where a target is not valid NaN stands, which is not drawn.
func (a *Aligned) Shown() (*tensor.Tensor, error) {
	values, err := tensor.Floats(a.Values)
	if err != nil {
		return nil, err
	}
	valid, err := a.Valid.Contiguous()
	if err != nil {
		return nil, err
	}
	flags, err := tensor.Data[uint8](valid)
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

// Pairs returns each stream as recorded and on the clock, as viz.Panels draws them. What is not valid is NaN there.
func (r *Resampled) Pairs() iter.Seq2[*dataset.Stream, *dataset.Stream] { return pairs(r.Streams) }

// Pairs returns each stream as recorded and on the clock, as viz.Panels draws them. What is not valid is NaN there.
func (f *Fused) Pairs() iter.Seq2[*dataset.Stream, *dataset.Stream] { return pairs(f.Streams) }

func pairs(list []Aligned) iter.Seq2[*dataset.Stream, *dataset.Stream] {
	return func(yield func(recorded, made *dataset.Stream) bool) {
		for i := range list {
			a := &list[i]
			made := a.Stream
			if shown, err := a.Shown(); err == nil { // of closed tensors it is not, and these cannot be drawn either
				made.Values = shown
			}
			if a.Recorded.Len() > 0 && !yield(a.Recorded, &made) {
				return
			}
		}
	}
}
