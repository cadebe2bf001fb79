package npz

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// Clocks returns the names that mark a clock without a stream's name: for a field in records, or for one array that is the clock of
// several streams.
func Clocks() []string { return []string{"timestamp", "timestamps", "time", "times", "t", "stamp"} }

// clockOf returns the field that is the clock of records, or a note about its absence.
func clockOf(h *npy.Header) (clock string, why dataset.Note) {
	known := Clocks()
	var names []string
	field := 0
	for i := range h.Fields {
		if slices.Contains(known, h.Fields[i].Name) {
			names, field = append(names, h.Fields[i].Name), i
		}
	}
	why = dataset.Note{Code: dataset.CodeClockField, Detail: dataset.Detail{Got: h.String(), Names: names}}
	switch {
	case len(names) == 0:
		why.Want = strings.Join(known, ", ")
		return "", why
	case len(names) > 1:
		return "", why
	case !h.Fields[field].IsClock():
		why.Names = []string{names[0] + " of " + h.Fields[field].Type()}
		return "", why
	case len(h.Shape) != 1:
		return "", dataset.Note{Code: dataset.CodeValueShape, Detail: dataset.Detail{Got: h.String(), Want: "records [S]"}}
	}
	return names[0], dataset.Note{}
}

// candidate is the source of a stream, or of an array that only looks like one.
type candidate struct {
	name          string
	values, times string       // the arrays; of records with a clock both are these
	clock         string       // the field of records that is their clock
	why           dataset.Note // this is none, if it has a code; its subject is the array to blame
}

// Archive is a file with named arrays, in any format, as a source of streams. Package safetensors uses it too.
type Archive struct {
	Format, Path string // for error messages; Path is empty if there is none
	Arrays
}

// Arrays reads an archive's arrays by name. Errors from the underlying reader are returned unchanged; any other error is a
// *dataset.FormatError.
type Arrays interface {
	Names() []string                                             // in file order, each once
	Has(name string) bool                                        // also true for string lists that Names does not contain
	Header(name string) (npy.Header, error)                      // without reading the data
	Times(name string) (*tensor.Tensor, error)                   // like npy.ReadTimes
	Strings(name string) ([]string, error)                       // like npy.ReadStrings
	Stored(name string) int64                                    // the stored size of an array in bytes
	Table(name string, opt npy.TableOptions) (*npy.Table, error) // like npy.ReadTable
}

// archive is f as a source of streams.
func (f *File) archive() *Archive { return &Archive{Format: "npz", Path: f.path, Arrays: f} }

// candidates lists the streams, and arrays that almost form one, in file order. Its only error is from the underlying reader.
func (f *Archive) candidates() ([]candidate, error) {
	var list []candidate
	shared, err := f.sharedClock()
	if err != nil {
		return nil, err
	}
	for _, array := range f.Names() {
		s := candidate{values: array, times: array}
		base, part := array, ""
		if i := strings.LastIndexByte(array, '.'); i >= 0 {
			base, part = array[:i], array[i+1:]
		}
		var h npy.Header
		paired := part == "values" && f.Has(base+".times") || (part == "times" || part == "columns") && f.Has(base+".values")
		if !paired { // otherwise the header is read with the data
			if h, s.why, err = f.head(array); err != nil {
				return nil, err
			}
		}
		bad := s.why.Code != ""
		switch {
		case part == "values":
			if s.name, s.times = base, base+".times"; !f.Has(s.times) && bad {
				s.times = ""
			} else if !f.Has(s.times) {
				s.times, s.why = shared.of(&h, s.times)
			}
		case part == "times" || part == "columns":
			if f.Has(base + ".values") {
				continue
			}
			if s.name = base; !bad {
				s.why = dataset.Note{Code: dataset.CodeArrayMissing, Detail: dataset.Detail{Got: h.String(), Names: []string{base + ".values"}}}
			}
		default:
			if !h.IsRecords() || f.Has(array+".values") {
				continue
			}
			s.name = array
			s.clock, s.why = clockOf(&h)
		}
		if s.why.Code == "" && (s.name == "" || !utf8.ValidString(s.name) || strings.Contains(s.name, "\x00")) {
			s.why = dataset.Note{Code: dataset.CodeStreamName, Detail: dataset.Detail{Got: strconv.Quote(s.name)}}
		}
		s.why.Subject = s.values
		list = append(list, s)
	}
	return list, nil
}

