package ops

import (
	"math"
	"time"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Clock defines the target times. Make it from a tensor ([At]), from a rate ([Uniform]), or from anchors ([Anchored]).
// Uniform and anchored clocks take no memory for their times. Its fields are
//
//	Times            *tensor.Tensor  [B,T], or [T] shared by the batch, or [sum T] for packed targets; the source times' dtype, any order
//	Start            int64           uniform clock, if Times is nil: target i is at Start + floor(i*1e9/Rate + 0.5) nanoseconds, computed
//	Rate             float64         in float64; if source times are in seconds, at Start/1e9 + i/Rate, each step in float64, then rounded
//	Count            int             to the times' dtype. Rate is in Hz
//	Anchors, Deltas  *tensor.Tensor  [B] and [T], i64 nanoseconds: target t in row b is at Anchors[b] + Deltas[t]; if source times are in
//	                                 seconds, this sum is divided by 1e9 in float64, then rounded to the times' dtype. DstOffsets must be nil
//
// The methods Tick and Second return single times of a uniform clock.
type Clock = backend.Clock

// At returns a clock with the target times from a tensor. Example: At(times) with times [B,T] gives each row its own
// targets.
func At(times *tensor.Tensor) Clock { return Clock{Times: times} }

// Uniform returns a clock with count ticks at rate Hz, beginning at start nanoseconds. Example: Uniform(0, 50, 100) has
// ticks at 0, 20, 40 ms and so on, up to 1980 ms.
func Uniform(start int64, rate float64, count int) Clock {
	return Clock{Start: start, Rate: rate, Count: count}
}

// Anchored returns the clock for windows: each row has one anchor [B], and all rows share the deltas [T]. Both are i64
// nanoseconds for every dtype of source times. If source times are in seconds (f64 or f32), they are not converted.
// Instead each target becomes (anchor + delta) / 1e9, rounded in float64 and then to the times' dtype. Example: deltas
// -20e6, 0 and 20e6 give three samples around each anchor.
func Anchored(anchors, deltas *tensor.Tensor) Clock { return Clock{Anchors: anchors, Deltas: deltas} }

// Limit is an optional duration. [Within] makes one, and its method Get reads it. The zero value means no limit.
type Limit = backend.Limit

// Within returns a limit with the duration d. Within(0) is a limit too: it allows nothing longer than 0.
func Within(d time.Duration) Limit { return backend.Within(d) }

// Fill is the value that is written if a target has no value. The zero value means NaN.
type Fill struct {
	v   float64
	set bool
}

// FillWith returns a Fill with the value v. Example: FillWith(0) writes zeros.
func FillWith(v float64) Fill { return Fill{v, true} }

// Get returns the value to write: v from FillWith, else NaN.
func (f Fill) Get() float64 {
	if f.set {
		return f.v
	}
	return math.NaN()
}
