package cudadrv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/errs"
)

// The kinds of error of this package, for errors.Is, besides [Code] and [LoadKind]. Packages of this module that mean the
// same have the same values; [ErrOutOfMemory], [ErrNotFound] and [ErrUnsupported], which are codes, match theirs both ways.
var (
	// ErrClosed: a call on something that was closed.
	ErrClosed error = errs.Closed

	// Kinds of *ValueError.
	ErrShape       error = errs.Shape       // a size, a length or a range
	ErrOption      error = errs.Option      // what a call does not take
	ErrMissing     error = errs.Missing     // nil or nothing where something is needed
	ErrWrongDevice error = errs.WrongDevice // something of another device

	// ErrDeviceLost is matched by [LostError].
	ErrDeviceLost = errors.New("device lost")
	// ErrParamsUnknown: a kernel's parameter list is not known, so its arguments cannot be checked.
	ErrParamsUnknown = errors.New("parameter list unknown")
)

// Error is a driver call that failed. errors.Is matches it with its Code.
type Error struct {
	Op   string // the driver's name of the call
	Code Code
	Name string // the driver's name of the code, such as CUDA_ERROR_OUT_OF_MEMORY
	Text string // the driver's sentence
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

// Unwrap gives the code.
func (e *Error) Unwrap() error { return e.Code }

// LoadKind says why there is no driver. Each kind is an error for errors.Is.
type LoadKind string

// Why [Open] or [NewDriver] failed.
const (
	ErrDriverMissing LoadKind = "no CUDA driver library found"
	ErrDriverStub    LoadKind = "the CUDA library found is a toolkit stub, not a driver"
	ErrDriverTooOld  LoadKind = "the CUDA driver is too old"
	ErrSymbolMissing LoadKind = "the CUDA driver lacks a function"
	ErrNoGPU         LoadKind = "no CUDA device"
	ErrInitFailed    LoadKind = "the CUDA driver does not start"
	ErrNCCLMissing   LoadKind = "no NCCL library found"
	ErrPlatform      LoadKind = "CUDA needs Linux on amd64 or arm64, with NVIDIA's driver"
)

func (k LoadKind) Error() string { return string(k) }

// LoadError says why there is no driver. errors.Is matches its Kind, and its Err.
type LoadError struct {
	Kind   LoadKind
	Path   string   // the library, where one was found
	Tried  []string // the names tried, each with the loader's answer, where none was
	Found  int      // the driver's version, where it told one
	Needed int      // the version needed, for ErrDriverTooOld and ErrSymbolMissing
	Symbol string   // for ErrSymbolMissing
	Err    error    // the driver's error, where there was one
}

func (e *LoadError) Error() string {
	var b strings.Builder
	b.WriteString("cudadrv: " + string(e.Kind))
	switch e.Kind {
	case ErrDriverTooOld:
		fmt.Fprintf(&b, ": it supports CUDA %s, wanted %s (driver 520) or newer", FormatVersion(e.Found), FormatVersion(e.Needed))
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

// Is matches the kind.
func (e *LoadError) Is(target error) bool { return target == error(e.Kind) }

// Unwrap gives the driver's error.
func (e *LoadError) Unwrap() error { return e.Err }

// UnsupportedError is a call that this driver or device does not have. errors.Is matches ErrUnsupported.
type UnsupportedError struct {
	Op     string // the driver's name of the call, or what was asked for
	Needed int    // CUDA version that brought it; 0 where it is not a question of version
	Found  int    // this driver's version
}

func (e *UnsupportedError) Error() string {
	if e.Needed == 0 {
		return fmt.Sprintf("cudadrv: %s: not supported here", e.Op)
	}
	return fmt.Sprintf("cudadrv: %s needs a driver for CUDA %s, this one supports %s", e.Op, FormatVersion(e.Needed), FormatVersion(e.Found))
}

// Unwrap gives ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// ClosedError is a call on something closed. errors.Is matches ErrClosed.
type ClosedError struct {
	Op   string
	What string
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("cudadrv: %s: the %s is closed", e.Op, e.What)
}

// Unwrap gives ErrClosed.
func (e *ClosedError) Unwrap() error { return ErrClosed }

// InUseError is a context that cannot be closed because something made in it is still open.
type InUseError struct{ Open map[string]int }

func (e *InUseError) Error() string {
	var parts []string
	for k := kind(0); k < kindCount; k++ {
		if n := e.Open[k.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return "cudadrv: the context still has open: " + strings.Join(parts, ", ")
}

// ValueError is an argument outside what a call takes.
type ValueError struct {
	Op   string
	What string // the argument
	Kind error  // one of this package's Err values
	Got  string
	Want string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("cudadrv: %s: %s is %s, want %s", e.Op, e.What, e.Got, e.Want)
}

// Unwrap gives the kind.
func (e *ValueError) Unwrap() error { return e.Kind }

// ArgError is a kernel argument list that does not fit the kernel. Position -1 means the list as a whole.
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

// ModuleError is an image that the driver refused, with what its compiler said. It wraps the *[Error].
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

// Unwrap gives the driver's error.
func (e *ModuleError) Unwrap() error { return e.Err }

// CaptureError is a capture that gave no graph, or a call that a capturing stream does not take.
type CaptureError struct {
	Op  string
	Err error
}

func (e *CaptureError) Error() string {
	return fmt.Sprintf("cudadrv: capture: %s: %s", e.Op, strings.TrimPrefix(e.Err.Error(), "cudadrv: "))
}

// Unwrap gives the cause.
func (e *CaptureError) Unwrap() error { return e.Err }

// GraphUpdateError is a graph that an instantiated graph cannot take over. Instantiate it instead.
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

// Unwrap gives the driver's error.
func (e *GraphUpdateError) Unwrap() error { return e.Err }

// LostError is returned by every call after an error that poisons the device's context. The process must
// be started again to use the device. errors.Is matches ErrDeviceLost and the first error's code.
type LostError struct {
	First   *Error
	Kernels []string // the kernels launched last, the latest first; one of them is likely the cause
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

// Unwrap gives the first error.
func (e *LostError) Unwrap() error { return e.First }
