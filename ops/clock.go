package ops

import (
	"math"
	"time"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Clock gives the times of the targets: a tensor ([At]), or a uniform ([Uniform]) or an anchored ([Anchored]) clock, which are never written
// out. Its fields are
//
//	Times            *tensor.Tensor  [B,T], or [T] shared by the batch, or [sum T] for packed targets, of the source times' dtype, in any order
//	Start            int64           of a uniform clock where Times is nil: target i is at Start + floor(i*1e9/Rate + 0.5) nanoseconds, computed
//	Rate             float64         in float64; for source times in seconds at Start/1e9 + i/Rate, each step in float64, then rounded to
//	Count            int             the times' dtype. Rate is in Hz
//	Anchors, Deltas  *tensor.Tensor  [B] and [T], i64 nanoseconds: target t of row b is at Anchors[b] + Deltas[t]; for source times in seconds at that
//	                                 number divided by 1e9 in float64, then rounded to the times' dtype. Takes no DstOffsets
//
// and Tick and Second give the times of a uniform clock.
type Clock = backend.Clock

// At returns the clock that a tensor of times gives.
func At(times *tensor.Tensor) Clock { return Clock{Times: times} }

// Uniform returns the clock of count ticks at rate Hz, beginning at start nanoseconds.
func Uniform(start int64, rate float64, count int) Clock {
	return Clock{Start: start, Rate: rate, Count: count}
}

// Anchored returns the clock for windows: the same deltas [T] relative to one anchor per row [B]. Both are i64 nanoseconds, also if the source times have
// another dtype.
// Source times in seconds (f64 or f32) are not converted: the targets are, (anchor + delta) / 1e9, rounded in float64 and then to the times' dtype.
func Anchored(anchors, deltas *tensor.Tensor) Clock { return Clock{Anchors: anchors, Deltas: deltas} }

// Limit is an optional length of time, made by [Within] and read by its method Get. The zero value is no limit.
type Limit = backend.Limit

// Within returns the limit of d. Within(0) is a limit too: nothing longer than 0.
func Within(d time.Duration) Limit { return backend.Within(d) }

// Fill is the value written where there is none. The zero value is NaN.
type Fill struct {
	v   float64
	set bool
}

// FillWith returns the fill value v.
func FillWith(v float64) Fill { return Fill{v, true} }

// Get returns the value to write.
func (f Fill) Get() float64 {
	if f.set {
		return f.v
	}
	return math.NaN()
}
