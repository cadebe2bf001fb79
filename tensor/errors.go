package tensor

import "github.com/robocache/robocache/internal/errs"

// The kinds of error of this package, for errors.Is. Packages of this module that mean the same have the same values.
var (
	ErrDType       error = errs.DType
	ErrShape       error = errs.Shape
	ErrTooLarge    error = errs.TooLarge
	ErrStride      error = errs.Stride
	ErrWrongDevice error = errs.WrongDevice
	ErrClosed      error = errs.Closed
	ErrOutOfMemory error = errs.OutOfMemory
)

// Error says what a function got and what it wanted. Kind is one of this package's Err values.
type Error struct {
	Op   string
	Kind error
	Got  string
	Want string
}

func (e *Error) Error() string {
	s := "tensor." + e.Op + ": " + e.Kind.Error()
	if e.Got != "" {
		s += ": got " + e.Got
	}
	if e.Want != "" {
		s += ", want " + e.Want
	}
	return s
}

// Unwrap returns the kind, so that errors.Is finds it.
func (e *Error) Unwrap() error { return e.Kind }
