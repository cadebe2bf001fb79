package backend

import (
	"errors"

	"github.com/robocache/robocache/tensor"
)

// NewHost returns a new host tensor. If memory runs out, the error includes the number of bytes.
func NewHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	t, err := tensor.New(dtype, shape...)
	if errors.Is(err, tensor.ErrOutOfMemory) {
		n, _ := tensor.NumElements(shape...)
		err = &MemoryError{Device: "host", What: dtype.String() + " " + tensor.FormatShape(shape), Bytes: int64(n) * int64(dtype.Size()), Err: err}
	}
	return t, err
}
