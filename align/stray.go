package align

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// A timestamp is stray if it lies so many times as far from the others as these are long: a zero once, another number ten times, and a block of
// several numbers, which may be a recording that went on after a pause, a thousand times. The others are at least ten, and a block is no more than a
// tenth of them.
const (
	strayOthers = 10
	strayNumber = 10
	strayBlock  = 1000
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
		at := lo + 1 // behind the longest step
		for i := lo + 1; i < hi; i++ {
			if uint64(ns[i])-uint64(ns[i-1]) > uint64(ns[at])-uint64(ns[at-1]) { // of int64 it may overflow
				at = i
			}
		}
		switch step := float64(ns[at]) - float64(ns[at-1]); {
		case stray(ns[lo:at], ns[at:hi], step):
			lo = at
		case stray(ns[at:hi], ns[lo:at], step):
			hi = at
		default:
			at = 0
		}
		if at == 0 {
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
		return step > length
	case first == last:
		return step > strayNumber*length
	}
	return step > strayBlock*length && strayOthers*len(block) <= len(others)
}

// Strays says, in words for a person, which timestamps of a stream lie outside the core of its cover, and what became of them.
func Strays(name string, all, core Cover, what string) (remarks []string) {
	if core.First != all.First {
		remarks = append(remarks, fmt.Sprintf("%s: a timestamp of %s s lies %s s before the others: %s", name, Seconds(all.First), Seconds(core.First-all.First), what))
	}
	if core.Last != all.Last {
		remarks = append(remarks, fmt.Sprintf("%s: a timestamp of %s s lies %s s after the others: %s", name, Seconds(all.Last), Seconds(all.Last-core.Last), what))
	}
	return remarks
}

// strays does so for the streams that are taken.
func (j *job) strays() (remarks []string) {
	for _, t := range j.takes {
		what := "the range that was asked for follows it"
		switch {
		case t.strays > 0:
			what = count(t.strays, "sample") + " left out"
		case j.plan.Targets != nil:
			what = "its sample was taken"
		}
		remarks = append(remarks, Strays(t.stream.Name, t.cover, t.core, what)...)
	}
	return remarks
}

// wholeOf returns the time of a recording, of all its streams, whichever are taken; those that are with their offsets.
func (j *job) wholeOf(e *dataset.Episode) Cover {
	var list []source
	taken := map[string]bool{}
	for _, t := range j.takes {
		if taken[t.from] = true; !t.empty {
			list = append(list, source{Cover: t.core, stray: t.pause})
		}
	}
	for i := range e.Streams {
		if s := &e.Streams[i]; !taken[s.Name] {
			if _, core, err := CoversOf(s); err == nil { // one without timestamps, or with wrong ones, is no measure
				list = append(list, source{Cover: core, stray: mostlyOneStep(s, core)})
			}
		}
	}
	return recordingOf(list)
}

// mostlyOneStep reports whether most of what a stream covers is one step, so that it says little of the recording.
func mostlyOneStep(s *dataset.Stream, core Cover) bool {
	return float64(longestStep(s, core)) > core.length()/2
}

// longestStep returns the longest time between neighbouring samples of sorted timestamps within a cover, in nanoseconds.
func longestStep(s *dataset.Stream, within Cover) (longest uint64) {
	ns := s.Nanoseconds()
	for i := 1; i < len(ns); i++ {
		if ns[i-1] >= within.First && ns[i] <= within.Last {
			longest = max(longest, uint64(ns[i])-uint64(ns[i-1])) // of int64 it may overflow
		}
	}
	return longest
}
