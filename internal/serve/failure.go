package serve

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/ops/record"
)

// PanicError is a mistake in this program, which a request met. Its stack is on standard error.
type PanicError struct {
	Do    string
	Value any
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in %q: %v", e.Do, e.Value) }

// Failure is an error as it is sent.
type Failure = failure.Report

// mostText is how many bytes of a text of an error are sent. A request may be long, and its errors quote it.
const mostText = 64 << 10

// shorten cuts texts that are too long, so that the error fits a frame.
func shorten(f *Failure) {
	for _, s := range []*string{&f.Op, &f.Arg, &f.Kind, &f.Got, &f.Want, &f.Message, &f.Path, &f.Stream, &f.Array} {
		if len(*s) > mostText {
			*s = (*s)[:mostText] + "..."
		}
	}
}

func failureOf(err error) Failure {
	var own *toldError
	if errors.As(err, &own) {
		return own.Failure
	}
	f := failure.Of(err)
	f.Message = notetext.ErrorText(err)
	var (
		in      *RecordingError
		request *RequestError
		version *VersionError
		frame   *FrameError
		panics  *PanicError
		device  *record.TargetError
	)
	switch {
	case errors.As(err, &in):
		ofRecording(&f, in)
	case errors.As(err, &request):
		f.Class, f.Arg, f.Got, f.Want = "RequestError", request.Arg, request.Got, request.Want
	case errors.As(err, &version):
		f.Class, f.Arg, f.Got, f.Want = "VersionError", version.What, version.Got, version.Want
	case errors.As(err, &frame):
		f.Class, f.Got, f.Want = "FrameError", frame.Got, frame.Want
	case errors.As(err, &device):
		f.Class, f.Arg, f.Got, f.Want = "TargetError", device.Field, device.Got, device.Want
	case errors.As(err, &panics):
		f.Class = "PanicError"
	}
	return f
}
