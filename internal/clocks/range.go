package clocks

import (
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
)

// Mode is a rule for the beginning and end of a clock.
type Mode uint8

// The modes, which package align describes.
const (
	Common Mode = iota
	Intersection
	Union
	Between
)

// Modes are the names of the modes, in their order.
var Modes = []string{"common", "intersection", "union", "between"}

// String returns the mode's name.
func (m Mode) String() string {
	if int(m) < len(Modes) {
		return Modes[m]
	}
	return fmt.Sprintf("range(%d)", uint8(m))
}

// Range is the time that a clock covers. From and To are for Between, and count from the recording's first timestamp.
type Range struct {
	Mode     Mode
	From, To time.Duration
}

// Span is the time of a clock, with the streams that begin and end it.
type Span struct {
	First, Last          int64
	BeginsWith, EndsWith string
	Notes                dataset.Notes // the choice that was made if the range has no time
}

// Source is a stream that a clock may cover.
type Source struct {
	cover.Cover
	OnChange bool // it does not narrow the range, because it speaks when something changes
	Stray    bool // one of its timestamps is probably wrong, or one step is most of its cover
}

// spanOf returns the time of a clock over sources of a recording, or a *RangeError.
func spanOf(list []Source, whole cover.Cover, r Range) (Span, error) {
	if len(list) == 0 {
		return Span{}, &RangeError{}
	}
	// A stream of a single moment holds its value, and neither begins nor ends a clock unless there are no others.
	if long := slices.DeleteFunc(slices.Clone(list), func(s Source) bool { return s.First == s.Last }); len(long) > 0 {
		list = long
	}
	all := union(list)
	switch r.Mode {
	case Union:
		return all, nil
	case Between:
		s := Span{First: After(whole.First, r.From), Last: After(whole.First, r.To)}
		if s.Last < all.First || s.First > all.Last {
			s.Notes.Add(dataset.Note{Code: dataset.CodeRangeEmpty, Detail: dataset.Detail{Got: cover.Seconds(all.First), Want: cover.Seconds(all.Last)}})
		}
		return s, nil
	case Intersection:
		s, clash := intersection(list)
		if clash != nil {
			return Span{}, &RangeError{Streams: clash}
		}
		return s, nil
	}
	var narrow []Source
	for _, s := range list {
		if !s.OnChange && s.Length() >= whole.Length()/2 {
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

// Recording returns the time of a recording with these streams. A stream of a single moment and one that is Stray count only if all are so,
// because their timestamps may be wrong.
func Recording(list []Source) cover.Cover {
	if long := slices.DeleteFunc(slices.Clone(list), func(s Source) bool { return s.Stray || s.First == s.Last }); len(long) > 0 {
		list = long
	}
	if len(list) == 0 {
		return cover.Cover{}
	}
	all := union(list)
	return cover.Cover{First: all.First, Last: all.Last}
}

// After returns t+d, but at least -2^62 and at most 2^62, the limits of a timestamp.
func After(t int64, d time.Duration) int64 {
	switch sum := float64(t) + float64(d); {
	case sum > 1<<62:
		return 1 << 62
	case sum < -1<<62:
		return -1 << 62
	}
	return t + int64(d)
}

func union(list []Source) Span {
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

// intersection returns the common time, or the two streams because of which there is none.
func intersection(list []Source) (Span, []cover.Cover) {
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
		return Span{}, []cover.Cover{last.Cover, first.Cover}
	}
	return Span{First: first.First, Last: last.Last, BeginsWith: first.Name, EndsWith: last.Name}, nil
}
