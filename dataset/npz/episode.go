package npz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// EpisodeOptions are the settings of Episode.
type EpisodeOptions struct {
	// BF16 reads uint16 values as bf16 bit patterns.
	BF16 bool
	// Streams are the streams to read; nil reads all, and Episode.Notes lists the arrays that are left out. If a named stream does
	// not exist, the error is ErrNotFound, and if it cannot be read, it is an error too.
	Streams []string
	// Strict makes broken arrays and arrays that contradict each other an error, also in other streams. Values that no stream can
	// hold, such as images and texts, are still left out with a note.
	Strict bool
}

// Episode reads the streams in an archive. A stream NAME is the arrays NAME.values and NAME.times [S], and optionally NAME.columns
// [D] with the column names. Without names, or with names that are not strings, columns are named by their indices. Values are
// [S,D], [S] for one column, or records [S] with their own column names; see npy.ReadTable. Times are read by npy.ReadTimes.
//
// If values have no times, their clock is the single array [S] in the archive that has a name in [Clocks]. An array NAME of records
// with one clock field, also named in [Clocks], is a stream too, unless NAME.values exists. If there is a mask NAME.valid [S], bool
// or uint8, as in resampled files, the samples with 0 are left out, and a remark counts them.
//
// A stream that cannot be used loses only itself, and Episode.Notes has the reason. Notes also lists fields that are not numbers,
// as "NAME.field". Episode also returns the names of all arrays that it used or that Notes mentions. If arrays that must form a
// stream do not, the error is a *StreamError. Errors from the underlying reader are returned unchanged.
func (f *File) Episode(opt EpisodeOptions) (*dataset.Episode, []string, error) {
	return f.archive().Episode(opt)
}

// Episode reads the streams in an archive; see [File.Episode].
func (f *Archive) Episode(opt EpisodeOptions) (*dataset.Episode, []string, error) {
	all := len(opt.Streams) == 0
	var list []candidate
	var err error
	if all {
		list, err = f.candidates()
	} else {
		list, err = f.named(opt.Streams)
	}
	if err != nil {
		return nil, nil, err
	}
	e := &dataset.Episode{}
	var used []string
	for _, s := range list {
		used = append(used, f.arrays(s)...)
		if s.why.Code != "" {
			e.Notes.Add(s.why)
			continue
		}
		stream, notes, lost, err := f.stream(s, opt.BF16)
		var bad *StreamError
		switch {
		case err == nil:
			e.Streams = append(e.Streams, stream)
			e.Notes.Join(notes)
			if lost > 0 {
				e.Notes.Add(dataset.Note{Code: dataset.CodeRowsNotValid, Subject: stream.Name, Count: lost})
			}
		case all && errors.As(err, &bad) && (bad.foreign || !opt.Strict):
			e.Notes.Add(ArrayNote(s.name, bad))
			if broken, ok := dataset.AsBroken(bad); ok {
				e.Notes.AddDamage(dataset.CodeArrayBroken, f.Stored(bad.Array), broken)
			}
		default:
			return nil, nil, err
		}
	}
	return e, used, nil
}

// arrays returns the names of the arrays of a stream.
func (f *Archive) arrays(s candidate) []string {
	list := []string{s.values}
	if s.times != "" && s.times != s.values {
		list = append(list, s.times)
	}
	if columns := s.name + ".columns"; s.clock == "" && columns != s.values && f.Has(columns) {
		list = append(list, columns)
	}
	if valid := s.name + ".valid"; s.clock == "" && f.Has(valid) {
		list = append(list, valid)
	}
	return list
}

// mask reads an array that marks the valid samples of a stream, bool or uint8 [S]. An invalid mask gets a note.
func (f *Archive) mask(name string) (flags []uint8, why dataset.Note, err error) {
	not := func(d dataset.Detail) ([]uint8, dataset.Note, error) {
		return nil, dataset.Note{Code: dataset.CodeMask, Subject: name, Detail: d}, nil
	}
	h, err := f.Header(name)
	if errors.Is(err, dataset.ErrUnsupported) {
		return not(dataset.Detail{Cause: dataset.Bare(err)})
	}
	if err != nil {
		return nil, why, err
	}
	if kind := h.Type(); h.IsRecords() || len(h.Shape) != 1 || kind != "bool" && kind != "uint8" {
		return not(dataset.Detail{Got: h.String()})
	}
	t, err := f.Table(name, npy.TableOptions{})
	if err != nil {
		return nil, why, err
	}
	list, err := tensor.Data[float32](t.Values)
	if err != nil {
		return nil, why, err
	}
	flags = make([]uint8, len(list))
	for i, v := range list {
		if v > 1 {
			return not(dataset.Detail{Got: fmt.Sprintf("%g at %d", v, i)})
		}
		flags[i] = uint8(v)
	}
	return flags, why, nil
}

// StreamError reports an array that cannot be part of a stream.
type StreamError struct {
	Format        string // the archive format: "npz"
	Stream, Array string
	Got, Want     string
	Err           error // the cause: dataset.ErrUnsupported if the array fits no stream, dataset.ErrShape if lengths differ

	foreign bool // the array is of a type that no stream has
}

