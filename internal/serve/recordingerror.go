package serve

import (
	"cmp"
	"errors"
	"io/fs"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/failure"
)

// RecordingError is an error about a recording, or about a request for it.
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
	if errors.As(e.Err, &format) && e.Err == error(format) && format.Path == e.Path { // Path is already in s
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

// ofRecording adds the meaning that an error has for a recording to its report.
func ofRecording(f *Failure, in *RecordingError) {
	var missing *clocks.MissingError
	is := func(of any) bool { return errors.As(in.Err, of) }
	f.Path = cmp.Or(f.Path, in.Path)
	switch {
	case f.Class == "MemoryError", is(new(*clocks.SizeError)):
		f.Class = "MemoryError"
	case f.Class == "PlanError", f.Class == "OptionError":
	case is(&missing):
		f.Class, f.Stream = "PlanError", missing.Stream
	case f.Cure == failure.CureStretch:
		f.Message += ": Recording(path, stretch=1) reads the first"
	case f.Cure == failure.CureRate:
		f.Class = "PlanError"
		f.Message += ": Recording(path, rate=...)"
	case is(new(*clocks.RangeError)), is(new(*clocks.ManyError)), is(new(*clocks.NoStreamsError)):
		f.Class = "PlanError"
	default:
		f.Class = "RecordingError"
		if f.Stream != "" && f.Cure != 0 {
			f.Message += `; unordered="sort" sorts the samples by time`
		}
	}
}
