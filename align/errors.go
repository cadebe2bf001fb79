package align

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
)

// PlanError is a mistake in a plan.
type PlanError struct {
	Path         string // the file; empty for a plan made in a program
	Line, Column int    // from 1; 0 for a plan made in a program
	Key          string // where in the plan: "streams[0].edge"
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

// StreamError is a stream that cannot be put on a clock as the plan has it.
type StreamError struct {
	Stream    string
	Arg       string // of the operation, "SrcTimes", if it is known and Err has none
	Got, Want string
	Err       error // the operation's own error, or nil

	key string // of the plan's stream, where it is known more closely: "kind.gripper", "columns[1]"
}

func (e *StreamError) Error() string {
	s := "stream " + e.Stream
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

// Unwrap returns the operation's own error.
func (e *StreamError) Unwrap() error { return e.Err }

// MissingError is a stream that a plan asks for and the recording does not have.
type MissingError struct {
	Stream string
	Near   string   // the name that is nearest, if one is near, or those of the topic
	Names  []string // that the recording has
}

func (e *MissingError) Error() string {
	s := fmt.Sprintf("no stream %q", e.Stream)
	if e.Near != "" {
		return s + ", did you mean " + e.Near + "? There are " + oneOf(e.Names)
	}
	if len(e.Names) == 0 {
		return s + ": there is none at all"
	}
	return s + ": there are " + oneOf(e.Names)
}

// Unwrap returns dataset.ErrNotFound.
func (e *MissingError) Unwrap() error { return dataset.ErrNotFound }

// InPlanError is a stream that cannot be taken, with the place in the plan file that asks for it.
type InPlanError struct {
	Path         string
	Line, Column int
	Err          error // a *StreamError or *MissingError
}

func (e *InPlanError) Error() string {
	return fmt.Sprintf("%s: line %d, column %d: %v", e.Path, e.Line, e.Column, e.Err)
}

// Unwrap returns the stream's error.
func (e *InPlanError) Unwrap() error { return e.Err }

// NoStreamsError says that nothing of a recording can be put on a clock.
type NoStreamsError struct {
	Notes dataset.Notes // of the streams
}

func (e *NoStreamsError) Error() string {
	s := "no stream that can be put on a clock, want one with samples and columns"
	for i, n := range e.Notes {
		s += []string{": ", ", "}[min(i, 1)] + n.Subject + " (" + n.Reason() + ")"
	}
	return s
}

// ErrorNotes returns the notes.
func (e *NoStreamsError) ErrorNotes() dataset.Notes { return e.Notes }

// StepsError says that a recording cannot be put on a clock of a rate, because its timestamps count steps and nobody says how long one is.
type StepsError struct{ Rate float64 }

func (e *StepsError) Error() string {
	const text = "the recording counts steps and does not say how many a second there are, want their rate"
	if e.Rate == 0 { // of the plan that is to be made
		return text
	}
	return fmt.Sprintf("%g Hz: %s", e.Rate, text)
}

// Unwrap returns ops.ErrMissing.
func (e *StepsError) Unwrap() error { return ops.ErrMissing }

// ofStream names the stream of an operation's error, if the input is its cause.
func ofStream(name string, err error) error {
	var arg *ops.ArgError
	var value *ops.ValueError
	if errors.As(err, &arg) || errors.As(err, &value) {
		return &StreamError{Stream: name, Err: err}
	}
	return fmt.Errorf("stream %s: %w", name, err)
}

// ManyError says that a recording has more streams than one Fuse takes.
type ManyError struct{ Got int }

func (e *ManyError) Error() string {
	return fmt.Sprintf("got %d streams, want at most %d: name them", e.Got, ops.MaxStreams)
}

// Unwrap returns ops.ErrTooLarge.
func (e *ManyError) Unwrap() error { return ops.ErrTooLarge }

// RangeError says that a plan's range gives no clock: there is no time, or there would be more than 2^30 targets, about Targets at Rate. Its Streams, with
// Name, First and Last in nanoseconds, are those that are in the way.
type RangeError = clocks.RangeError

// SizeError says that the results at a number of Targets would take Bytes, and Most is the limit.
type SizeError = clocks.SizeError