func (e *StreamError) Error() string {
	if e.Got == "" {
		return e.Format + ": array " + e.Array + ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s: array %s: got %s, want %s", e.Format, e.Array, e.Got, e.Want)
}

// Unwrap returns the cause or the kind.
func (e *StreamError) Unwrap() error { return e.Err }

// stream reads a stream. It also returns notes about parts that are left out, and the number of samples that are not valid.
func (f *Archive) stream(from candidate, bf16 bool) (s dataset.Stream, notes dataset.Notes, lost int, err error) {
	s.Name = from.name
	// below is an error of reading an array, unless the reader below failed.
	below := func(array string, foreign bool, err error) (dataset.Stream, dataset.Notes, int, error) {
		var bad *dataset.FormatError
		if !errors.As(err, &bad) {
			return s, nil, 0, err
		}
		return s, nil, 0, &StreamError{Format: f.Format, Stream: s.Name, Array: array, Err: err, foreign: foreign}
	}
	fail := func(kind error, array, got, want string) (dataset.Stream, dataset.Notes, int, error) {
		return s, nil, 0, &StreamError{Format: f.Format, Stream: s.Name, Array: array, Got: got, Want: want, Err: kind, foreign: kind == dataset.ErrUnsupported}
	}
	head, err := f.Header(from.values)
	if err != nil {
		return below(from.values, errors.Is(err, dataset.ErrUnsupported), err)
	}
	if rank := len(head.Shape); rank != 1 && (rank != 2 || head.IsRecords()) {
		return fail(dataset.ErrUnsupported, from.values, head.String(), "[S,D], [S] or records [S]")
	}
	t, err := f.Table(from.values, npy.TableOptions{BF16: bf16, Clock: from.clock})
	if err != nil {
		return below(from.values, !head.IsRecords() && errors.Is(err, dataset.ErrUnsupported), err)
	}
	s.Values, s.Columns, s.Inexact, s.Integers, s.Times = t.Values, t.Columns, t.Inexact, t.Integers, t.Times
	if from.clock == "" {
		if s.Times, err = f.Times(from.times); err != nil {
			return below(from.times, false, err)
		}
	}
	switch n := s.Values.Dim(0); {
	case len(s.Columns) == 0:
		return fail(dataset.ErrUnsupported, from.values, head.String(), "at least one feature")
	case !slices.Equal(s.Times.Shape(), []int{n}):
		return fail(dataset.ErrShape, from.times, s.Times.String(), fmt.Sprintf("[%d], one timestamp a sample", n))
	}
	for _, n := range t.Notes {
		n.Subject = s.Name + "." + n.Subject
		notes.Add(n)
	}
	if named := s.Name + ".columns"; !head.IsRecords() && f.Has(named) {
		list, err := f.Strings(named)
		var bad *dataset.FormatError
		switch {
		case errors.Is(err, dataset.ErrUnsupported) && errors.As(err, &bad): // names cost no numbers
			notes.Add(dataset.Note{Code: dataset.CodeColumnNames, Subject: named, Detail: dataset.Detail{Got: bad.Got}})
		case err != nil:
			return below(named, false, err)
		case len(list) != len(s.Columns):
			return fail(dataset.ErrShape, named, fmt.Sprintf("%d names", len(list)), fmt.Sprintf("%d, one a feature", len(s.Columns)))
		default:
			for i := range s.Columns {
				s.Columns[i].Name = list[i]
			}
		}
	}
	if err := s.Check(); err != nil {
		return s, nil, 0, &StreamError{Format: f.Format, Stream: s.Name, Array: from.times, Err: err}
	}
	if name := s.Name + ".valid"; from.clock == "" && f.Has(name) {
		flags, why, err := f.mask(name)
		switch {
		case err != nil:
			return below(name, false, err)
		case why.Code != "":
			notes.Add(why)
		case len(flags) != s.Len():
			return fail(dataset.ErrShape, name, fmt.Sprintf("[%d]", len(flags)), fmt.Sprintf("[%d], one flag a sample", s.Len()))
		default:
			if lost, err = s.OnlyValid(flags); err != nil {
				return s, nil, 0, err
			}
		}
	}
	return s, notes, lost, nil
}

func init() {
	dataset.Register(dataset.Format{
		Name: "npz", Extensions: []string{".npz"},
		Match: func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
		},
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return dataset.Single("npz", path, func(context.Context) (*dataset.Episode, error) { return ReadFile(path, opt) }), nil
		},
	})
}

// ReadFile reads the streams in an archive; see [File.Episode]. The episode gets the file's name, and arrays task and success with
// one text each, such as "pick up the bottle" and "true", become its attributes.
func ReadFile(path string, opt dataset.Options) (*dataset.Episode, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, _, err := f.Episode(EpisodeOptions{Strict: opt.Strict})
	if err != nil {
		return nil, err
	}
	e.Name, e.Attributes.Source = dataset.BaseName(path), path
	for _, name := range []string{"task", "success"} {
		h, err := f.Header(name)
		if err != nil || !h.IsString() || h.Len() != 1 {
			continue // of another program, to which it means something else
		}
		list, err := f.Strings(name)
		var bad *dataset.FormatError
		switch {
		case errors.As(err, &bad) && !opt.Strict:
			e.Notes.AddDamage(dataset.CodeArrayBroken, f.Stored(name), bad)
		case err != nil:
			return nil, err
		default:
			e.Attributes.Say(name, list[0])
		}
	}
	return e, nil
}
