package dataset

import (
	"cmp"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// maxTime is the largest distance of a timestamp from 0: 2^62 ns.
const maxTime = 1 << 62

// Sorted returns the stream sorted by timestamp; equal timestamps keep their order. Samples with a timestamp that is not finite or
// beyond 2^62 ns are removed. It also returns back, the number of steps back in time, and lost, the number of removed samples.
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

// Order returns the indices that sort timestamps [S], with the rules and counts of [Stream.Sorted].
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

// InOrder returns indices that sort the times, or nil if they already ascend. Equal times keep their order.
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
