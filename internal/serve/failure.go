package serve

import (
	"fmt"

	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops/record"
)

// PanicError is a panic in a handler, which is a bug in this program. Its stack is on standard error.
type PanicError struct {
	Do    string
	Value any
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in %q: %v", e.Do, e.Value) }

// loaderError is an error from a loader, or from opening one.
type loaderError struct{ error }

func (e *loaderError) Unwrap() error { return e.error }

// Failure is an error in JSON.
type Failure = failure.Report

// mostText limits a text in an error, in bytes, because errors quote requests, and a request may be long.
const mostText = 64 << 10

// shorten cuts the texts of f to at most mostText bytes each, so that the error fits a frame.
func shorten(f *Failure) {
	for _, s := range []*string{&f.Op, &f.Arg, &f.Kind, &f.Got, &f.Want, &f.Message, &f.Path, &f.Stream, &f.Array} {
		if len(*s) > mostText {
			*s = (*s)[:mostText] + "..."
		}
	}
}

// rules fill in a Failure after the general rules in package failure: first its message, then the class and the fields for error
// types that only this package reports. A later rule overwrites the fields from an earlier one.
var rules = []failure.Rule{
	func(f *Failure, err error) { f.Message = notetext.ErrorText(err) },
	failure.On(func(f *Failure, _ *PanicError) { f.Class = "PanicError" }),
	failure.On(func(f *Failure, e *record.TargetError) { f.Set("TargetError", e.Field, e.Got, e.Want) }),
	failure.On(func(f *Failure, e *FrameError) { f.Set("FrameError", "", e.Got, e.Want) }),
	failure.On(func(f *Failure, e *VersionError) { f.Set("VersionError", e.What, e.Got, e.Want) }),
	failure.On(func(f *Failure, e *RequestError) { f.Set("RequestError", e.Arg, e.Got, e.Want) }),
	failure.On(func(f *Failure, e *loader.StateError) { f.Set("LoaderError", e.What, e.Got, e.Want) }),
	failure.On(ofRecording),
	failure.On(ofPolicy),
	failure.On(func(f *Failure, _ *loaderError) {
		switch f.Class {
		case "OptionError":
			f.Message = fmt.Sprintf("%s: got %s, want %s", f.Arg, f.Got, f.Want)
		case "Error":
			f.Class = "LoaderError"
		}
	}),
}

// failureOf returns the Failure for an error. Its Code is failure.System or empty, because Class distinguishes all other errors.
func failureOf(err error) Failure {
	f := failure.Of(err, rules...)
	if f.Code != failure.System {
		f.Code = ""
	}
	return f
}
