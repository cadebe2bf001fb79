package backend

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/internal/errs"
)

// The error kinds. Package ops documents them.
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
	ErrFull              = errors.New("too few places")

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

	// ErrUnsupported means that the backend does not have the operation.
	ErrUnsupported error = errs.Unsupported
)

// ArgError reports an argument that an operation cannot accept. Nothing was written.
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

// CaptureArg returns the argument name for queue i in a capture: "queue" for the queue that captures, then "with[0]",
// "with[1]" and so on.
func CaptureArg(i int) string {
	if i == 0 {
		return "queue"
	}
	return fmt.Sprintf("with[%d]", i-1)
}

// CapturedMark returns the error for a mark that belongs to another capture, or to no capture although the current work
// is captured.
func CapturedMark(op string) error {
	return &ArgError{Op: op, Arg: "mark", Kind: ErrOption, Got: "a mark of another capture, or of none", Want: "one that was set in the same capture, or outside of all"}
}

// ValueError reports a value in a tensor that an operation cannot use. It is found while the operation runs, so the
// destination may have been written and its contents are unspecified. If there are several bad values, every backend
// reports the same one: row lengths and offsets come before source times, and source times before targets; then the
// first stream in a Fuse, then the smallest row and index.
//
// In a Fuse the argument includes the stream: "Streams[2].SrcTimes". "Streams[2].Targets" are the targets on that
// stream's own clock. In a Draw, Row is the episode, and the cursor comes before Windows, Begins and the streams'
// Offsets. If a value is not finite, Index is the tick.
type ValueError struct {
	Op  string // the operation: "Resample"
	Arg string // the argument's name: "SrcTimes"
	// Row is the batch row. If all rows share the source times it is 0, or with SrcLengths the first row that is long
	// enough to include the index.
	Row    int
	Index  int   // the index within the row
	Column int   // the feature, if the value is not finite
	Kind   error // one of this package's Err values
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

// MemoryError reports that an allocation failed. Nothing was written.
type MemoryError struct {
	Device string // the place: "host", "cuda:0"
	What   string // the purpose: "f32 [4,2147483647,5]"
	Bytes  int64
	Err    error // the error from the device or the system
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("ops: %v on %s: asked for %d bytes, %s: %v", ErrOutOfMemory, e.Device, e.Bytes, e.What, e.Err)
}

// Unwrap returns the kind and the device's error.
func (e *MemoryError) Unwrap() []error { return []error{ErrOutOfMemory, e.Err} }

// BatchError is the error of one plan in a batch. errors.As also searches Err.
type BatchError struct {
	Index int // the plan's index in the list for PlanBatch
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("ops: plan %d of a batch: %v", e.Index, e.Err)
}

// Unwrap returns the plan's error.
func (e *BatchError) Unwrap() error { return e.Err }

// JoinErrors is like errors.Join, but returns a single error unchanged, and allocates nothing if all are nil.
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
