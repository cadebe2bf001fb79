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
	rows, back, lost, err := Order(s.Times)
	if err != nil {
		return sorted, 0, 0, err
	}
	sorted = *s
	if sorted.Times, err = s.Times.Take(0, rows); err == nil {
		sorted.Values, err = s.Values.Take(0, rows)
	}
	if err == nil && s.Integers != nil {
		sorted.Integers, err = s.Integers.Take(0, rows)
	}
	return sorted, back, lost, err
}

// Order returns the samples of timestamps [S] in their order, without those that have no place in it, and how many steps back and samples without a place
// there are; see [Stream.Sorted].
func Order(times *tensor.Tensor) (rows []int, back, lost int, err error) {
	switch times.DType() {
	case tensor.F64:
		return orderOf[float64](times, maxTime/1e9)
	case tensor.F32:
		return orderOf[float32](times, maxTime/1e9)
	}
	return orderOf[int64](times, maxTime)
}

func orderOf[T int64 | float64 | float32](clock *tensor.Tensor, limit T) (rows []int, back, lost int, err error) {
	times, err := tensor.Data[T](clock)
	if err != nil {
		return nil, 0, 0, err
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
	return rows, back, lost, nil
}

// InOrder returns indices that sort the times, or nil if they ascend already. Equal times keep their order.
func InOrder(times []int64) []int {
	if slices.IsSorted(times) {
		return nil
	}
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	return order
}
