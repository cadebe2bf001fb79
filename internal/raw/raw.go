package raw

import (
	"encoding/binary"
	"io"
	"reflect"
	"strings"
	"unsafe"

	"github.com/robocache/robocache/internal/memory"
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

// Over returns a host tensor over bytes, as [tensor.Over] does with their owner, which may be nil; there are as many as the shape needs. It returns nil, and no
// error, where the memory cannot be a tensor: it does not lie at a multiple of the element's size, or is no multiple of it.
func Over(b []byte, owner io.Closer, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	switch dtype {
	case tensor.F32:
		return over[float32](b, owner, shape)
	case tensor.F64:
		return over[float64](b, owner, shape)
	case tensor.F16:
		return over[tensor.Float16](b, owner, shape)
	case tensor.BF16:
		return over[tensor.BFloat16](b, owner, shape)
	case tensor.I32:
		return over[int32](b, owner, shape)
	case tensor.I64:
		return over[int64](b, owner, shape)
	}
	return tensor.Over(b, owner, shape...)
}

func over[T tensor.Element](b []byte, owner io.Closer, shape []int) (*tensor.Tensor, error) {
	var one T
	size := unsafe.Sizeof(one)
	if len(b) == 0 {
		return tensor.Over([]T{}, owner, shape...)
	}
	if address(b)%size != 0 || uintptr(len(b))%size != 0 {
		return nil, nil
	}
	// SAFETY: any bits are a number; the memory is aligned and as long as that. The slice keeps Go's memory alive, and whoever owns other memory keeps it.
	return tensor.Over(unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(size)), owner, shape...)
}

// Holds reports whether an address is one of the bytes.
func Holds(b []byte, at uintptr) bool {
	return at >= address(b) && at-address(b) < uintptr(len(b))
}

func address(b []byte) uintptr {
	// SAFETY: the address is compared and counted with, never followed.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

const (
	large    = 1 << 15 // bytes from which memory is not cleared
	hugePage = 2 << 20 // bytes of one, on most machines
	advised  = 2 * hugePage
)

// Memory returns n bytes that may hold anything, for callers that write all of them. Of 4 MiB and more the system is asked to back them with huge
// pages: new memory is then a fault for each 2 MiB, not for each 4 KiB. It panics as memory.Must does.
func Memory(n int) []byte {
	if err := memory.Fits("memory", int64(n)); err != nil {
		panic(err)
	}
	if n < large {
		return make([]byte, n)
	}
	return uncleared(n)
}

func uncleared(n int) []byte {
	var b strings.Builder // the one allocation of the standard library that is not cleared
	b.Grow(n)
	b.WriteByte(0)
	// SAFETY: Grow made room for n bytes behind the pointer, which keeps them alive. The string ends here, and nobody else has it.
	list := unsafe.Slice(unsafe.StringData(b.String()), n)
	if n >= advised {
		// The first and the last huge page may reach over the list: Go reserves its memory by larger pieces.
		begin := address(list) / hugePage * hugePage
		end := (address(list) + uintptr(n) + hugePage - 1) / hugePage * hugePage
		huge(begin, end-begin)
	}
	return list
}

// Room returns an empty slice for n numbers, in memory as Memory returns it; of structs, in memory that is cleared.
func Room[T any](n int) []T {
	t := reflect.TypeFor[T]()
	if n*int(t.Size()) < large || t.Kind() == reflect.Struct {
		return make([]T, 0, n)
	}
	b := Memory(n * int(t.Size()))
	// SAFETY: a large allocation begins with a page, so is aligned, has room for n numbers, which have no pointers, and is nobody else's.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)[:0]
}

// New is tensor.New, with memory as Memory returns it.
func New(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	n, err := tensor.Fits(dtype, shape...)
	if err != nil || n*dtype.Size() < large {
		return tensor.New(dtype, shape...)
	}
	return Over(uncleared(n*dtype.Size()), nil, dtype, shape...) // which begins with a page, so is aligned
}
