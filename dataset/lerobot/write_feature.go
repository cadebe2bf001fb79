package lerobot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// writeFeature is a column of the dataset that is being written.
type writeFeature struct {
	name  string
	dtype string // LeRobot's: "float32", "image"
	shape []int  // of one row: [26]; of images [height, width, channels]
	names []string

	codec  string // of a video
	pixels string // the format of its pixels, where it is known
	films  *films // its files

	total  *summary.Exact   // of numbers
	levels []summary.Levels // of images, for each channel
	frames int              // that they are of
	pool   pool             // of images and videos
	bare   bool             // there are no quantiles
	copied map[toldVideo]*toldEpisodes
}

// The dtypes that are written.
const (
	dtypeFloat32 = "float32"
	dtypeFloat64 = "float64"
	dtypeInt64   = "int64"
	dtypeBool    = "bool"
	dtypeString  = "string" // of tables beside the rows
	dtypeImage   = "image"
	dtypeVideo   = "video"
)

// standard are the columns that every dataset has, in the order of LeRobot.
var standard = []string{"timestamp", "frame_index", "episode_index", "index", "task_index"}

// reserved are the names that LeRobot uses for columns or adds to a row itself.
var reserved = append([]string{"task", "language_persistent", "language_events"}, standard...)

// maxName is how long a name may be, bytes: a video's is that of a folder.
const maxName = 200

// standardFeatures returns the features that every dataset has.
func standardFeatures() []*writeFeature {
	list := make([]*writeFeature, len(standard))
	for i, name := range standard {
		list[i] = &writeFeature{name: name, dtype: dtypeInt64, shape: []int{1}}
	}
	list[0].dtype = dtypeFloat32
	return list
}

// column returns the feature as a column of a Parquet file: of one value a row it is a scalar.
func (f *writeFeature) column() parquet.Field {
	c := parquet.Field{Name: f.name, Type: f.dtype}
	if f.dtype != dtypeImage && f.shape[0] != 1 {
		c.Shape = f.shape
	}
	return c
}

// visual reports whether it is of images, whose statistics are of channels.
func (f *writeFeature) visual() bool { return f.dtype == dtypeImage || f.dtype == dtypeVideo }

// same returns a *WriteError unless another episode's feature is this one.
func (f *writeFeature) same(o *writeFeature) *WriteError {
	switch {
	case f.dtype != o.dtype:
		how := ""
		switch floats := []string{dtypeFloat32, dtypeFloat64}; {
		case slices.Contains(floats, f.dtype) && slices.Contains(floats, o.dtype):
			how = ": a plan with dtype: f32 gives all the same"
		case slices.Contains([]string{f.dtype, o.dtype}, dtypeVideo) && slices.Contains([]string{f.dtype, o.dtype}, dtypeImage):
			how = ": images can be encoded as video"
		}
		return &WriteError{Kind: dataset.ErrDType, Got: o.dtype, Want: f.dtype + ", as in the first episode" + how}
	case !slices.Equal(f.shape, o.shape):
		return &WriteError{Kind: dataset.ErrShape, Got: tensor.FormatShape(o.shape), Want: tensor.FormatShape(f.shape) + ", as in the first episode"}
	case !slices.Equal(f.names, o.names):
		return &WriteError{
			Kind: dataset.ErrShape, Got: fmt.Sprintf("columns %q", o.names), Want: fmt.Sprintf("%q, as in the first episode", f.names),
		}
	}
	return nil
}

// featureName returns the name that a stream has in the dataset. LeRobot refuses names with a slash and puts a dot where other formats have one.
func (w *Writer) featureName(stream string, names map[string]string) (string, *WriteError) {
	name, ok := names[stream]
	if !ok {
		name, ok = w.opt.Names[stream]
	}
	if !ok {
		name = strings.ReplaceAll(stream, "/", ".")
	}
	bad := func(kind error, got, want string) (string, *WriteError) {
		return name, &WriteError{Kind: kind, Got: got, Want: want + ": it can be written under another name"}
	}
	switch {
	case name == "":
		return bad(dataset.ErrOption, "an empty name", "a name")
	case name == "task_index":
		return bad(dataset.ErrOption, "numbers of tasks", "the texts that they stand for, or another name")
	case slices.Contains(reserved, name):
		return bad(dataset.ErrOption, "a name that LeRobot uses itself", "another")
	case strings.Contains(name, "/"):
		return bad(dataset.ErrOption, strconv.Quote(name), "a name without /, which LeRobot refuses")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) || name == "." || name == "..":
		return bad(dataset.ErrOption, strconv.Quote(name), "a name of printed characters in UTF-8")
	case strings.Contains(name, `\`) || len(name) > maxName:
		return bad(dataset.ErrOption, strconv.Quote(name), fmt.Sprintf("a name of at most %d bytes without \\, which can be a folder's", maxName))
	}
	return name, nil
}

// newWriteFeature returns the feature that a stream of numbers is.
func newWriteFeature(name string, s *dataset.Stream) (*writeFeature, *WriteError) {
	f := &writeFeature{name: name, dtype: dtypeFloat32, shape: []int{len(s.Columns)}}
	truth := true
	for i, c := range s.Columns {
		f.names = append(f.names, c.Name)
		truth = truth && c.Type == "bool"
		if !utf8.ValidString(c.Name) {
			return f, &WriteError{Kind: dataset.ErrOption, Got: fmt.Sprintf("column %d, %q", i, c.Name), Want: "a name in UTF-8"}
		}
	}
	switch {
	case len(s.Columns) == 0:
		return f, &WriteError{Kind: dataset.ErrShape, Got: "no columns", Want: "at least one"}
	case truth:
		f.dtype = dtypeBool
	case s.AllInteger():
		f.dtype = dtypeInt64
	case s.Values.DType() == tensor.F64:
		f.dtype = dtypeFloat64
	}
	if indexed(f.names) {
		f.names = nil
	}
	return f, nil
}

// indexed reports whether names are the columns' indices, which say nothing.
func indexed(names []string) bool {
	for i, n := range names {
		if n != strconv.Itoa(i) {
			return false
		}
	}
	return true
}
