package dataset

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// OnlyValid removes the samples with flag 0, such as rows in a gap of a resampled recording. flags has one entry per sample. It
// returns the number of removed samples. If the lengths differ, the error is a *StreamError.
func (s *Stream) OnlyValid(flags []uint8) (lost int, err error) {
	if len(flags) != s.Len() {
		return 0, &StreamError{Stream: s.Name, Arg: "valid", Got: fmt.Sprintf("[%d]", len(flags)), Want: fmt.Sprintf("[%d], one flag a sample", s.Len())}
	}
	rows := make([]int, 0, len(flags))
	for i, flag := range flags {
		if flag != 0 {
			rows = append(rows, i)
		}
	}
	if lost = len(flags) - len(rows); lost == 0 {
		return 0, nil
	}
	for _, t := range []**tensor.Tensor{&s.Times, &s.Values, &s.Integers} {
		if *t == nil {
			continue
		}
		if *t, err = (*t).Take(0, rows); err != nil {
			return 0, err
		}
	}
	return lost, nil
}
