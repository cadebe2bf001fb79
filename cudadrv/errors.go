package cudadrv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/errs"
)

// The kinds of error in this package, for errors.Is, besides [Code] and [LoadKind]. They equal the values with the same meaning
// in other packages of this module. [ErrOutOfMemory], [ErrNotFound] and [ErrUnsupported] are codes, and match those values both
// ways.
var (
	// ErrClosed is a call on an object after its Close.
	ErrClosed error = errs.Closed

	// Kinds in a *ValueError.
	ErrShape       error = errs.Shape       // a size, a length or a range
	ErrOption      error = errs.Option      // an argument with an invalid value
	ErrMissing     error = errs.Missing     // a required argument is nil or empty
	ErrWrongDevice error = errs.WrongDevice // an object that belongs to another device

	// ErrDeviceLost is matched by [LostError].
	ErrDeviceLost = errors.New("device lost")
	// ErrParamsUnknown means that the driver does not report the kernel's parameters, so arguments cannot be checked.
	ErrParamsUnknown = errors.New("parameter list unknown")
)

// Error is a failed driver call. errors.Is matches its Code.
type Error struct {
	Op   string // the driver's function: "cuMemAllocAsync"
	Code Code
	Name string // the driver's name for the code: "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // the driver's description
}

func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = e.Code.Error()
	} else {
		name = fmt.Sprintf("%s (%d)", name, int32(e.Code))
	}
	if e.Text == "" {
		return fmt.Sprintf("cudadrv: %s: %s", e.Op, name)
	}
	return fmt.Sprintf("cudadrv: %s: %s: %s", e.Op, name, e.Text)
}

// Unwrap returns the code.
func (e *Error) Unwrap() error { return e.Code }

// LoadKind is the reason why no driver is available. Each kind is an error for errors.Is.
type LoadKind string

// The reasons why [Open] or [NewDriver] failed.
const (
	ErrDriverMissing LoadKind = "no CUDA driver library found"
	ErrDriverStub    LoadKind = "the CUDA library found is a toolkit stub, not a driver"
	ErrDriverTooOld  LoadKind = "the CUDA driver is too old"
	ErrSymbolMissing LoadKind = "the CUDA driver lacks a function"
	ErrNoGPU         LoadKind = "no CUDA device"
	ErrInitFailed    LoadKind = "the CUDA driver does not start"
	ErrNCCLMissing   LoadKind = "no NCCL library found"
	ErrNVDECMissing  LoadKind = "no NVDEC library found"
	ErrNVDECLocked   LoadKind = "the container lacks NVIDIA's capability video"
	ErrPlatform      LoadKind = "CUDA needs Linux on amd64 or arm64, with NVIDIA's driver"
)

func (k LoadKind) Error() string { return string(k) }

// LoadError means that no driver is available, with the details. errors.Is matches its Kind and its Err.
type LoadError struct {
	Kind   LoadKind
	Path   string   // the library, if one was found
	Tried  []string // each tried name with the loader's message, if no library was found
	Found  int      // the driver's version, if it reported one
	Needed int      // the required version, for ErrDriverTooOld and ErrSymbolMissing
	Symbol string   // the missing function, for ErrSymbolMissing
	Err    error    // the driver's error, or nil
}

func (e *LoadError) Error() string {
	var b strings.Builder
	b.WriteString("cudadrv: " + string(e.Kind))
	switch e.Kind {
	case ErrDriverTooOld:
		fmt.Fprintf(&b, ": it supports CUDA %s, wanted %s (driver 520) or newer", FormatVersion(e.Found), FormatVersion(e.Needed))
	case ErrNVDECMissing:
		b.WriteString(": it is in the driver's package libnvidia-decode or libnvcuvid1")
	case ErrNVDECLocked:
		b.WriteString(": start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility,video")
	case ErrSymbolMissing:
		fmt.Fprintf(&b, ": %s (CUDA %s; this driver supports %s)", e.Symbol, FormatVersion(e.Needed), FormatVersion(e.Found))
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	if e.Err != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), "cudadrv: "))
	}
	if len(e.Tried) > 0 {
		b.WriteString("; tried " + strings.Join(grouped(e.Tried), "; "))
	}
	return b.String()
}

// grouped joins the names that the loader answered alike: "a, b: no such file".
func grouped(tried []string) []string {
	var out, answers []string
	for _, t := range tried {
		name, answer, _ := strings.Cut(t, ": ")
		if i := slices.Index(answers, answer); i >= 0 {
			names, _, _ := strings.Cut(out[i], ": ")
			out[i] = names + ", " + strings.TrimSuffix(name+": "+answer, ": ")
			continue
		}
		out, answers = append(out, t), append(answers, answer)
	}
	return out
}

// Is reports whether target is the Kind.
func (e *LoadError) Is(target error) bool { return target == error(e.Kind) }

