package write

import (
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// float64s returns values as float64, without a copy if they are contiguous float64 already.
func float64s(t *tensor.Tensor) ([]float64, error) {
	if t.DType() != tensor.F64 {
		return tensor.Floats(t)
	}
	return tensor.Packed[float64](t)
}

// integers returns a stream's original integers; nil if it has none, or if its values were changed since.
func integers(s *dataset.Stream, values []float64) []int64 {
	if s.Integers == nil {
		return nil
	}
	list, err := tensor.Data[int64](s.Integers)
	if err != nil || len(list) != len(values) {
		return nil
	}
	for i, n := range list {
		if float64(n) != values[i] {
			return nil
		}
	}
	return list
}

// notFinite returns the error for value i in a stream, which is NaN or infinite.
func notFinite(s *dataset.Stream, i int, v float64) *Error {
	return &Error{Kind: ErrNotFinite, Got: valueIn(s, i, v), Want: "finite numbers: fill or leave out such rows or columns first"}
}

// valueIn describes a stream's value by row and column.
func valueIn(s *dataset.Stream, i int, v float64) string {
	width := len(s.Columns)
	return fmt.Sprintf("%s in row %d, column %s", strconv.FormatFloat(v, 'g', -1, 64), i/width, s.Columns[i%width].Name)
}
