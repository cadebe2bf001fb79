package cover

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// DisorderError says that the timestamps of a stream step back, or are no times.
type DisorderError struct {
	What string // the first wrong timestamp, in words for a person
	Cure string // how the stream can be taken, or empty
	Err  error  // an *ops.ValueError
}

func (e *DisorderError) Error() string {
	if e.Cure == "" {
		return e.What
	}
	return e.What + "; " + e.Cure
}

// Unwrap returns the operation's error.
func (e *DisorderError) Unwrap() error { return e.Err }

// Disorder returns a *DisorderError if the timestamps of a stream step back, or are no times. An empty stream is in order.
func Disorder(s *dataset.Stream) error {
	if s.Len() == 0 {
		return nil
	}
	_, wrong := Of(s.Name, s.Times)
	var v *ops.ValueError
	if !errors.As(wrong, &v) {
		return wrong
	}
	e := &DisorderError{What: fmt.Sprintf("%v at sample %d", v.Kind, v.Index), Err: wrong}
	if n := s.Stats().BackSteps; errors.Is(v, ops.ErrUnsorted) && n > 1 {
		e.What += fmt.Sprintf(", the first of %d steps back", n)
	}
	if errors.Is(v, ops.ErrTimeRange) && s.Times.DType() != tensor.I64 {
		e.What += ": floats are taken as seconds"
	} else {
		e.Cure = "sorted it can be taken: --unordered sort"
	}
	return e
}
