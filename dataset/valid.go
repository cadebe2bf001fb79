package dataset

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// OnlyValid leaves out the samples whose flag is 0, as rows that a clock has and a recording has not: flags has one for each sample, and no sample's values
// are changed. It returns how many were left out. Another number of flags is a *StreamError.
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
