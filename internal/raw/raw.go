package raw

import (
	"encoding/binary"
	"io"
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

// Over returns a host tensor over bytes that begin at a multiple of 8, as [tensor.Over] does; there are as many as the shape needs.
func Over(b []byte, owner io.Closer, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	switch dtype {
	case tensor.F32:
		return tensor.Over(numbers[float32](b), owner, shape...)
	case tensor.F64:
		return tensor.Over(numbers[float64](b), owner, shape...)
	case tensor.F16:
		return tensor.Over(numbers[tensor.Float16](b), owner, shape...)
	case tensor.BF16:
		return tensor.Over(numbers[tensor.BFloat16](b), owner, shape...)
	case tensor.I32:
		return tensor.Over(numbers[int32](b), owner, shape...)
	case tensor.I64:
		return tensor.Over(numbers[int64](b), owner, shape...)
	}
	return tensor.Over(b, owner, shape...)
}

// numbers returns memory as numbers.
func numbers[T tensor.Element](b []byte) []T {
	var one T
	n := len(b) / int(unsafe.Sizeof(one))
	if n == 0 {
		return nil
	}
	// SAFETY: any bits are a number, there are n of them, and the caller says that they are aligned; the slice keeps Go's memory alive, and whoever owns
	// other memory keeps it.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
