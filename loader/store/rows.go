package store

import "github.com/robocache/robocache/tensor"

// row is what an episode has of a stream.
type Samples struct{ Values, Times *tensor.Tensor }

// joined copies rows into packed tensors.
func Join(rows []Samples, width, n int, dtype tensor.DType) (values, times *tensor.Tensor, err error) {
	stamps := make([]int64, 0, n)
	for _, r := range rows {
		list, err := tensor.Data[int64](r.Times)
		if err != nil {
			return nil, nil, err
		}
		stamps = append(stamps, list...)
	}
	if times, err = tensor.Of(stamps, n); err != nil {
		return nil, nil, err
	}
	switch dtype {
	case tensor.F64:
		values, err = join[float64](rows, width, n)
	case tensor.F16:
		values, err = join[tensor.Float16](rows, width, n)
	case tensor.BF16:
		values, err = join[tensor.BFloat16](rows, width, n)
	default:
		values, err = join[float32](rows, width, n)
	}
	return values, times, err
}

func join[T tensor.Element](rows []Samples, width, n int) (*tensor.Tensor, error) {
	list := make([]T, 0, n*width)
	for _, r := range rows {
		if r.Values.Len() == 0 {
			continue
		}
		t, err := r.Values.Contiguous()
		if err != nil {
			return nil, err
		}
		part, err := tensor.Data[T](t)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return tensor.Of(list, n, width)
}
