package align

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Disorder returns a *DisorderError if the timestamps of a stream step back, or are no times.
func Disorder(s *dataset.Stream) error {
	if s.Len() == 0 {
		return nil
	}
	if _, wrong := cover.Of(s.Name, s.Times); wrong != nil {
		return disorderOf(s, wrong)
	}
	return nil
}

// wrongTimes is the error of timestamps that have no order, or are no times.
func wrongTimes(s *dataset.Stream, wrong error) error {
	e := &StreamError{Stream: s.Name, Err: disorderOf(s, wrong)}
	if errors.Is(wrong, ops.ErrTimeRange) && s.Times.DType() != tensor.I64 {
		e.Got, e.Want = "a timestamp beyond 2^62 ns", "seconds, as floats are taken"
	}
	return e
}

// disorderOf says what is wrong with timestamps as the operations have it.
func disorderOf(s *dataset.Stream, wrong error) error {
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

// emptyStream returns a stream without samples, on a clock of the recording's dtype.
func emptyStream(e *dataset.Episode, l *dataset.EmptyStream) (*dataset.Stream, error) {
	s := &dataset.Stream{Name: l.Name, Columns: l.Columns}
	clock := tensor.I64
	if len(e.Streams) > 0 {
		clock = e.Streams[0].Times.DType()
	}
	var err error
	if s.Times, err = tensor.New(clock, 0); err != nil {
		return nil, err
	}
	s.Values, err = tensor.New(cmp.Or(l.DType, tensor.F32), 0, len(l.Columns))
	return s, err
}
