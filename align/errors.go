package align

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/ops"
)

// PlanError reports a mistake in a plan.
type PlanError struct {
	Path         string // the file; empty for a plan made in a program
	Line, Column int    // from 1; 0 for a plan made in a program
	Key          string // position in the plan: "streams[0].edge"
	Got, Want    string
}

func (e *PlanError) Error() string {
	var b strings.Builder
	b.WriteString("plan: ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString("got " + e.Got)
	if e.Want != "" {
		b.WriteString(", want " + e.Want)
	}
	return b.String()
}

// Unwrap returns ops.ErrOption.
func (e *PlanError) Unwrap() error { return ops.ErrOption }

func bad(key, got, want string) error { return &PlanError{Key: key, Got: got, Want: want} }

func oneOf(list []string) string { return strings.Join(list, ", ") }

// StreamError reports a stream that the plan cannot put on a clock.
type StreamError struct {
	Stream    string
	Arg       string // the operation's argument, for example "SrcTimes"; empty if unknown or if Err has it
	Got, Want string
	Err       error // the operation's own error, or nil

	key string // in the plan's stream, for example "method.gripper" or "columns[1]"; empty if it is unknown
}

func (e *StreamError) Error() string {
	return "stream " + e.Stream + errs.Values(e.Got, e.Want, e.Err)
}

// Unwrap returns the operation's own error.
func (e *StreamError) Unwrap() error { return e.Err }

// ofStream returns an operation's error as a *StreamError if its input is the cause, and else wraps it.
func ofStream(name string, err error) error {
	var arg *ops.ArgError
	var value *ops.ValueError
	if errors.As(err, &arg) || errors.As(err, &value) {
		return &StreamError{Stream: name, Err: err}
	}
	return fmt.Errorf("stream %s: %w", name, err)
}
