package ops

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// The kinds of error of this package, for errors.Is. Those that package tensor, dataset or cudadrv has under the same name are the same values.
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

	// ErrUnsupported is the kind of an *ArgError for an operation that the device's backend does not have.
	ErrUnsupported = backend.ErrUnsupported

	// Kinds of *OpenError.
	ErrUnknownBackend = errors.New("no such backend")
	ErrNoDevice       = errors.New("no usable device")
)

// ArgError reports an argument that an operation cannot take. Nothing was written. Op is the operation, Arg the argument as in the Args
// or Options struct, Kind one of this package's Err values, Got and Want what was given and what can be.
type ArgError = backend.ArgError

// ValueError reports a value in a tensor that an operation cannot use. It is found where the work is done, so the
// destination may have been written; its contents are unspecified. Of several, the one reported is the same on every
// backend: row lengths and offsets before source times before targets, then in Fuse the first stream, then the smallest row and
// index. Of a Fuse the argument names the stream: "Streams[2].SrcTimes"; "Streams[2].Targets" are the targets as that stream has
// them, on its own clock. Of a Draw the row is the episode, and the cursor comes before Windows, Begins and the streams' Offsets. Of a value that is not finite
// (ErrValue) the index is the tick, and Column the feature.
//
// Op is the operation, Arg the argument: "SrcTimes". Row is the batch row; for source times shared by all rows 0, or with SrcLengths the first row that
// reaches them. Index is the index within the row, Kind one of this package's Err values.
type ValueError = backend.ValueError

// Argument returns the name of the argument that an error of an operation is about, as *ArgError and *ValueError give it, or "" of any other error.
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

// MemoryError says that there is not as much memory as was asked for. Nothing was written. Device says where: "host", "cuda:0"; What what for, Bytes how
// much, Err what the device or the system said.
type MemoryError = backend.MemoryError

// BatchError is an error of one plan of a batch: Index is the plan's, as PlanBatch was given them, and Err its own error. errors.As finds what is in it.
type BatchError = backend.BatchError

// BatchErrors returns the errors of plans of batches that err holds, however they are joined, in order.
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

// OpenError says why a backend could not be opened.
type OpenError struct {
	Backend string
	Kind    error // ErrUnknownBackend or ErrNoDevice
	Err     error // the backend's own error, or nil
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

// Unwrap returns the kind and the backend's own error.
func (e *OpenError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
