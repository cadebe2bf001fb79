package dataset

import "github.com/robocache/robocache/tensor"

// Numbers returns values of any dtype as a stream keeps them: floats as they are, whole numbers and truth values as f32 where that holds their dtype
// exactly, else as f64, with how many f64 does not hold: they are rounded.
func Numbers(t *tensor.Tensor) (values *tensor.Tensor, inexact int, err error) {
	if t.DType().IsFloat() {
		return t, 0, nil
	}
	list, err := tensor.Floats(t)
	if err != nil {
		return nil, 0, err
	}
	if t.DType() == tensor.I64 {
		exact, err := tensor.Data[int64](t)
		if err != nil {
			return nil, 0, err
		}
		for i, v := range exact {
			if list[i] >= 1<<63 || int64(list[i]) != v {
				inexact++
			}
		}
	}
	if t.DType().Size() > 2 {
		values, err = tensor.Of(list, t.Shape()...)
		return values, inexact, err
	}
	narrow := make([]float32, len(list))
	for i, v := range list {
		narrow[i] = float32(v)
	}
	values, err = tensor.Of(narrow, t.Shape()...)
	return values, inexact, err
}
