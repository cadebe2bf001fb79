package serve

import (
	"errors"
	"io/fs"
	"strconv"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// RecordingError is an error about a recording, or about what is asked of it.
type RecordingError struct {
	Path    string
	Episode int // -1 for the recording as a whole
	Err     error
}

func (e *RecordingError) Error() string {
	s := e.Path + ": "
	if e.Episode >= 0 {
		s += "episode " + strconv.Itoa(e.Episode) + ": "
	}
	var format *dataset.FormatError
	if errors.As(e.Err, &format) && e.Err == error(format) && format.Path == e.Path { // which is said
		short := *format
		short.Path = ""
		return s + short.Error()
	}
	var path *fs.PathError
	if errors.As(e.Err, &path) && e.Err == error(path) && path.Path == e.Path {
		return s + path.Err.Error()
	}
	return s + e.Err.Error()
}

func (e *RecordingError) Unwrap() error { return e.Err }

// recordingFailure describes an error of a recording or a plan, and returns false for others.
func recordingFailure(err error, f *Failure) bool {
	var in *RecordingError
	recorded := errors.As(err, &in)
	if recorded {
		f.Class, f.Path = "RecordingError", in.Path
	}
	var (
		format  *dataset.FormatError
		option  *dataset.OptionError
		indices *dataset.RangeError
		archive *npz.StreamError
		path    *fs.PathError
		value   *ops.ValueError
		stream  *align.StreamError
		missing *align.MissingError
		none    *align.NoStreamsError
		plan    *align.PlanError
		span    *align.RangeError
		size    *align.SizeError
		steps   *align.StepsError
		many    *align.ManyError
		placed  *align.InPlanError
		memory  *ops.MemoryError
	)
	if errors.As(err, &path) && !recorded {
		return false
	}
	if errors.As(err, &placed) {
		f.Line, f.Column = placed.Line, placed.Column
	}
	if errors.As(err, &value) {
		f.Index = &value.Index
	}
	switch {
	case errors.As(err, &memory), errors.Is(err, tensor.ErrOutOfMemory):
		f.Class = "MemoryError"
	case errors.As(err, &plan):
		f.Class, f.Arg, f.Got, f.Want, f.Line, f.Column = "PlanError", plan.Key, plan.Got, plan.Want, plan.Line, plan.Column
		if plan.Path != "" {
			f.Path = plan.Path
		}
	case errors.As(err, &stream):
		f.Class, f.Stream, f.Got, f.Want = "RecordingError", stream.Stream, stream.Got, stream.Want
		if sortable(err) {
			f.Message += `; unordered="sort" takes the samples in the order of their times`
		}
	case errors.As(err, &missing):
		f.Class, f.Stream, f.Got = "PlanError", missing.Stream, missing.Stream
	case errors.As(err, &steps):
		f.Class = "PlanError"
		f.Message += ": Recording(path, rate=...)"
	case errors.As(err, &size):
		f.Class = "MemoryError"
	case errors.As(err, &span), errors.As(err, &many), errors.As(err, &none):
		f.Class = "PlanError"
	case errors.As(err, &option):
		f.Class, f.Arg, f.Got, f.Want = "OptionError", option.Arg, option.Got, option.Want
	case errors.As(err, &indices):
		f.Class, f.Arg, f.Got = "IndexError", indices.What, strconv.Itoa(indices.Got)
	case errors.As(err, &format):
		f.Got, f.Want, f.Line = format.Got, format.Want, format.Line
		if format.Path != "" {
			f.Path = format.Path
		}
		if format.Offset >= 0 {
			f.Offset = &format.Offset
		}
	case errors.As(err, &archive):
		f.Array, f.Got, f.Want = archive.Array, archive.Got, archive.Want
	}
	return recorded || plan != nil
}

// sortable reports whether an error is of timestamps that are out of order.
func sortable(err error) bool {
	return errors.Is(err, ops.ErrUnsorted) || errors.Is(err, ops.ErrNotFinite) || errors.Is(err, ops.ErrTimeRange)
}
