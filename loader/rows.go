package loader

import "github.com/robocache/robocache/tensor"

// row is what an episode has of a stream.
type row struct{ values, times *tensor.Tensor }

// joined copies rows into packed tensors.
func joined(rows []row, width, n int, dtype tensor.DType) (values, times *tensor.Tensor, err error) {
	stamps := make([]int64, 0, n)
	for _, r := range rows {
		list, err := tensor.Data[int64](r.times)
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

func join[T tensor.Element](rows []row, width, n int) (*tensor.Tensor, error) {
	list := make([]T, 0, n*width)
	for _, r := range rows {
		if r.values.Len() == 0 {
			continue
		}
		t, err := r.values.Contiguous()
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
