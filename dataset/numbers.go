package dataset

import "github.com/robocache/robocache/tensor"

// Numbers converts a tensor to the dtype in which streams keep it. Floats stay as they are. Whole numbers and booleans become f32
// if their type in the file has up to 16 bits, because f32 holds all of these exactly; else f64. inexact is the number of values
// that f64 rounds. bits is the size in the file.
func Numbers(t *tensor.Tensor, bits int) (values *tensor.Tensor, inexact int, err error) {
	switch t.DType() {
	case tensor.I64:
		return numbers[int64](t, bits)
	case tensor.I32:
		return numbers[int32](t, bits)
	case tensor.U8:
		return numbers[uint8](t, 8)
	}
	return t, 0, nil
}

func numbers[I int64 | int32 | uint8](t *tensor.Tensor, bits int) (values *tensor.Tensor, inexact int, err error) {
	data, err := tensor.Packed[I](t)
	if err != nil {
		return nil, 0, err
	}
	if bits <= 16 {
		return floats[float32](data, t.Shape())
	}
	return floats[float64](data, t.Shape())
}

func floats[F float32 | float64, I int64 | int32 | uint8](data []I, shape []int) (values *tensor.Tensor, inexact int, err error) {
	list := make([]F, len(data))
	for i, v := range data {
		var exact bool
		if list[i], exact = Float[F](int64(v)); !exact {
			inexact++
		}
	}
	values, err = tensor.Of(list, shape...)
	return values, inexact, err
}

// Float converts a whole number to a float, rounded to nearest even, and reports whether the result is exact.
func Float[F float32 | float64, I int64 | uint64](v I) (f F, exact bool) {
	above := F(0x1p63) // numbers that round to it cannot be converted back
	if ^I(0) > 0 {
		above *= 2
	}
	f = F(v)
	return f, f < above && I(f) == v
}
