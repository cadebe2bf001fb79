package write

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/internal/errs"
)

var (
	// ErrNotAligned: the streams are not on one clock with the dataset's FPS.
	ErrNotAligned = errors.New("not on one clock")
	// ErrNoEpisodes: the dataset has no episodes.
	ErrNoEpisodes = errors.New("no episodes")
	// ErrNotFinite: a NaN or an infinity, which would make the normalisation statistics NaN.
	ErrNotFinite = errors.New("not finite")
	// ErrReadBack: a file does not contain the bytes that were written.
	ErrReadBack = errors.New("read back wrong")
)

// Error is the reason why an episode or a dataset cannot be written.
type Error struct {
	Episode int    // index in the order of Add, from 0; -1 if no episode is at fault
	Feature string // the name of the stream or media stream, in the dataset or before renaming; empty if none is at fault
	Kind    error  // an Err value from this package or package dataset
	Got     string
	Want    string
	Err     error // the cause, or nil
}

func (e *Error) Error() string {
	s := "lerobot: "
	if e.Episode >= 0 {
		s += fmt.Sprintf("episode %d: ", e.Episode)
	}
	if e.Feature != "" {
		s += e.Feature + ": "
	}
	s += e.Kind.Error()
	return s + errs.Values(e.Got, e.Want, e.Err)
}

// Unwrap returns the kind and the cause, so errors.Is finds both.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