// Unwrap returns the driver's error.
func (e *LoadError) Unwrap() error { return e.Err }

// UnsupportedError is a function that this driver or device lacks. errors.Is matches ErrUnsupported.
type UnsupportedError struct {
	Op     string // the driver's function, or the missing feature
	Needed int    // the first CUDA version with it; 0 if a newer driver would not help
	Found  int    // this driver's version
}

func (e *UnsupportedError) Error() string {
	if e.Needed == 0 {
		return fmt.Sprintf("cudadrv: %s: not supported here", e.Op)
	}
	return fmt.Sprintf("cudadrv: %s needs a driver for CUDA %s, this one supports %s", e.Op, FormatVersion(e.Needed), FormatVersion(e.Found))
}

// Unwrap returns ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// ClosedError is a call on an object after its Close. errors.Is matches ErrClosed.
type ClosedError struct {
	Op   string
	What string
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("cudadrv: %s: the %s is closed", e.Op, e.What)
}

// Unwrap returns ErrClosed.
func (e *ClosedError) Unwrap() error { return ErrClosed }

// InUseError means that a context cannot be closed, because objects made in it are open. Open counts them by kind: {"stream": 1}.
type InUseError struct{ Open map[string]int }

func (e *InUseError) Error() string {
	var parts []string
	for k := range kindCount {
		if n := e.Open[k.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return "cudadrv: the context still has open: " + strings.Join(parts, ", ")
}

// ValueError is an invalid argument.
type ValueError struct {
	Op   string
	What string // the argument's name
	Kind error  // one of this package's Err values, for example ErrShape
	Got  string
	Want string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("cudadrv: %s: %s is %s, want %s", e.Op, e.What, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *ValueError) Unwrap() error { return e.Kind }

// ArgError is a kernel argument that does not fit the kernel. If Position is -1, the list as a whole does not fit.
type ArgError struct {
	Kernel   string
	Position int
	Got      string
	Want     string
}

func (e *ArgError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("cudadrv: kernel %s: got %s, want %s", e.Kernel, e.Got, e.Want)
	}
	return fmt.Sprintf("cudadrv: kernel %s, argument %d: got %s, want %s", e.Kernel, e.Position, e.Got, e.Want)
}

// ModuleError is an image that the driver rejected, with its compiler's message. It wraps the *[Error].
type ModuleError struct {
	Err      error
	ErrorLog string
	InfoLog  string
}

func (e *ModuleError) Error() string {
	s := e.Err.Error()
	if e.ErrorLog != "" {
		s += "\n" + e.ErrorLog
	}
	if e.InfoLog != "" {
		s += "\n" + e.InfoLog
	}
	return s
}

// Unwrap returns the driver's error.
func (e *ModuleError) Unwrap() error { return e.Err }

// CaptureError is a capture that produced no graph, or a call that is not allowed on a capturing stream.
type CaptureError struct {
	Op  string
	Err error
}

func (e *CaptureError) Error() string {
	return fmt.Sprintf("cudadrv: capture: %s: %s", e.Op, strings.TrimPrefix(e.Err.Error(), "cudadrv: "))
}

// Unwrap returns the cause.
func (e *CaptureError) Unwrap() error { return e.Err }

// GraphUpdateError means that an instantiated graph cannot take the parameters of another graph. Instantiate that graph instead.
type GraphUpdateError struct {
	Err    error
	Reason int // CUgraphExecUpdateResult
}

func (e *GraphUpdateError) Error() string {
	why := "the driver gives no reason"
	switch e.Reason {
	case 2:
		why = "the graphs have another shape"
	case 3:
		why = "a node has another type"
	case 4, 7:
		why = "a kernel node has another function"
	case 5:
		why = "a node's parameters changed in a way that an update cannot follow"
	case 6:
		why = "a node does not support updates"
	case 8:
		why = "a node's attributes changed"
	}
	return fmt.Sprintf("%s: %s (reason %d)", e.Err.Error(), why, e.Reason)
}

// Unwrap returns the driver's error.
func (e *GraphUpdateError) Unwrap() error { return e.Err }

// LostError is returned by every call after an error that makes the device's context unusable. To use the device again, the
// process must be restarted. errors.Is matches ErrDeviceLost and the first error's code.
type LostError struct {
	First   *Error
	Kernels []string // the latest kernel launches, the newest first; one is probably the cause
}

func (e *LostError) Error() string {
	s := "cudadrv: device lost: " + strings.TrimPrefix(e.First.Error(), "cudadrv: ")
	if len(e.Kernels) > 0 {
		s += "; last kernels: " + strings.Join(e.Kernels, ", ")
	}
	return s
}

// Is matches ErrDeviceLost.
func (e *LostError) Is(target error) bool { return target == ErrDeviceLost }

// Unwrap returns the first error.
func (e *LostError) Unwrap() error { return e.First }