// head returns an array's header, or a note about an error in it. Its only error is from the underlying reader.
func (f *Archive) head(array string) (h npy.Header, wrong dataset.Note, err error) {
	h, err = f.Header(array)
	var bad *dataset.FormatError
	if errors.As(err, &bad) {
		return h, ArrayNote(array, bad), nil
	}
	return h, wrong, err
}

// ArrayNote returns the note about an array that cannot be a stream because of err.
func ArrayNote(name string, err error) dataset.Note {
	n := dataset.Note{Code: dataset.CodeInvalidStream, Subject: name, Detail: dataset.Detail{Cause: dataset.Bare(err)}}
	_, broken := dataset.AsBroken(err)
	switch {
	case broken:
		n.Code = dataset.CodeBroken
	case errors.Is(err, dataset.ErrUnsupported):
		n.Code = dataset.CodeUnsupported
	case errors.Is(err, dataset.ErrShape):
		n.Code = dataset.CodeArrayMismatch
	}
	return n
}

// sharedClock is the array that is the clock of values that have none of their own.
type sharedClock struct {
	names  []string // of the arrays [S] that can be it: there must be one
	length int
}

func (f *Archive) sharedClock() (c sharedClock, err error) {
	for _, name := range Clocks() {
		if !f.Has(name) {
			continue
		}
		h, wrong, err := f.head(name)
		if err != nil {
			return c, err
		}
		if wrong.Code == "" && h.IsClock() && len(h.Shape) == 1 {
			c.names, c.length = append(c.names, name), h.Len()
		}
	}
	return c, nil
}

// of returns the clock if its length fits an array of values, else a note. own is the name that the values' own clock would have.
func (c *sharedClock) of(values *npy.Header, own string) (clock string, why dataset.Note) {
	why = dataset.Note{Code: dataset.CodeArrayMissing, Detail: dataset.Detail{Got: values.String(), Names: []string{own}}}
	switch {
	case len(c.names) == 0:
		return "", why
	case len(c.names) > 1:
		why.Want = strings.Join(c.names, " and ")
		return "", why
	case len(values.Shape) == 0 || values.Shape[0] != c.length:
		why.Code, why.Want, why.Of = dataset.CodeClockMismatch, c.names[0], c.length
		return "", why
	}
	return c.names[0], dataset.Note{}
}

// StreamNames returns the names of the streams, in file order: NAME for arrays NAME.values and NAME.times, for NAME.values with as
// many samples as the archive's one array in [Clocks] has timestamps, and for records NAME with a clock field.
func (f *File) StreamNames() []string { return f.archive().StreamNames() }

// StreamNames returns the names of the streams, in file order; see [File.StreamNames].
func (f *Archive) StreamNames() []string {
	var names []string
	all, _ := f.candidates() // after an error there are none, and Episode returns it
	for _, s := range all {
		if s.why.Code == "" {
			names = append(names, s.name)
		}
	}
	return names
}

// named returns the streams of these names.
func (f *Archive) named(names []string) ([]candidate, error) {
	all, err := f.candidates()
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(all))
	for i, s := range all {
		if k, seen := at[s.name]; !seen || all[k].why.Code != "" {
			at[s.name] = i
		}
	}
	list := make([]candidate, 0, len(names))
	for _, name := range names {
		i, ok := at[name]
		if !ok {
			return nil, f.missing(name, all)
		}
		if s := all[i]; s.why.Code != "" {
			return nil, &StreamError{Format: f.Format, Stream: name, Array: s.values, Err: &dataset.NoteError{Note: s.why, Kind: dataset.ErrUnsupported}}
		}
		list = append(list, all[i])
	}
	return list, nil
}

// missing returns the error for a stream that does not exist.
func (f *Archive) missing(name string, all []candidate) error {
	want := "arrays NAME.values [S,D] and NAME.times [S], or records NAME [S] with one clock of " + strings.Join(Clocks(), ", ")
	var names []string
	for _, s := range all {
		if s.why.Code == "" {
			names = append(names, s.name)
		}
	}
	if len(names) > 0 {
		want = text.List(names, mostNames)
	}
	return &dataset.FormatError{Format: f.Format, Path: f.Path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "stream", Got: fmt.Sprintf("%q", name), Want: want}
}

// mostNames is how many names an error has before it counts the others.
const mostNames = 40
