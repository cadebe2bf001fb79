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
		sorted.Values, err = takeRows(s.Values, rows)
	}
	return sorted, back, lost, err
}

// takeRows copies rows of a tensor [S,D].
func takeRows(values *tensor.Tensor, rows []int) (*tensor.Tensor, error) {
	switch values.DType() {
	case tensor.F64:
		return takeRowsOf[float64](values, rows)
	case tensor.F32:
		return takeRowsOf[float32](values, rows)
	case tensor.F16:
		return takeRowsOf[tensor.Float16](values, rows)
	}
	return takeRowsOf[tensor.BFloat16](values, rows)
}

func takeRowsOf[T tensor.Element](values *tensor.Tensor, rows []int) (*tensor.Tensor, error) {
	data, err := tensor.Elements[T](values)
	if err != nil {
		return nil, err
	}
	width := values.Dim(1)
	out := make([]T, 0, len(rows)*width)
	for _, r := range rows {
		for c := range width {
			out = append(out, data[r*values.Stride(0)+c*values.Stride(1)])
		}
	}
	return tensor.Of(out, len(rows), width)
}
