package errs

import (
	"errors"
	"io/fs"
)

// Kind is what went wrong.
type Kind string

// The kinds.
const (
	Shape       Kind = "wrong shape" // lengths and indices too
	DType       Kind = "wrong dtype"
	Stride      Kind = "wrong strides"
	WrongDevice Kind = "wrong device"
	Option      Kind = "wrong option"
	Missing     Kind = "missing argument"
	TooLarge    Kind = "too large"
	Closed      Kind = "closed"
	OutOfMemory Kind = "out of memory"
	Unsupported Kind = "not supported"
	NotFound    Kind = "no such name"
)

func (k Kind) Error() string { return string(k) }

// Is matches what means the same elsewhere: the standard library's values, and a code that stands for k, such as one of
// cudadrv's. A code's own Is method matches the other way.
func (k Kind) Is(target error) bool {
	switch target {
	case fs.ErrClosed:
		return k == Closed
	case errors.ErrUnsupported:
		return k == Unsupported
	}
	c, ok := target.(interface{ Kind() Kind })
	return ok && c.Kind() == k
}

// Values is the end of an error's text, ": got <got>, want <want>: <cause>", without what is empty.
func Values(got, want string, cause error) string {
	s := ""
	if got != "" {
		s += ": got " + got
	}
	if want != "" {
		s += ", want " + want
	}
	if cause != nil {
		s += ": " + cause.Error()
	}
	return s
}
