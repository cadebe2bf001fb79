package device

import (
	"unsafe"

	"github.com/robocache/robocache/tensor"
)

// hostBytes returns the memory of a contiguous host tensor as bytes.
func hostBytes(t *tensor.Tensor) ([]byte, error) {
	switch t.DType() {
	case tensor.F32:
		return bytesOf[float32](t)
	case tensor.F64:
		return bytesOf[float64](t)
	case tensor.F16:
		return bytesOf[tensor.Float16](t)
	case tensor.BF16:
		return bytesOf[tensor.BFloat16](t)
	case tensor.I32:
		return bytesOf[int32](t)
	case tensor.I64:
		return bytesOf[int64](t)
	}
	return tensor.Data[uint8](t)
}

func bytesOf[T tensor.Element](t *tensor.Tensor) ([]byte, error) {
	data, err := tensor.Data[T](t)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	// SAFETY: the bytes are data's own memory, which holds no pointers; the slice keeps it alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*t.DType().Size()), nil
}
