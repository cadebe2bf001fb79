package tensor

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/memory"
)

// Available returns the number of bytes that the program can still allocate. It is the smallest of four limits: the
// system's available memory, the cgroups, the address space, and --max-memory. New refuses a larger tensor.
func Available() int64 { return memory.Available().Bytes }

// roomFor returns an *Error if host memory has no room for n elements. Without this check Go or the system would end the program.
func roomFor(op string, dtype DType, n int, shape []int) error {
	return refused(memory.Fits(op, int64(n)*int64(dtype.Size())), dtype, n, shape)
}

// zeros allocates n zeros for a tensor with a shape. The error is an *Error with the kind ErrOutOfMemory.
func zeros[T Element](op string, n int, shape []int) ([]T, error) {
	data, err := memory.Make[T](op, n)
	return data, refused(err, DTypeOf[T](), n, shape)
}

// refused converts a *memory.Error into an *Error. It returns nil for any other error.
func refused(err error, dtype DType, n int, shape []int) error {
	var none *memory.Error
	if errors.As(err, &none) {
		bytes := int64(n) * int64(dtype.Size())
		return &Error{Op: none.What, Kind: ErrOutOfMemory, Got: fmt.Sprintf("%s %s, %d bytes", dtype, FormatShape(shape), bytes),
			Want: fmt.Sprintf("at most %d bytes, which are available", none.Limit.Bytes)}
	}
	return nil
}
