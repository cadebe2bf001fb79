package policy

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// OptionError is an invalid option. Arg is a field of Options.
type OptionError = dataset.OptionError

// refuse returns an *OptionError.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }

// StreamError is a stream that the policy needs, and that a recording lacks or has in an unsuitable form, for example with other
// columns.
type StreamError struct{ Stream, Got, Want string }

func (e *StreamError) Error() string {
	return fmt.Sprintf("policy: stream %s: got %s, want %s", e.Stream, e.Got, e.Want)
}

// Unwrap returns dataset.ErrNotFound.
func (e *StreamError) Unwrap() error { return dataset.ErrNotFound }

// EpisodeError is an episode that cannot be used, for example because it is shorter than a window.
type EpisodeError struct {
	Episode   string // its name or number
	Got, Want string
}

func (e *EpisodeError) Error() string {
	return fmt.Sprintf("policy: episode %s: got %s, want %s", e.Episode, e.Got, e.Want)
}

// Unwrap returns ops.ErrOption.
func (e *EpisodeError) Unwrap() error { return ops.ErrOption }

// CheckpointError is a folder without a valid checkpoint, or with a checkpoint that does not fit the options or the recordings.
type CheckpointError struct {
	Dir       string
	What      string // the file or setting that differs, or empty
	Got, Want string
}

func (e *CheckpointError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy: %s: ", e.Dir)
	if e.What != "" {
		fmt.Fprintf(&b, "%s: ", e.What)
	}
	fmt.Fprintf(&b, "got %s, want %s", e.Got, e.Want)
	return b.String()
}

// Unwrap returns ops.ErrOption.
func (e *CheckpointError) Unwrap() error { return ops.ErrOption }

// PredictionError is a predicted action that is not a finite number, because the weights or the inputs are too large.
type PredictionError struct {
	Column string // a column of the action
	Got    float64
}

func (e *PredictionError) Error() string {
	return fmt.Sprintf("policy: action column %s is predicted as %g, want a finite number", e.Column, e.Got)
}

// Unwrap returns ops.ErrValue.
func (e *PredictionError) Unwrap() error { return ops.ErrValue }
