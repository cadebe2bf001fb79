package align

import (
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
)

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
