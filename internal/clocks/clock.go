package clocks

import (
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Snap is how near to a sample a target counts as on it, unless a plan has another limit: recorded times are often rounded to microseconds.
const Snap = time.Microsecond

// HalfStep returns half a step of a clock of a rate, the longest snap that puts no two targets on one sample. A clock of given times has
// the rate 0 and no limit.
func HalfStep(rate float64) time.Duration {
	if rate > 0 {
		return time.Duration(min(1e9/rate/2, 1e18))
	}
	return math.MaxInt64
}

// Snapping returns the snap of a clock of a rate: given, no limit if that is 0, and if none is given Snap, or HalfStep if that is less.
func Snapping(given ops.Limit, rate float64) ops.Limit {
	switch d, ok := given.Get(); {
	case !ok:
		return ops.Within(min(Snap, HalfStep(rate)))
	case d == 0:
		return ops.Limit{}
	}
	return given
}

// endSnap returns how far after the end of the range a clock's last tick may be. It is snap, or for float32 timestamps the distance between
// neighbours of that type at the end of the streams if that is longer, because the last timestamp may have been rounded down by as much.
func endSnap(snap ops.Limit, dtype tensor.DType, list []Source) ops.Limit {
	d, given := snap.Get()
	if dtype != tensor.F32 || !given {
		return snap
	}
	for _, c := range list {
		last := float32(math.Abs(float64(c.Last) / 1e9))
		spacing := float64(math.Nextafter32(last, math.MaxFloat32)) - float64(last)
		d = max(d, time.Duration(math.Ceil(spacing*1e9)))
	}
	return ops.Within(d)
}

// maxOutput is the most bytes that the results may take, so that a mistyped rate does not fill the memory.
const maxOutput = 64 << 30

// Room returns a *SizeError if the results at a clock's targets would not fit into the memory. columns is the sum over the streams; a dtype
// of 0 is taken as 8 bytes.
func Room(clock ops.Clock, streams, columns int, dtype tensor.DType) error {
	size := 8
	if dtype != 0 {
		size = dtype.Size()
	}
	// Each target has values, a time, and for each stream an age of 8 bytes and two flags. Counting and writing take as much again.
	need := 2 * float64(clock.Count) * (float64(columns)*float64(size) + float64(streams)*10 + 8)
	if most := float64(min(maxOutput, tensor.Available())); need > most {
		return &SizeError{clock.Rate, clock.Count, need, most}
	}
	return nil
}

// clock returns the clock of a rate over the span. It begins at the first nanosecond and ends with the last tick that is no more than snap
// after the span. If there would be more than MaxTargets ticks, fits is false and want is about their number.
func (s Span) clock(rate float64, snap ops.Limit) (clock ops.Clock, want float64, fits bool) {
	slack, _ := snap.Get()
	last := s.Last + min(int64(slack), math.MaxInt64-max(s.Last, 0))
	length := (float64(last) - float64(s.First)) / 1e9 // of integers it could overflow
	if want = length*rate + 1; want > MaxTargets {
		return ops.Clock{}, want, false
	}
	clock = ops.Uniform(s.First, rate, max(int(want)+2, 0))
	for clock.Count > 0 && clock.Tick(clock.Count-1) > last {
		clock.Count--
	}
	return clock, want, true
}

// Over returns the clock of a rate over sources of one dtype, with its span. whole is the time of the recording, and a Range of the mode
// Between counts from its beginning. The last tick is no more than snap after the end, see Snapping. If there is no time, or more than
// MaxTargets ticks, the error is a *RangeError.
func Over(list []Source, whole cover.Cover, r Range, rate float64, snap ops.Limit, dtype tensor.DType) (ops.Clock, Span, error) {
	span, err := spanOf(list, whole, r)
	if err != nil {
		return ops.Clock{}, span, err
	}
	snap = endSnap(snap, dtype, list)
	clock, want, fits := span.clock(rate, snap)
	if fits {
		return clock, span, nil
	}
	e := &RangeError{Rate: rate, Targets: want}
	for i, s := range list { // a stream is in the way if it is Stray, or if the others fit without it
		if s.Stray {
			e.Streams = append(e.Streams, s.Cover)
			continue
		}
		others := slices.Delete(slices.Clone(list), i, i+1)
		if rest, err := spanOf(others, whole, r); err == nil && r.Mode != Between {
			if _, _, fits := rest.clock(rate, snap); fits {
				e.Streams = append(e.Streams, s.Cover)
			}
		}
	}
	return clock, span, e
}

// Ticks returns the times [T] of a uniform clock over a span, i64 nanoseconds or f64 or f32 seconds, and the clock to compute with. If
// float32 rounds the last tick to after the end of the span, the tick is that end, so that it takes the sample there, and the clock is At
// these times.
func Ticks(clock ops.Clock, over Span, dtype tensor.DType) (times *tensor.Tensor, at ops.Clock, err error) {
	switch dtype {
	case tensor.I64:
		times, err = ticksOf(clock, clock.Tick)
		return times, clock, err
	case tensor.F64:
		times, err = ticksOf(clock, clock.Second)
		return times, clock, err
	}
	end, at := float32(float64(over.Last)/1e9), clock
	times, err = ticksOf(clock, func(i int) float32 {
		t := float32(clock.Second(i))
		if i == clock.Count-1 && t > end {
			t, at.Count = end, 0
		}
		return t
	})
	if err == nil && at.Count == 0 && clock.Count > 0 {
		at = ops.At(times)
	}
	return times, at, err
}

func ticksOf[T int64 | float64 | float32](clock ops.Clock, of func(i int) T) (*tensor.Tensor, error) {
	out := make([]T, clock.Count)
	for i := range out {
		out[i] = of(i)
	}
	return tensor.Of(out, len(out))
}

// Shifted returns a clock that is later by d.
func Shifted(times *tensor.Tensor, d time.Duration) (*tensor.Tensor, error) {
	if d == 0 {
		return times, nil
	}
	if times.DType() == tensor.I64 {
		return shiftedBy(times, int64(d))
	}
	if times.DType() == tensor.F64 {
		return shiftedBy(times, float64(d)/1e9)
	}
	return shiftedBy(times, float32(float64(d)/1e9))
}

func shiftedBy[T int64 | float64 | float32](times *tensor.Tensor, d T) (*tensor.Tensor, error) {
	list, err := tensor.Data[T](times)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = t + d
	}
	return tensor.Of(out, len(out))
}
