package npz

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// EpisodeOptions say how an archive becomes an episode.
type EpisodeOptions struct {
	// BF16 reads uint16 values as bf16.
	BF16 bool
	// Streams are those to read; all unless given. One that there is not is ErrNotFound.
	Streams []string
}

// Episode reads the streams of an archive: of each, NAME.values [S,D], NAME.times [S], int64 nanoseconds or float64 or float32 seconds, and if it is
// there NAME.columns [D], names; columns without are called by their indices. It returns the names of the arrays that it read, too. Arrays that do
// not go together are a *StreamError.
func (f *File) Episode(opt EpisodeOptions) (*dataset.Episode, []string, error) {
	names := opt.Streams
	if len(names) == 0 {
		names = f.StreamNames()
	}
	e := &dataset.Episode{}
	var used []string
	for _, name := range names {
		s, err := f.stream(name, opt.BF16)
		if err != nil {
			return nil, nil, err
		}
		e.Streams = append(e.Streams, s)
		used = append(used, name+".values", name+".times", name+".columns")
	}
	return e, used, nil
}

// StreamNames returns the names of the streams: those that have an array NAME.values and an array NAME.times, in file order.
func (f *File) StreamNames() []string {
	var names []string
	for _, name := range f.Names() {
		if base, ok := strings.CutSuffix(name, ".values"); ok && f.Has(base+".times") {
			names = append(names, base)
		}
	}
	return names
}

// StreamError says which array of an archive makes no stream.
type StreamError struct {
	Stream, Array string
	Got, Want     string
	Err           error // what lies below, or nil
}

func (e *StreamError) Error() string {
	if e.Err != nil {
		return "npz: array " + e.Array + ": " + e.Err.Error()
	}
	return fmt.Sprintf("npz: array %s: got %s, want %s", e.Array, e.Got, e.Want)
}

// Unwrap returns what lies below.
func (e *StreamError) Unwrap() error { return e.Err }

func (f *File) stream(name string, bf16 bool) (dataset.Stream, error) {
	values, times := name+".values", name+".times"
	s := dataset.Stream{Name: name}
	fail := func(array string, got any, want string) (dataset.Stream, error) {
		return s, &StreamError{Stream: name, Array: array, Got: fmt.Sprint(got), Want: want}
	}
	below := func(array string, err error) (dataset.Stream, error) {
		return s, &StreamError{Stream: name, Array: array, Err: err}
	}
	if !f.Has(values) {
		return s, f.missing(name)
	}
	// Of a uint16 array the option says what it is; others are what they are.
	head, err := f.Header(values)
	if err != nil {
		return below(values, err)
	}
	get := f.Tensor
	if bf16 && strings.HasSuffix(head.Descr, "u2") {
		get = f.BF16
	}
	if s.Values, err = get(values); err != nil {
		return below(values, err)
	}
	if s.Times, err = f.Tensor(times); err != nil {
		return below(times, err)
	}
	v, t := s.Values, s.Times
	switch {
	case v.Rank() != 2:
		return fail(values, v, "[S,D]")
	case v.Dim(1) == 0:
		return fail(values, v, "at least one feature")
	case !v.DType().IsFloat():
		return fail(values, v, "f32, f64 or f16, or bf16 stored as uint16")
	case !slices.Contains([]tensor.DType{tensor.I64, tensor.F64, tensor.F32}, t.DType()):
		return fail(times, t, "int64 nanoseconds, or float64 or float32 seconds")
	case !slices.Equal(t.Shape(), []int{v.Dim(0)}):
		return fail(times, t, fmt.Sprintf("[%d], one timestamp a sample", v.Dim(0)))
	}
	names, err := f.columns(name, v.Dim(1))
	if err != nil {
		return below(name+".columns", err)
	}
	for _, name := range names {
		s.Columns = append(s.Columns, dataset.Column{Name: name, Type: v.DType().String()})
	}
	if err := s.Check(); err != nil {
		return below(times, err)
	}
	return s, nil
}

// columns returns the names in NAME.columns, or the indices.
func (f *File) columns(stream string, n int) ([]string, error) {
	if !f.Has(stream + ".columns") {
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		return names, nil
	}
	names, err := f.Strings(stream + ".columns")
	if err == nil && len(names) != n {
		err = fmt.Errorf("got %d names, want %d, one a feature", len(names), n)
	}
	return names, err
}

// missing is the error of a stream that there is not.
func (f *File) missing(name string) error {
	want := "arrays NAME.values [S,D] and NAME.times [S]"
	if all := f.StreamNames(); len(all) > 0 {
		want = strings.Join(all, ", ")
	}
	return &dataset.FormatError{Format: "npz", Path: f.path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "stream", Got: fmt.Sprintf("%q", name), Want: want}
}
