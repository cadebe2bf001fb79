package write

import (
	"errors"
	"fmt"
)

var (
	// ErrNotAligned: streams that are not on one clock of the dataset's FPS.
	ErrNotAligned = errors.New("not on one clock")
	// ErrNoEpisodes: a dataset of none.
	ErrNoEpisodes = errors.New("no episodes")
	// ErrNotFinite: NaN or an infinity, which would make the statistics by which training normalises NaN.
	ErrNotFinite = errors.New("not finite")
	// ErrReadBack: a file that does not have the bytes that were written.
	ErrReadBack = errors.New("read back wrong")
)

// Error is why an episode or a dataset cannot be written.
type Error struct {
	Episode int    // counted as they were added, from 0; -1 where it is none's
	Feature string // the stream or media stream, by its name in the dataset, or its own where that is at fault; empty where it is none's
	Kind    error  // one of this package's or package dataset's Err values
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
	if e.Got != "" {
		s += ": got " + e.Got
	}
	if e.Want != "" {
		s += ", want " + e.Want
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the kind and the cause, so that errors.Is finds both.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
