package convert

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// inOrder returns a stream with its columns in the order of names, and true, if it has exactly these columns in another order. Otherwise
// it returns the stream unchanged, and false.
func inOrder(s *dataset.Stream, names []string) (out dataset.Stream, moved bool, err error) {
	own := s.ColumnNames()
	if len(own) != len(names) || slices.Equal(own, names) {
		return *s, false, nil
	}
	at, from := make(map[string]int, len(own)), make([]int, len(names))
	for i, name := range own {
		at[name] = i
	}
	for i, name := range names {
		k, there := at[name]
		if !there {
			return *s, false, nil
		}
		from[i] = k
		delete(at, name)
	}
	out = *s
	out.Columns = make([]dataset.Column, len(from))
	for i, k := range from {
		out.Columns[i] = s.Columns[k]
	}
	switch s.Values.DType() {
	case tensor.F32:
		out.Values, err = permuted[float32](s.Values, from)
	default:
		var values []float64
		if values, err = tensor.Floats(s.Values); err == nil {
			out.Values, err = tensor.Of(values, s.Values.Shape()...)
		}
		if err == nil {
			out.Values, err = permuted[float64](out.Values, from)
		}
	}
	if err == nil && s.Integers != nil {
		out.Integers, err = permuted[int64](s.Integers, from)
	}
	return out, err == nil, err
}

// permuted returns a copy of t [S,D] in which column c is column from[c] of t.
func permuted[T float32 | float64 | int64](t *tensor.Tensor, from []int) (*tensor.Tensor, error) {
	list, err := tensor.Packed[T](t)
	if err != nil {
		return nil, err
	}
	out, d := make([]T, len(list)), len(from)
	for i := 0; i < len(list); i += d {
		for c, k := range from {
			out[i+c] = list[i+k]
		}
	}
	return tensor.Of(out, t.Shape()...)
}
