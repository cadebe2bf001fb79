package align

import (
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// EndSnap returns how far after the end of the range a clock's last tick may be: snap, one that Snapping has returned; but where timestamps are float32 no
// less than what that tells apart at the end of what streams cover, since a last frame may have been rounded down by as much.
func EndSnap(snap ops.Limit, dtype tensor.DType, covers []Cover) ops.Limit {
	d, given := snap.Get()
	if dtype != tensor.F32 || !given {
		return snap
	}
	for _, c := range covers {
		last := float32(math.Abs(float64(c.Last) / 1e9))
		spacing := float64(math.Nextafter32(last, math.MaxFloat32)) - float64(last)
		d = max(d, time.Duration(math.Ceil(spacing*1e9)))
	}
	return ops.Within(d)
}

// maxOutput is the most bytes that the results may take: a slip of the finger should not fill the memory.
const maxOutput = 64 << 30

// Room returns a *SizeError if a clock's results would not fit: of so many streams with so many columns together, of a dtype.
func Room(clock ops.Clock, streams, columns int, dtype tensor.DType) error {
	size := 8
	if dtype != 0 {
		size = dtype.Size()
	}
	// An age of 8 bytes and two flags beside the values, the times, and as much again for what is counted and written.
	need := 2 * float64(clock.Count) * (float64(columns)*float64(size) + float64(streams)*10 + 8)
	if most := float64(min(maxOutput, tensor.Available())); need > most {
		return &SizeError{clock.Rate, clock.Count, need, most}
	}
	return nil
}

// clock returns the clock of a rate over the span: from its first nanosecond in steps of 1/rate, with the last tick that is no more than snap after
// its end; false if that is more than MaxTargets, with about how many.
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

// ClockOver returns the clock of a rate over the time that streams cover, and that time. There being none, or more than MaxTargets, is a
// *RangeError. The last tick is no more than snap after the end.
func ClockOver(covers []Cover, r Range, rate float64, snap ops.Limit) (ops.Clock, Span, error) {
	list := make([]source, len(covers))
	for i, c := range covers {
		list[i].Cover = c
	}
	return clockOver(list, recordingOf(list), r, rate, snap)
}

func clockOver(list []source, whole Cover, r Range, rate float64, snap ops.Limit) (ops.Clock, Span, error) {
	span, err := spanOf(list, whole, r)
	if err != nil {
		return ops.Clock{}, span, err
	}
	clock, want, fits := span.clock(rate, snap)
	if fits {
		return clock, span, nil
	}
	e := &RangeError{Rate: rate, Targets: want}
	for i, s := range list { // one without which the others fit is in the way, and one with a stray timestamp
		if s.stray {
			e.Streams = append(e.Streams, s.Cover)
			continue
		}
		others := slices.Delete(slices.Clone(list), i, i+1)
		if rest, err := spanOf(others, whole, r); err == nil && r.Mode != RangeBetween {
			if _, _, fits := rest.clock(rate, snap); fits {
				e.Streams = append(e.Streams, s.Cover)
			}
		}
	}
	return clock, span, e
}

// Ticks returns the times of a uniform clock over a span as a tensor [T]: i64 nanoseconds, or f64 or f32 seconds; and the clock to compute with. Where
// float32 has rounded the last tick to behind the end of the span, it is that end, whose sample it takes, and the clock is of these times.
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
