package ops

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// The error kinds in this package, for errors.Is. If package tensor, dataset or cudadrv has a kind with the same name,
// both are the same value.
var (
	// Kinds of *ArgError.
	ErrShape       = backend.ErrShape
	ErrDType       = backend.ErrDType
	ErrStride      = backend.ErrStride
	ErrOption      = backend.ErrOption
	ErrWrongDevice = backend.ErrWrongDevice
	ErrClosed      = backend.ErrClosed
	ErrTooLarge    = backend.ErrTooLarge
	ErrMissing     = backend.ErrMissing
	ErrOverlap     = backend.ErrOverlap
	ErrPageable    = backend.ErrPageable
	ErrFull        = backend.ErrFull

	// Kinds of *ValueError.
	ErrUnsorted   = backend.ErrUnsorted
	ErrNotFinite  = backend.ErrNotFinite
	ErrTimeRange  = backend.ErrTimeRange
	ErrOutOfRange = backend.ErrOutOfRange
	ErrRows       = backend.ErrRows
	ErrNoSamples  = backend.ErrNoSamples
	ErrCursor     = backend.ErrCursor
	ErrValue      = backend.ErrValue
	ErrNumber     = backend.ErrNumber

	// Kind of *MemoryError.
	ErrOutOfMemory = backend.ErrOutOfMemory

	// ErrUnsupported is the kind of an *ArgError if the device's backend does not have the operation.
	ErrUnsupported = backend.ErrUnsupported

	// Kinds of *OpenError.
	ErrUnknownBackend = errors.New("no such backend")
	ErrNoDevice       = errors.New("no usable device")
)

// ArgError reports an argument that an operation cannot accept. Nothing was written. Op is the operation, Arg the
// argument's name in the Args or Options struct, Kind one of this package's Err values. Got is the given argument and
// Want the accepted ones.
type ArgError = backend.ArgError

// ValueError reports a value in a tensor that an operation cannot use. It is found while the operation runs, so the
// destination may have been written and its contents are unspecified. If there are several bad values, every backend
// reports the same one: row lengths and offsets come before source times, and source times before targets; then the
// first stream in a Fuse, then the smallest row and index.
//
// Op is the operation and Arg the argument, for example "SrcTimes". In a Fuse the argument includes the stream:
// "Streams[2].SrcTimes". "Streams[2].Targets" are the targets on that stream's own clock. Row is the batch row. If all
// rows share the source times, Row is 0, or with SrcLengths the first row that is long enough to include the index.
// With SrcStarts it is the first row that contains the timestamp. Index is the index within the row, and Kind is one of
// this package's Err values. In a Draw, Row is the episode, and the cursor comes before Windows, Begins and the
// streams' Offsets. If a value is not finite (ErrValue), Index is the tick and Column is the feature.
type ValueError = backend.ValueError

// Argument returns the argument name in an *ArgError or *ValueError, for example "SrcTimes". It returns "" for any
// other error.
func Argument(err error) string {
	var arg *ArgError
	var value *ValueError
	switch {
	case errors.As(err, &arg):
		return arg.Arg
	case errors.As(err, &value):
		return value.Arg
	}
	return ""
}

// MemoryError reports that an allocation failed. Nothing was written. Device is "host" or, for example, "cuda:0"; What
// is the purpose of the memory, Bytes its size, and Err the error from the device or the system.
type MemoryError = backend.MemoryError

// BatchError is the error of one plan in a batch. Index is the plan's index in the list for PlanBatch, and Err is its
// error. errors.As also searches Err.
type BatchError = backend.BatchError

// BatchErrors returns all *BatchError values in err, in order, even if errors are joined or wrapped.
func BatchErrors(err error) []*BatchError {
	switch e := err.(type) {
	case *BatchError:
		return []*BatchError{e}
	case interface{ Unwrap() []error }:
		var all []*BatchError
		for _, x := range e.Unwrap() {
			all = append(all, BatchErrors(x)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return BatchErrors(inner)
	}
	return nil
}

// OpenError reports that a backend could not be opened. Backend is the requested name.
type OpenError struct {
	Backend string
	Kind    error // ErrUnknownBackend or ErrNoDevice
	Err     error // the backend's error, or nil
	Want    string
}

func (e *OpenError) Error() string {
	s := fmt.Sprintf("ops.Open(%q): %v", e.Backend, e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Want != "" {
		s += ", want " + e.Want
	}
	return s
}

// Unwrap returns the kind and the backend's error, for errors.Is and errors.As.
func (e *OpenError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
