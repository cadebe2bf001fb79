package raw

import (
	"encoding/binary"
	"unsafe"

	"github.com/robocache/robocache/tensor"
)

// Little is true where the least significant byte of a number comes first.
var Little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns the memory of numbers as bytes.
func Bytes[T tensor.Element](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	// SAFETY: the bytes are the list's own memory, which holds no pointers; the slice keeps it alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(list[0])))
}

// Of returns the memory of a contiguous host tensor as bytes.
func Of(t *tensor.Tensor) ([]byte, error) {
	switch t.DType() {
	case tensor.F32:
		return of[float32](t)
	case tensor.F64:
		return of[float64](t)
	case tensor.F16:
		return of[tensor.Float16](t)
	case tensor.BF16:
		return of[tensor.BFloat16](t)
	case tensor.I32:
		return of[int32](t)
	case tensor.I64:
		return of[int64](t)
	}
	return tensor.Data[uint8](t)
}

func of[T tensor.Element](t *tensor.Tensor) ([]byte, error) {
	data, err := tensor.Data[T](t)
	return Bytes(data), err
}
