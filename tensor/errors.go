package tensor

import "errors"

// The kinds of error of this package, for errors.Is.
var (
	ErrDType    = errors.New("wrong dtype")
	ErrShape    = errors.New("wrong shape")
	ErrTooLarge = errors.New("too large")
	ErrStride   = errors.New("wrong strides")
	ErrDevice   = errors.New("wrong device")
	ErrClosed   = errors.New("closed tensor")
	ErrNoMemory = errors.New("out of memory")
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
