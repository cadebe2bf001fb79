package store

import (
	"errors"

	"github.com/robocache/robocache/tensor"
)

// Samples are the samples of a stream in an episode: Values [S,D] and Times [S].
type Samples struct{ Values, Times *tensor.Tensor }

// Join copies the samples of several episodes, n in all, into packed tensors [n,width] and [n].
func Join(rows []Samples, width, n int, dtype tensor.DType) (values, times *tensor.Tensor, err error) {
	if values, err = tensor.New(dtype, n, width); err != nil {
		return nil, nil, err
	}
	if times, err = tensor.New(tensor.I64, n); err != nil {
		return nil, nil, err
	}
	at := 0
	for _, r := range rows {
		list, err := r.Values.Contiguous()
		if err == nil {
			err = errors.Join(CopyRows(values, at, list), CopyRows(times, at, r.Times))
		}
		if err != nil {
			return nil, nil, err
		}
		at += r.Times.Len()
	}
	return values, times, nil
}

// CopyRows copies the rows of a tensor, of which each is contiguous, to those of a contiguous tensor on the host, from row at on.
func CopyRows(to *tensor.Tensor, at int, from *tensor.Tensor) error {
	switch from.DType() {
	case tensor.F64:
		return copyRows[float64](to, at, from)
	case tensor.F16:
		return copyRows[tensor.Float16](to, at, from)
	case tensor.BF16:
		return copyRows[tensor.BFloat16](to, at, from)
	case tensor.I64:
		return copyRows[int64](to, at, from)
	}
	return copyRows[float32](to, at, from)
}

func copyRows[T tensor.Element](to *tensor.Tensor, at int, from *tensor.Tensor) error {
	dst, err := tensor.Data[T](to)
	if err != nil {
		return err
	}
	src, err := tensor.Elements[T](from)
	if err != nil {
		return err
	}
	width := to.Stride(0)
	dst = dst[at*width : (at+from.Dim(0))*width]
	if from.IsContiguous() {
		copy(dst, src)
		return nil
	}
	for i := range from.Dim(0) { // the columns of a recorded sample follow each other
		copy(dst[i*width:(i+1)*width], src[i*from.Stride(0):])
	}
	return nil
}
