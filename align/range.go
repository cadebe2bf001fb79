package align

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Cover is the time that the samples of a stream cover, with the name of the stream.
type Cover = cover.Cover

// RangeError says that there is no clock to be made, and names only the streams that are in the way.
type RangeError struct {
	Rate    float64
	Streams []Cover // the one that ends first and the one that begins last, or any without which the clock would not be too long
	Targets float64 // about how many there would be; 0 if there is no common time
}

func (e *RangeError) Error() string {
	var list []string
	for _, s := range e.Streams {
		list = append(list, fmt.Sprintf("%s covers %s to %s s", s.Name, cover.Seconds(s.First), cover.Seconds(s.Last)))
	}
	if e.Targets > 0 {
		s := fmt.Sprintf("%g Hz: got %.4g targets, want at most %d", e.Rate, e.Targets, MaxTargets)
		if len(list) > 0 {
			s += ": " + strings.Join(list, ", ")
		}
		return s
	}
	if len(list) == 0 {
		return "no samples, so no time to put a clock over"
	}
	return "no time that all have in common: " + strings.Join(list, ", ")
}

// Unwrap returns ops.ErrTooLarge where there would be too many targets, else nil.
func (e *RangeError) Unwrap() error {
	if e.Targets > 0 {
		return ops.ErrTooLarge
	}
	return nil
}

// Span is the time of a clock, with the streams that begin and end it.
type Span struct {
	First, Last          int64
	BeginsWith, EndsWith string
	Notes                dataset.Notes // the choice that was made if the range is not to be had
}

// source is a stream's cover with what decides whether it may narrow the range.
type source struct {
	Cover
	onChange bool
	stray    bool // a wrong timestamp beside right ones, or most of the time that it covers is one step
}

// spanOf returns the time that a clock over the given covers has.
func spanOf(list []source, whole Cover, r Range) (Span, error) {
	if len(list) == 0 {
		return Span{}, &RangeError{}
	}
	// A stream of a single moment holds its value, and neither begins nor ends a clock unless there are no others.
	if long := slices.DeleteFunc(slices.Clone(list), func(s source) bool { return s.First == s.Last }); len(long) > 0 {
		list = long
	}
	all := union(list)
	switch r.Mode {
	case RangeUnion:
		return all, nil
	case RangeBetween:
		s := Span{First: after(whole.First, r.From), Last: after(whole.First, r.To)}
		if s.Last < all.First || s.First > all.Last {
			s.Notes.Add(dataset.Note{Code: dataset.CodeRangeEmpty, Detail: dataset.Detail{Got: cover.Seconds(all.First), Want: cover.Seconds(all.Last)}})
		}
		return s, nil
	case RangeIntersection:
		s, clash := intersection(list)
		if clash != nil {
			return Span{}, &RangeError{Streams: clash}
		}
		return s, nil
	}
	var narrow []source
	for _, s := range list {
		if !s.onChange && s.Length() >= whole.Length()/2 {
			narrow = append(narrow, s)
		}
	}
	if len(narrow) == 0 {
		if len(list) > 1 {
			all.Notes.Add(dataset.Note{Code: dataset.CodeRangeNotNarrowed})
		}
		return all, nil
	}
	s, clash := intersection(narrow)
	if clash != nil {
		all.Notes.Add(dataset.Note{Code: dataset.CodeRangeDisjoint, Detail: dataset.Detail{Cause: &RangeError{Streams: clash}}})
		return all, nil
	}
	return s, nil
}

// recordingOf returns the time of a recording that has these streams. One of a single moment, or that is mostly one step, may be a stray timestamp,
// and says nothing of that unless there are no others.
func recordingOf(list []source) Cover {
	if long := slices.DeleteFunc(slices.Clone(list), func(s source) bool { return s.stray || s.First == s.Last }); len(long) > 0 {
		list = long
	}
	if len(list) == 0 {
		return Cover{}
	}
	all := union(list)
	return Cover{First: all.First, Last: all.Last}
}

// after returns t+d, held at the ends of what a timestamp may be.
func after(t int64, d time.Duration) int64 {
	switch sum := float64(t) + float64(d); {
	case sum > 1<<62:
		return 1 << 62
	case sum < -1<<62:
		return -1 << 62
	}
	return t + int64(d)
}

func union(list []source) Span {
	first, last := list[0], list[0]
	for _, s := range list[1:] {
		if s.First < first.First {
			first = s
		}
		if s.Last > last.Last {
			last = s
		}
	}
	return Span{First: first.First, Last: last.Last, BeginsWith: first.Name, EndsWith: last.Name}
}

// intersection returns the common time, or the two streams that leave none.
func intersection(list []source) (Span, []Cover) {
	first, last := list[0], list[0]
	for _, s := range list[1:] {
		if s.First > first.First {
			first = s
		}
		if s.Last < last.Last {
			last = s
		}
	}
	if first.First > last.Last {
		return Span{}, []Cover{last.Cover, first.Cover}
	}
	return Span{First: first.First, Last: last.Last, BeginsWith: first.Name, EndsWith: last.Name}, nil
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
