package failure_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestAnErrorIsTakenApartHoweverDeepItLies(t *testing.T) {
	row, index, offset := 2, 0, int64(17)
	_, outside := tensor.Of([]float32{1}, 2)
	for _, test := range []struct {
		err  error
		want failure.Report
	}{
		{errors.New("no"), failure.Report{Class: "Error"}},
		{&fs.PathError{Op: "open", Path: "a.npz", Err: fs.ErrNotExist}, failure.Report{Class: "Error", Path: "a.npz"}},
		{outside, failure.Report{Class: "ArgError", Op: "Of", Kind: "wrong shape", Got: "1 elements", Want: "2 for shape [2]"}},
		{&ops.ArgError{Op: "Fuse", Arg: "Dst", Kind: ops.ErrShape, Got: "[1]", Want: "[2]"}, failure.Report{Code: failure.Input, Class: "ArgError", Op: "Fuse", Arg: "Dst", Kind: "wrong shape", Got: "[1]", Want: "[2]"}},
		{&ops.ValueError{Op: "Fuse", Arg: "SrcTimes", Row: 2, Kind: ops.ErrUnsorted}, failure.Report{Code: failure.Input, Class: "ValueError", Op: "Fuse", Arg: "SrcTimes", Kind: "time goes backwards", Row: &row, Index: &index, Cure: failure.CureSort}},
		{&ops.MemoryError{Device: "host", What: "f32 [9]", Bytes: 36, Err: errors.New("no")}, failure.Report{Code: failure.Input, Class: "MemoryError"}},
		{&tensor.Error{Op: "New", Kind: tensor.ErrOutOfMemory, Got: "9", Want: "8"}, failure.Report{Code: failure.Input, Class: "MemoryError", Op: "New", Kind: "out of memory", Got: "9", Want: "8"}},
		{&dataset.FormatError{Format: "npy", Path: "a.npy", Offset: 17, Line: 3, Kind: dataset.ErrCorrupt, Got: "x", Want: "y"},
			failure.Report{Code: failure.Input, Class: "FormatError", Path: "a.npy", Kind: "corrupt", Offset: &offset, Line: 3, Got: "x", Want: "y"}},
		{&ops.ArgError{Op: "Fuse"}, failure.Report{Code: failure.Input, Class: "ArgError", Op: "Fuse"}},
		{&ops.ValueError{Op: "Fuse", Row: 2}, failure.Report{Code: failure.Input, Class: "ValueError", Op: "Fuse", Row: &row, Index: &index}},
		{&dataset.FormatError{Format: "npy", Offset: -1}, failure.Report{Code: failure.Input, Class: "FormatError"}},
		{&align.StreamError{Stream: "imu", Err: &ops.ArgError{Op: "Resample", Arg: "Options.Edge", Kind: ops.ErrOption}},
			failure.Report{Code: failure.Usage, Class: "ArgError", Op: "Resample", Arg: "Options.Edge", Kind: "wrong option", Stream: "imu"}},
		{&align.PlanError{Path: "a.yaml", Line: 4, Column: 2, Key: "hz", Got: "x", Want: "y"}, failure.Report{Code: failure.Input, Class: "PlanError", Path: "a.yaml", Line: 4, Column: 2, Arg: "hz", Got: "x", Want: "y"}},
	} {
		err := fmt.Errorf("reading: %w", errors.Join(errors.New("first"), test.err))
		test.want.Message, test.want.Code = err.Error(), cmp.Or(test.want.Code, failure.Other)
		assert.Equal(t, test.want, failure.Of(err))
	}
}
