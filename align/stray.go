package align

import (
	"slices"

	"github.com/robocache/robocache/dataset"
)

// A timestamp is stray if it lies so many times as far from the others of its stream as these are long: a zero, which a clock gives before it is set,
// ten times, and what may be a sample after a long pause a thousand times. The others are at least ten, and ten for each of a block of several
// numbers.
const (
	strayOthers = 10
	strayZero   = 10
	strayNumber = 1000
)

// CoversOf returns, as CoverOf does, the time that a stream's samples cover, and that without stray timestamps at its ends: what a clock gave before
// it was set, or wild numbers.
func CoversOf(s *dataset.Stream) (all, core Cover, err error) {
	all, core, _, _, err = coversOf(s)
	return all, core, err
}

// coversOf also returns which samples are not stray: from lo to before hi.
func coversOf(s *dataset.Stream) (all, core Cover, lo, hi int, err error) {
	if all, err = CoverOf(s.Name, s.Times); err != nil {
		return all, all, 0, 0, err
	}
	core = all
	ns := s.Nanoseconds()
	hi = len(ns)
	for hi-lo > strayOthers {
		at, longest := longestStep(ns[lo:hi])
		at += lo
		step := float64(longest)
		if longest > 0 && stray(ns[lo:at], ns[at:hi], step) {
			lo = at
		} else if longest > 0 && stray(ns[at:hi], ns[lo:at], step) {
			hi = at
		} else {
			break
		}
	}
	if lo > 0 {
		core.First = ns[lo]
	}
	if hi < len(ns) {
		core.Last = ns[hi-1]
	}
	return all, core, lo, hi, nil
}

// stray reports whether a block of sorted timestamps is stray beside the others, a step away from them.
func stray(block, others []int64, step float64) bool {
	length := float64(others[len(others)-1]) - float64(others[0])
	if len(others) < strayOthers || length == 0 {
		return false
	}
	switch first, last := block[0], block[len(block)-1]; {
	case first == 0 && last == 0:
		return step > strayZero*length
	case first == last:
		return step > strayNumber*length
	}
	return step > strayNumber*length && strayOthers*len(block) <= len(others)
}

// Strays returns a note about each end of a stream's cover that lies outside its core. Code is CodeStrayLeftOut or another of its kind.
func Strays(name string, all, core Cover, code dataset.Code, count int) (notes dataset.Notes) {
	stray := func(at, away int64) {
		if away != 0 {
			notes.Add(dataset.Note{Code: code, Subject: name, Count: count, Detail: dataset.Detail{Got: Seconds(at), Want: Seconds(away)}})
		}
	}
	stray(all.First, core.First-all.First)
	stray(all.Last, all.Last-core.Last)
	return notes
}

// strays adds the notes about timestamps of the streams that are taken.
func (j *job) strays(notes *dataset.Notes) {
	for _, t := range j.takes {
		code := dataset.CodeStrayFollowed
		switch {
		case t.strays > 0:
			code = dataset.CodeStrayLeftOut
		case j.plan.Targets != nil:
			code = dataset.CodeStrayTaken
		}
		notes.Join(Strays(t.stream.Name, t.cover, t.core, code, t.strays))
		notes.Join(t.jumps)
	}
}

// beside are the streams of the recording that are not taken, as far as their timestamps are good.
func (j *job) beside(e *dataset.Episode) (list []source) {
	for i := range e.Streams {
		s := &e.Streams[i]
		if slices.ContainsFunc(j.takes, func(t take) bool { return t.from == s.Name }) {
			continue
		}
		if _, core, lo, hi, err := coversOf(s); err == nil {
			list = append(list, source{Cover: core, stray: mostlyOneStep(s.Nanoseconds()[lo:hi])})
		}
	}
	return list
}

// witness reports whether another stream has samples around a time.
func (j *job) witness(t *take, beside []source, at int64) bool {
	within := func(c Cover) bool { return c.First <= at && at <= c.Last }
	return slices.ContainsFunc(beside, func(s source) bool { return within(s.Cover) }) ||
		slices.ContainsFunc(j.takes, func(o take) bool { return !o.empty && o.from != t.from && within(o.core) })
}

// vouched puts timestamps back into a stream's core that lie where another stream has samples: within the recording nothing is stray.
func (j *job) vouched(t *take, beside []source) {
	if t.lo > 0 && j.witness(t, beside, t.cover.First) {
		t.lo, t.core.First = 0, t.cover.First
	}
	if n := t.stream.Len(); t.hi < n && j.witness(t, beside, t.cover.Last) {
		t.hi, t.core.Last = n, t.cover.Last
	}
}

// kept are the timestamps that are not stray.
func (t *take) kept() []int64 {
	ns := t.stream.Nanoseconds()
	if t.strays > 0 { // the others are no longer there
		return ns
	}
	return ns[t.lo:t.hi]
}

// jump returns a note if a stream's clock was perhaps set while it was recorded: one step is a thousand times all others together, and leads to where no
// other stream is.
func (j *job) jump(t *take, beside []source) (notes dataset.Notes) {
	ns := t.kept()
	at, step := longestStep(ns)
	if len(ns) <= strayOthers || j.witness(t, beside, t.core.First) && j.witness(t, beside, t.core.Last) {
		return nil
	}
	length := uint64(ns[len(ns)-1]) - uint64(ns[0])
	if float64(step) <= strayNumber*float64(length-step) {
		return nil
	}
	return dataset.Notes{{Code: dataset.CodeClockJump, Subject: t.stream.Name, Row: dataset.At(at - 1),
		Detail: dataset.Detail{Got: Seconds(int64(step)), Want: Seconds(int64(length - step))}}}
}

// mostlyOneStep reports whether most of what sorted timestamps cover is one step, so that it says little of the recording.
func mostlyOneStep(ns []int64) bool {
	_, step := longestStep(ns)
	return len(ns) > 0 && float64(step) > (float64(ns[len(ns)-1])-float64(ns[0]))/2
}

// longestStep returns the longest time between neighbours of sorted timestamps, in nanoseconds, and the index of the later one; 0 without two.
func longestStep(ns []int64) (at int, longest uint64) {
	for i := 1; i < len(ns); i++ {
		if step := uint64(ns[i]) - uint64(ns[i-1]); step > longest { // of int64 it may overflow
			at, longest = i, step
		}
	}
	return at, longest
}
