package serve

import (
	"cmp"
	"errors"
	"regexp"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/loader"
)

// toldError is an error that says itself how it is sent.
type toldError struct {
	Failure
	err error
}

func (e *toldError) Error() string { return e.Message }
func (e *toldError) Unwrap() error { return e.err }

// gotAndWant is how errors of options are written.
var gotAndWant = regexp.MustCompile(`^([a-z_]+): got (.+?), want (.+)$`)

// told says what an error of a loader is to Python.
func told(err error) error {
	if err == nil {
		return nil
	}
	f := failureOf(err)
	f.Message = batching.Plain(notetext.ErrorText(err))
	var (
		usage   *batching.UsageError
		input   *batching.InputError
		state   *loader.StateError
		episode *dataset.EpisodeError
	)
	if errors.As(err, &input) {
		f.Path, f.Stream, f.Got, f.Want = input.Path, input.Stream, cmp.Or(input.Got, f.Got), cmp.Or(input.Want, f.Want)
	}
	switch {
	case f.Class != "Error": // which says what it is
	case errors.As(err, &usage):
		f.Class = "OptionError"
		if m := gotAndWant.FindStringSubmatch(f.Message); m != nil {
			f.Arg, f.Got, f.Want = m[1], m[2], m[3]
		}
	case errors.As(err, &state):
		f.Class, f.Arg, f.Got, f.Want = "LoaderError", state.What, state.Got, state.Want
	case input != nil, errors.As(err, &episode):
		f.Class = "RecordingError"
	default:
		f.Class = "LoaderError"
	}
	return &toldError{f, err}
}
