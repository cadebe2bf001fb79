package align

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// others is how many samples it takes to call one beside them stray.
const others = 10

// wild is how many times as far as the others are long a timestamp is that is stray. A zero is as soon as it is further away than that.
const wild = 10

// CoversOf returns, as CoverOf does, the time that a stream's samples cover, and that without stray timestamps at its ends: a zero that a clock gave before it was set,
// or a wild number, each perhaps of several samples.
func CoversOf(s *dataset.Stream) (all, core Cover, err error) {
	if all, err = CoverOf(s.Name, s.Times); err != nil {
		return all, all, err
	}
	core = all
	ns := s.Nanoseconds()
	lo, hi := 0, len(ns)
	for again := true; again; {
		again = false
		p, q := lo, hi-1
		for p < hi && ns[p] == ns[lo] {
			p++
		}
		for q >= lo && ns[q] == ns[hi-1] {
			q--
		}
		if hi-p >= others && stray(ns[lo], ns[p], ns[hi-1], ns[lo] == 0) {
			lo, again = p, true
		} else if q+1-lo >= others && stray(-ns[hi-1], -ns[q], -ns[lo], false) {
			hi, again = q+1, true
		}
	}
	if lo > 0 {
		core.First = ns[lo]
	}
	if hi < len(ns) {
		core.Last = ns[hi-1]
	}
	return all, core, nil
}

// stray reports whether a timestamp is too far before the first of others that end with last.
func stray(t, first, last int64, zero bool) bool {
	away, length := float64(first)-float64(t), float64(last)-float64(first)
	if !zero {
		length *= wild
	}
	return length > 0 && away > length
}

// Strays says, in words for a person, which timestamps of a stream lie outside the core of its cover. followed says that the clock goes there all the same.
func Strays(name string, all, core Cover, followed bool) (remarks []string) {
	say := func(at, from int64, side string) {
		s := fmt.Sprintf("%s: a timestamp of %s s lies %s s %s the others", name, Seconds(at), Seconds(from), side)
		if !followed {
			s += ": the clock does not follow it"
		}
		remarks = append(remarks, s)
	}
	if core.First != all.First {
		say(all.First, core.First-all.First, "before")
	}
	if core.Last != all.Last {
		say(all.Last, all.Last-core.Last, "after")
	}
	return remarks
}

// strays does so for the streams that are taken.
func (j *job) strays() (remarks []string) {
	followed := j.plan.Targets != nil || j.plan.Range.Mode != RangeCommon
	for _, t := range j.takes {
		remarks = append(remarks, Strays(t.stream.Name, t.cover, t.core, followed)...)
	}
	return remarks
}

// wholeOf returns the time of a recording, of all its streams, whichever are taken.
func (j *job) wholeOf(e *dataset.Episode) Cover {
	var list []source
	for i := range e.Streams {
		s := &e.Streams[i]
		if _, core, err := CoversOf(s); err == nil { // one without timestamps, or with wrong ones, is no measure
			list = append(list, source{Cover: core, stray: float64(longestStep(s, core)) > core.length()/2})
		}
	}
	for _, t := range j.takes {
		if t.sorting != (sorting{}) {
			list = append(list, source{Cover: t.core, stray: float64(longestStep(t.stream, t.core)) > t.core.length()/2})
		}
	}
	return recordingOf(list)
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
