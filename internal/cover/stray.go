package cover

import (
	"slices"

	"github.com/robocache/robocache/dataset"
)

// A timestamp is stray if its distance from the others of its stream is many times their length. For a zero, which clocks have before they
// are set, it is ten times; for another number, which may be a sample after a long pause, a thousand times. There are at least ten others,
// and ten for each number if several are stray together.
const (
	strayOthers = 10
	strayZero   = 10
	strayNumber = 1000
)

// Core returns the time that a stream's samples cover, as in Of, and core, the same without stray timestamps at its ends, for example zeros
// from before a clock was set. The samples lo to hi-1 are not stray.
func Core(s *dataset.Stream) (all, core Cover, lo, hi int, err error) {
	if all, err = Of(s.Name, s.Times); err != nil {
		return all, all, 0, 0, err
	}
	core = all
	ns := s.Nanoseconds()
	lo, hi = unset(ns), len(ns)
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

// unset returns the number of timestamps of 0 at the beginning of sorted ones that are those of a clock that was not set yet: several where timestamps
// do not repeat as often, or one that is an exception to even steps. A clock that counts from its first sample has one, a step from the next.
func unset(ns []int64) int {
	zeros := max(slices.IndexFunc(ns, func(t int64) bool { return t != 0 }), 0)
	if zeros == 0 || len(ns)-zeros < 2 {
		return 0
	}
	if zeros == 1 {
		first, slow := ns[1]/strayZero, 0 // the limit of the median, and how many steps are no shorter
		for i := 2; i < len(ns); i++ {
			if ns[i]-ns[i-1] >= first {
				slow++
			}
		}
		if 2*slow > len(ns)-2 {
			return 0
		}
		others := dataset.StatsOf(ns[1:])
		if others.Samples > strayOthers && others.Gaps == 0 && first > others.Median {
			return 1
		}
		return 0
	}
	same := 1
	for i := zeros + 1; i < len(ns); i++ {
		if same++; ns[i] != ns[i-1] {
			same = 1
		} else if same >= zeros {
			return 0
		}
	}
	return zeros
}

// stray reports whether a block of sorted timestamps is stray, a step away from the others.
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

// MostlyOneStep reports whether one step is most of the time that sorted timestamps cover. Such a stream may have a stray timestamp.
func MostlyOneStep(ns []int64) bool {
	_, step := longestStep(ns)
	return len(ns) > 0 && float64(step) > (float64(ns[len(ns)-1])-float64(ns[0]))/2
}

// longestStep returns the longest time between neighbours of sorted timestamps, in nanoseconds, and the index of the later one; 0 without
// two.
func longestStep(ns []int64) (at int, longest uint64) {
	for i := 1; i < len(ns); i++ {
		if step := uint64(ns[i]) - uint64(ns[i-1]); step > longest { // of int64 it may overflow
			at, longest = i, step
		}
	}
	return at, longest
}

// Jump finds a step of sorted timestamps that is a thousand times as long as all others together, because the clock may have been set
// there. It returns the index of the timestamp after the step, the step, and the sum of the others.
func Jump(ns []int64) (at int, step, others int64, found bool) {
	at, longest := longestStep(ns)
	if len(ns) <= strayOthers {
		return at, 0, 0, false
	}
	rest := uint64(ns[len(ns)-1]) - uint64(ns[0]) - longest
	return at, int64(longest), int64(rest), float64(longest) > strayNumber*float64(rest)
}
