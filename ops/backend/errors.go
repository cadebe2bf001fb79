package backend

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/internal/errs"
)

// The kinds of error, which package ops documents.
var (
	// Kinds of *ArgError.
	ErrShape       error = errs.Shape
	ErrDType       error = errs.DType
	ErrStride      error = errs.Stride
	ErrOption      error = errs.Option
	ErrWrongDevice error = errs.WrongDevice
	ErrClosed      error = errs.Closed
	ErrTooLarge    error = errs.TooLarge
	ErrMissing     error = errs.Missing
	ErrOverlap           = errors.New("output overlaps itself")
	ErrPageable          = errors.New("host memory is not the device's")

	// Kinds of *ValueError.
	ErrUnsorted   = errors.New("time goes backwards")
	ErrNotFinite  = errors.New("time is not finite")
	ErrTimeRange  = errors.New("time is beyond 2^62 ns")
	ErrOutOfRange = errors.New("target is outside the source times")
	ErrRows       = errors.New("row lengths or offsets do not fit the tensor")
	ErrNoSamples  = errors.New("row has targets but no samples")
	ErrCursor     = errors.New("cursor is below 0")
	ErrValue      = errors.New("value is not finite")
	ErrNumber     = errors.New("there is none of this number")

	// Kind of *MemoryError.
	ErrOutOfMemory error = errs.OutOfMemory

	// ErrUnsupported: the backend does not have the operation.
	ErrUnsupported error = errs.Unsupported
)

// ArgError reports an argument that an operation cannot take. Nothing was written.
type ArgError struct {
	Op   string // the operation: "Resample"
	Arg  string // the argument's name, as in the Args or Options struct
	Kind error  // one of this package's Err values
	Got  string
	Want string
}

func (e *ArgError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ops.%s: %s: %v", e.Op, e.Arg, e.Kind)
	if e.Got != "" {
		fmt.Fprintf(&b, ": got %s", e.Got)
	}
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	return b.String()
}

// Unwrap returns the kind, so that errors.Is finds it.
func (e *ArgError) Unwrap() error { return e.Kind }

// CaptureArg names the i-th queue of a capture: the one that captures, then the others.
func CaptureArg(i int) string {
	if i == 0 {
		return "queue"
	}
	return fmt.Sprintf("with[%d]", i-1)
}

// CapturedMark says that a mark belongs to another capture, or to one and not to what runs.
func CapturedMark(op string) error {
	return &ArgError{Op: op, Arg: "mark", Kind: ErrOption, Got: "a mark of another capture, or of none", Want: "one that was set in the same capture, or outside of all"}
}

// ValueError reports a value in a tensor that an operation cannot use. It is found where the work is done, so the
// destination may have been written; its contents are unspecified. Of several, the one reported is the same on every
// backend: row lengths and offsets before source times before targets, then in Fuse the first stream, then the smallest row and
// index. Of a Fuse the argument names the stream: "Streams[2].SrcTimes"; "Streams[2].Targets" are the targets as that stream has
// them, on its own clock. Of a Draw the row is the episode, and the cursor comes before Windows, Begins and the streams' Offsets. Of values that are not finite
// the index is the tick.
type ValueError struct {
	Op     string // the operation: "Resample"
	Arg    string // the argument's name: "SrcTimes"
	Row    int    // the batch row; for source times shared by all rows 0, or with SrcLengths the first row that reaches them
	Index  int    // the index within the row
	Column int    // the feature of a value that is not finite
	Kind   error  // one of this package's Err values
}

func (e *ValueError) Error() string {
	at := fmt.Sprintf("row %d, index %d", e.Row, e.Index)
	if e.Kind == ErrValue {
		at = fmt.Sprintf("row %d, tick %d, column %d", e.Row, e.Index, e.Column)
	}
	return fmt.Sprintf("ops.%s: %s: %v at %s", e.Op, e.Arg, e.Kind, at)
}

// Unwrap returns the kind, so that errors.Is finds it.
func (e *ValueError) Unwrap() error { return e.Kind }

// MemoryError says that there is not as much memory as was asked for. Nothing was written.
type MemoryError struct {
	Device string // where: "host", "cuda:0"
	What   string // what for: "f32 [4,2147483647,5]"
	Bytes  int64
	Err    error // what the device or the system said
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("ops: %v on %s: asked for %d bytes, %s: %v", ErrOutOfMemory, e.Device, e.Bytes, e.What, e.Err)
}

// Unwrap returns the kind and the device's own error.
func (e *MemoryError) Unwrap() []error { return []error{ErrOutOfMemory, e.Err} }

// BatchError is an error of one plan of a batch. errors.As finds what is in it.
type BatchError struct {
	Index int // of the plan, as PlanBatch was given them
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("ops: plan %d of a batch: %v", e.Index, e.Err)
}

// Unwrap returns the plan's own error.
func (e *BatchError) Unwrap() error { return e.Err }

// JoinErrors is errors.Join, but that one error stays as it is, and nothing is allocated for none.
func JoinErrors(errs []error) error {
	var first error
	n := 0
	for _, err := range errs {
		if err != nil {
			if n++; first == nil {
				first = err
			}
		}
	}
	if n < 2 {
		return first
	}
	return errors.Join(errs...)
}
