package npz

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
)

// EpisodeOptions say how an archive becomes an episode.
type EpisodeOptions struct {
	// BF16 reads uint16 values as bf16.
	BF16 bool
	// Streams are those to read; unless given all that can be, and Episode.LeftOut lists the others. One that there is not is ErrNotFound.
	Streams []string
}

// Episode reads the streams of an archive: of each, NAME.values and NAME.times [S], and if it is there NAME.columns [D], names; columns without are
// called by their indices. Values are [S,D], or [S] of one column, or records [S] that name their columns; see npy.ReadTable. Times are as
// npy.ReadTimes takes them. An array NAME of records with a field that is a clock, one of [Clocks], is a stream too, unless there is a NAME.values.
// It returns the names of the arrays that it read, too. Episode.LeftOut has the fields that are no numbers, "NAME.field". Arrays that do not go
// together are a *StreamError.
func (f *File) Episode(opt EpisodeOptions) (*dataset.Episode, []string, error) {
	names := opt.Streams
	if len(names) == 0 {
		names = f.StreamNames()
	}
	e := &dataset.Episode{}
	var used []string
	for _, name := range names {
		s, table, arrays, err := f.stream(name, opt.BF16)
		if bad := (*StreamError)(nil); len(opt.Streams) == 0 && errors.As(err, &bad) && bad.Array != name+".times" && errors.Is(err, dataset.ErrUnsupported) {
			// Images, texts, what there may be besides.
			e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: name, Reason: strings.TrimPrefix(err.Error(), "npz: ")})
			used = append(used, arrays...)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		e.Streams = append(e.Streams, s)
		used = append(used, arrays...)
		for _, l := range table.LeftOut {
			l.Name = name + "." + l.Name
			e.LeftOut = append(e.LeftOut, l)
		}
	}
	return e, used, nil
}

// Clocks are the names of a field that is the clock of its records.
func Clocks() []string { return []string{"timestamp", "timestamps", "time", "times", "t", "stamp"} }

// Clock returns the field that is the clock of records [S], and an empty name if they have none, or more than one.
func Clock(h *npy.Header) string {
	clock := ""
	for i := range h.Fields {
		name := h.Fields[i].Name
		if !slices.Contains(Clocks(), name) {
			continue
		}
		if clock != "" || !h.Fields[i].IsClock() || len(h.Shape) != 1 {
			return ""
		}
		clock = name
	}
	return clock
}

// StreamNames returns the names of the streams, in file order: those that have an array NAME.values and an array NAME.times, or an array NAME of
// records with a clock.
func (f *File) StreamNames() []string {
	var names []string
	for _, name := range f.Names() {
		if base, ok := strings.CutSuffix(name, ".values"); ok && f.Has(base+".times") {
			names = append(names, base)
		} else if f.clock(name) != "" {
			names = append(names, name)
		}
	}
	return names
}

// clock returns the clock of an array that is a stream by itself.
func (f *File) clock(name string) string {
	if f.Has(name + ".values") {
		return ""
	}
	h, err := f.Header(name)
	if err != nil { // of an array that is broken, or none that is read here, it is known when it is asked for
		return ""
	}
	return Clock(&h)
}

// StreamError says which array of an archive makes no stream.
type StreamError struct {
	Stream, Array string
	Got, Want     string
	Err           error // what lies below; dataset.ErrUnsupported for an array that is no stream's, dataset.ErrShape for arrays that do not go together
}

func (e *StreamError) Error() string {
	if e.Got == "" {
		return "npz: array " + e.Array + ": " + e.Err.Error()
	}
	return fmt.Sprintf("npz: array %s: got %s, want %s", e.Array, e.Got, e.Want)
}

// Unwrap returns what lies below, or the kind.
func (e *StreamError) Unwrap() error { return e.Err }

// stream reads a stream, and returns the names of the arrays that it is made of.
func (f *File) stream(name string, bf16 bool) (s dataset.Stream, t *npy.Table, arrays []string, err error) {
	values, times := name+".values", name+".times"
	s.Name = name
	below := func(array string, err error) (dataset.Stream, *npy.Table, []string, error) {
		return s, nil, arrays, &StreamError{Stream: name, Array: array, Err: err}
	}
	fail := func(kind error, array, got, want string) (dataset.Stream, *npy.Table, []string, error) {
		return s, nil, arrays, &StreamError{Stream: name, Array: array, Got: got, Want: want, Err: kind}
	}
	opt := npy.TableOptions{BF16: bf16}
	arrays = []string{values, times}
	if !f.Has(values) {
		if opt.Clock = f.clock(name); opt.Clock == "" {
			return s, nil, nil, f.missing(name)
		}
		values, times, arrays = name, name, []string{name}
	}
	head, err := f.Header(values)
	if err != nil {
		return below(values, err)
	}
	if rank := len(head.Shape); rank != 1 && (rank != 2 || head.IsRecords()) {
		return fail(dataset.ErrUnsupported, values, head.String(), "[S,D], [S] or records [S]")
	}
	if t, err = f.Table(values, opt); err != nil {
		return below(values, err)
	}
	s.Values, s.Columns, s.Inexact, s.Times = t.Values, t.Columns, t.Inexact, t.Times
	if s.Times == nil {
		if s.Times, err = f.Times(times); err != nil {
			return below(times, err)
		}
	}
	switch n := s.Values.Dim(0); {
	case len(s.Columns) == 0:
		return fail(dataset.ErrUnsupported, values, head.String(), "at least one feature")
	case !slices.Equal(s.Times.Shape(), []int{n}):
		return fail(dataset.ErrShape, times, s.Times.String(), fmt.Sprintf("[%d], one timestamp a sample", n))
	}
	if named := name + ".columns"; !head.IsRecords() && f.Has(named) {
		list, err := f.Strings(named)
		if err == nil && len(list) != len(s.Columns) {
			err = fmt.Errorf("got %d names, want %d, one a feature", len(list), len(s.Columns))
		}
		if err != nil {
			return below(named, err)
		}
		for i := range s.Columns {
			s.Columns[i].Name = list[i]
		}
		arrays = append(arrays, named)
	}
	if err := s.Check(); err != nil {
		return below(times, err)
	}
	return s, t, arrays, nil
}

// missing is the error of a stream that there is not.
func (f *File) missing(name string) error {
	want := "arrays NAME.values [S,D] and NAME.times [S], or records NAME [S] with one clock of " + strings.Join(Clocks(), ", ")
	if all := f.StreamNames(); len(all) > 0 {
		want = strings.Join(all, ", ")
	}
	return &dataset.FormatError{Format: "npz", Path: f.path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "stream", Got: fmt.Sprintf("%q", name), Want: want}
}
