package store

import "github.com/robocache/robocache/tensor"

// Samples are a stream's samples in an episode: Values [S,D] and Times [S].
type Samples struct{ Values, Times *tensor.Tensor }

// Join copies several episodes' samples, n in all, into packed tensors [n,width] and [n].
func Join(rows []Samples, width, n int, dtype tensor.DType) (values, times *tensor.Tensor, err error) {
	if values, err = tensor.New(dtype, n, width); err != nil {
		return nil, nil, err
	}
	if times, err = tensor.New(tensor.I64, n); err != nil {
		return nil, nil, err
	}
	at := 0
	for _, r := range rows {
		if err := r.CopyTo(Samples{values, times}, at); err != nil {
			return nil, nil, err
		}
		at += r.Times.Len()
	}
	return values, times, nil
}

// CopyTo copies the samples into to, from row at on. to must have contiguous host tensors with the same dtypes and columns. The samples
// may have any strides. If to.Times is nil, it copies only the values.
func (s Samples) CopyTo(to Samples, at int) error {
	if err := copyTo(to.Values, at, s.Values); err != nil || to.Times == nil {
		return err
	}
	return copyTo(to.Times, at, s.Times)
}

func copyTo(to *tensor.Tensor, at int, from *tensor.Tensor) error {
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
	if from.Rank() > 1 && from.Stride(1) != 1 { // no reader returns such values, and a loop over columns would be slow
		if from, err = from.Contiguous(); err != nil {
			return err
		}
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
	for i := range from.Dim(0) {
		copy(dst[i*width:(i+1)*width], src[i*from.Stride(0):])
	}
	return nil
}
