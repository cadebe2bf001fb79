package serve

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/ops"
)

// PanicError is a mistake in this program, which a request met. Its stack is on standard error.
type PanicError struct {
	Do    string
	Value any
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in %q: %v", e.Do, e.Value) }

// Failure is an error as it is sent.
type Failure struct {
	Class   string `json:"class"` // the type of the error: "ArgError"
	Op      string `json:"op,omitempty"`
	Arg     string `json:"arg,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Row     *int   `json:"row,omitempty"`
	Index   *int   `json:"index,omitempty"`
	Got     string `json:"got,omitempty"`
	Want    string `json:"want,omitempty"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	Stream  string `json:"stream,omitempty"`
}

func failureOf(err error) Failure {
	f := Failure{Class: "Error", Message: err.Error()}
	var (
		arg     *ops.ArgError
		value   *ops.ValueError
		memory  *ops.MemoryError
		request *RequestError
		version *VersionError
		frame   *FrameError
		panics  *PanicError
	)
	switch {
	case errors.As(err, &arg):
		f.Class, f.Op, f.Arg, f.Kind, f.Got, f.Want = "ArgError", arg.Op, arg.Arg, arg.Kind.Error(), arg.Got, arg.Want
	case errors.As(err, &value):
		f.Class, f.Op, f.Arg, f.Kind, f.Row, f.Index = "ValueError", value.Op, value.Arg, value.Kind.Error(), &value.Row, &value.Index
	case errors.As(err, &memory):
		f.Class, f.Got = "MemoryError", memory.What
	case errors.As(err, &request):
		f.Class, f.Arg, f.Got, f.Want = "RequestError", request.Arg, request.Got, request.Want
	case errors.As(err, &version):
		f.Class, f.Arg, f.Got, f.Want = "VersionError", version.What, version.Got, version.Want
	case errors.As(err, &frame):
		f.Class, f.Got, f.Want = "FrameError", frame.Got, frame.Want
	case errors.As(err, &panics):
		f.Class = "PanicError"
	}
	return f
}
