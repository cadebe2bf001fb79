package tensor

import "github.com/robocache/robocache/internal/errs"

// The error kinds in this package, for errors.Is. Other packages in this module use the same values for the same
// errors.
var (
	ErrDType       error = errs.DType
	ErrShape       error = errs.Shape
	ErrTooLarge    error = errs.TooLarge
	ErrStride      error = errs.Stride
	ErrWrongDevice error = errs.WrongDevice
	ErrClosed      error = errs.Closed
	ErrOutOfMemory error = errs.OutOfMemory
)

// Error reports a call that failed. Op is the function, Got the bad argument, Want the accepted ones, and Kind one of
// this package's Err values. Example: tensor.Of: wrong shape: got 6 elements, want 4 for shape [2,2].
type Error struct {
	Op   string
	Kind error
	Got  string
	Want string
}

func (e *Error) Error() string {
	return "tensor." + e.Op + ": " + e.Kind.Error() + errs.Values(e.Got, e.Want, nil)
}

// Unwrap returns the kind, so that errors.Is finds it.
func (e *Error) Unwrap() error { return e.Kind }
