package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// MaxBytes is the largest memory size of a tensor in bytes.
const MaxBytes = math.MaxInt64 / 2

// NumElements returns the product of the dimensions, which is 1 for no dimensions. It returns an error if a dimension
// is negative, or if the product of the nonzero dimensions exceeds 2^62. Example: NumElements(2, 3) is 6.
func NumElements(shape ...int) (int, error) { return elements("NumElements", shape) }

func elements(op string, shape []int) (int, error) {
	n, zero := uint64(1), false
	for _, d := range shape {
		if d < 0 {
			return 0, &Error{Op: op, Kind: ErrShape, Got: FormatShape(shape), Want: "no negative dimension"}
		}
		if d == 0 {
			zero = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, &Error{Op: op, Kind: ErrTooLarge, Got: FormatShape(shape), Want: "at most 2^62 elements"}
		}
		n = lo
	}
	if zero {
		return 0, nil
	}
	if n > math.MaxInt {
		return 0, &Error{Op: op, Kind: ErrTooLarge, Got: FormatShape(shape), Want: "a size that fits an int"}
	}
	return int(n), nil
}

// FormatShape returns a shape as text, for example [2,3,4].
func FormatShape(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(slices.Clone(shape)), " ", ",") // of a copy, so that the compiler can keep shapes on the stack
}

// rowMajor sets strides to those of a contiguous tensor.
func rowMajor(strides, shape []int) {
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
}

// reach returns the number of elements from the first to the last that a view contains, including those between, or 0 for an empty
// view. It returns an error if a stride is negative, if the lengths of shape and strides differ, or if the number exceeds 2^62.
func reach(op string, shape, strides []int) (int, error) {
	if len(shape) != len(strides) {
		return 0, &Error{Op: op, Kind: ErrStride, Got: fmt.Sprintf("%d strides", len(strides)), Want: fmt.Sprintf("%d, one a dimension", len(shape))}
	}
	last := uint64(0)
	for i, d := range shape {
		if strides[i] < 0 {
			return 0, &Error{Op: op, Kind: ErrStride, Got: FormatShape(strides), Want: "no negative stride"}
		}
		if d == 0 {
			return 0, nil
		}
		hi, lo := bits.Mul64(uint64(d-1), uint64(strides[i]))
		last += lo
		if hi != 0 || lo > 1<<62 || last > 1<<62 {
			return 0, &Error{Op: op, Kind: ErrTooLarge, Got: FormatShape(shape) + " with strides " + FormatShape(strides), Want: "at most 2^62 elements"}
		}
	}
	return int(last) + 1, nil
}
