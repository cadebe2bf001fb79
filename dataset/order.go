package dataset

import (
	"cmp"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// maxTime is as far as a timestamp may be from 0: 2^62 ns.
const maxTime = 1 << 62

// Sorted returns the stream in the order of its timestamps; samples of one timestamp keep theirs. Samples whose timestamp is not finite, or beyond
// 2^62 ns, have no place and are left out. It also returns how many steps back there were, and how many samples were left out.
func (s *Stream) Sorted() (sorted Stream, back, lost int, err error) {
	switch s.Times.DType() {
	case tensor.F64:
		return sortedBy[float64](s, maxTime/1e9)
	case tensor.F32:
		return sortedBy[float32](s, maxTime/1e9)
	}
	return sortedBy[int64](s, maxTime)
}

func sortedBy[T int64 | float64 | float32](s *Stream, limit T) (sorted Stream, back, lost int, err error) {
	times, err := tensor.Data[T](s.Times)
	if err != nil {
		return sorted, 0, 0, err
	}
	rows, before := make([]int, 0, len(times)), -limit
	for i, t := range times {
		if !(t >= -limit && t <= limit) { // NaN too
			lost++
			continue
		}
		if t < before {
			back++
		}
		rows, before = append(rows, i), t
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(times[a], times[b]), a-b) })
	sorted = *s
	clock := make([]T, len(rows))
	for k, i := range rows {
		clock[k] = times[i]
	}
	if sorted.Times, err = tensor.Of(clock, len(clock)); err == nil {
		sorted.Values, err = s.Values.Take(0, rows)
	}
	return sorted, back, lost, err
}
