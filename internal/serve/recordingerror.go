package serve

import (
	"errors"
	"io/fs"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
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

// ofRecording adds to the report of an error what the error means for a recording.
func ofRecording(f *Failure, in *RecordingError) {
	var (
		archive *npz.StreamError
		missing *clocks.MissingError
		steps   *clocks.StepsError
		placed  *clocks.InPlanError
	)
	is := func(of any) bool { return errors.As(in.Err, of) }
	if f.Path == "" {
		f.Path = in.Path
	}
	if is(&placed) {
		f.Line, f.Column = placed.Line, placed.Column
	}
	if is(&archive) {
		f.Array = archive.Array
		if archive.Got != "" {
			f.Got, f.Want = archive.Got, archive.Want
		}
	}
	switch {
	case f.Class == "MemoryError", is(new(*clocks.SizeError)):
		f.Class = "MemoryError"
	case f.Class == "PlanError", f.Class == "OptionError":
	case is(&missing):
		f.Class, f.Stream = "PlanError", missing.Stream
	case is(&steps):
		f.Class = "PlanError"
		f.Message += ": Recording(path, rate=...)"
	case is(new(*clocks.RangeError)), is(new(*clocks.ManyError)), is(new(*clocks.NoStreamsError)):
		f.Class = "PlanError"
	default:
		f.Class = "RecordingError"
		if f.Stream != "" && sortable(in.Err) {
			f.Message += `; unordered="sort" takes the samples in the order of their times`
		}
	}
}

// sortable reports whether an error is of timestamps that are out of order.
func sortable(err error) bool {
	return errors.Is(err, ops.ErrUnsorted) || errors.Is(err, ops.ErrNotFinite) || errors.Is(err, ops.ErrTimeRange)
}
