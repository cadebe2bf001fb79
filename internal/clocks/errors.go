package clocks

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// MaxTargets is how many targets a clock may have.
const MaxTargets = 1 << 30

// RangeError reports that there is no clock, and names the streams that are in the way.
type RangeError struct {
	Rate    float64
	Streams []cover.Cover // the one that ends first and the one that begins last, or each without which the clock would fit
	Targets float64       // about how many there would be; 0 if there is no time
}

func (e *RangeError) Error() string {
	var list []string
	for _, s := range e.Streams {
		list = append(list, fmt.Sprintf("%s covers %s to %s s", s.Name, cover.Seconds(s.First), cover.Seconds(s.Last)))
	}
	if e.Targets > 0 {
		s := fmt.Sprintf("%g Hz: got %.4g targets, want at most %d", e.Rate, e.Targets, MaxTargets)
		if len(list) > 0 {
			s += ": " + strings.Join(list, ", ")
		}
		return s
	}
	if len(list) == 0 {
		return "no samples, so no time to put a clock over"
	}
	return "no time that all have in common: " + strings.Join(list, ", ")
}

// Unwrap returns ops.ErrTooLarge if there would be too many targets, else nil.
func (e *RangeError) Unwrap() error {
	if e.Targets > 0 {
		return ops.ErrTooLarge
	}
	return nil
}

// SizeError reports results that do not fit into the memory.
type SizeError struct {
	Rate        float64
	Targets     int
	Bytes, Most float64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%g Hz: got %d targets that take %s, want a lower rate, or room for more than %s", e.Rate, e.Targets, memory.Size(e.Bytes), memory.Size(e.Most))
}

// Unwrap returns ops.ErrTooLarge and tensor.ErrOutOfMemory.
func (e *SizeError) Unwrap() []error { return []error{ops.ErrTooLarge, tensor.ErrOutOfMemory} }

// MissingError is a stream of a plan that the recording does not have.
type MissingError struct {
	Stream string
	Near   string   // a similar name, or the streams of a topic of this name, or empty
	Names  []string // the streams of the recording
}

func (e *MissingError) Error() string {
	s := fmt.Sprintf("no stream %q", e.Stream)
	if e.Near != "" {
		return s + ", did you mean " + e.Near + "? There are " + text.Closest(e.Stream, e.Names)
	}
	if len(e.Names) == 0 {
		return s + ": there is none at all"
	}
	return s + ": there are " + text.Closest(e.Stream, e.Names)
}

// Unwrap returns dataset.ErrNotFound.
func (e *MissingError) Unwrap() error { return dataset.ErrNotFound }

// InPlanError is a stream that cannot be taken, with its place in the plan file.
type InPlanError struct {
	Path         string
	Line, Column int
	Err          error // an *align.StreamError or *MissingError
}

func (e *InPlanError) Error() string {
	return fmt.Sprintf("%s: line %d, column %d: %v", e.Path, e.Line, e.Column, e.Err)
}

// Unwrap returns the stream's error.
func (e *InPlanError) Unwrap() error { return e.Err }

// NoStreamsError reports that a recording has no stream that can be put on a clock.
type NoStreamsError struct {
	Notes dataset.Notes // why each stream cannot
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

// StepsError reports that a recording cannot be put on a clock, because its timestamps count steps and it has no rate. Rate is that of the
// plan; 0 if there is no plan yet.
type StepsError struct{ Rate float64 }

func (e *StepsError) Error() string {
	const text = "the recording counts steps and has no rate, want their rate"
	if e.Rate == 0 {
		return text
	}
	return fmt.Sprintf("%g Hz: %s", e.Rate, text)
}

// Unwrap returns ops.ErrMissing.
func (e *StepsError) Unwrap() error { return ops.ErrMissing }

// ManyError reports more streams than one Fuse takes, which is ops.MaxStreams.
type ManyError struct{ Got int }

func (e *ManyError) Error() string {
	return fmt.Sprintf("got %d streams, want at most %d: name them", e.Got, ops.MaxStreams)
}

// Unwrap returns ops.ErrTooLarge.
func (e *ManyError) Unwrap() error { return ops.ErrTooLarge }
