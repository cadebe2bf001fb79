package write

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// feature is a feature in an episode: a column in its rows, or a video.
type feature struct {
	name  string
	dtype string // LeRobot's type: "float32", "image"
	shape []int  // for one row: [26]; for images [height, width, channels]
	names []string

	codec  string // for a video
	pixels string // its pixel format, if known
	bare   bool   // whether its statistics lack quantiles, because they were copied from a dataset without quantiles
	depth  string // a copied depth map's info
	// unmeasured is set if there are no statistics, because a copied video's or TIFF's pixels have more than 8 bits.
	unmeasured bool
}

// The dtypes that can be written.
const (
	dtypeFloat32 = "float32"
	dtypeFloat64 = "float64"
	dtypeInt64   = "int64"
	dtypeBool    = "bool"
	dtypeString  = "string" // without statistics
	dtypeImage   = "image"
	dtypeVideo   = "video"
)

// standardFeatures returns the features in every dataset.
func standardFeatures() []*feature {
	list := make([]*feature, len(layout.Standard))
	for i, name := range layout.Standard {
		list[i] = &feature{name: name, dtype: dtypeInt64, shape: []int{1}}
	}
	list[0].dtype = dtypeFloat32
	return list
}

// column returns the feature as a Parquet column. With one value per row it is a scalar.
func (f *feature) column() parquet.Field {
	c := parquet.Field{Name: f.name, Type: f.dtype}
	if f.dtype != dtypeImage && f.shape[0] != 1 {
		c.Shape = f.shape
	}
	return c
}

// visual reports whether the feature is images or a video, with statistics per channel.
func (f *feature) visual() bool { return f.dtype == dtypeImage || f.dtype == dtypeVideo }

// same returns an *Error if another episode's feature differs in dtype, shape or names, else nil.
func (f *feature) same(o *feature) *Error {
	switch {
	case f.dtype != o.dtype:
		how := ""
		switch floats := []string{dtypeFloat32, dtypeFloat64}; {
		case slices.Contains(floats, f.dtype) && slices.Contains(floats, o.dtype):
			how = ": a plan with dtype: f32 gives all the same"
		case slices.Contains([]string{f.dtype, o.dtype}, dtypeVideo) && slices.Contains([]string{f.dtype, o.dtype}, dtypeImage):
			how = ": images can be encoded as video"
		}
		return &Error{Kind: dataset.ErrDType, Got: o.dtype, Want: f.dtype + ", as in the first episode" + how}
	case o.unmeasured && !f.unmeasured:
		return &Error{Kind: dataset.ErrDType, Got: "pixels of more than 8 bits", Want: "8, as in the first episode"}
	case !slices.Equal(f.shape, o.shape):
		return &Error{Kind: dataset.ErrShape, Got: tensor.FormatShape(o.shape), Want: tensor.FormatShape(f.shape) + ", as in the first episode"}
	case !slices.Equal(f.names, o.names):
		return &Error{
			Kind: dataset.ErrShape, Got: fmt.Sprintf("columns %q", o.names), Want: fmt.Sprintf("%q, as in the first episode", f.names),
		}
	}
	return nil
}

// newFeature returns the feature for a stream of numbers, or an *Error if LeRobot cannot hold the stream.
func newFeature(name string, s *dataset.Stream) (*feature, *Error) {
	f := &feature{name: name, dtype: dtypeFloat32, shape: []int{len(s.Columns)}}
	truth := true
	for i, c := range s.Columns {
		f.names = append(f.names, c.Name)
		truth = truth && c.Type == "bool"
		if !utf8.ValidString(c.Name) {
			return f, &Error{Kind: dataset.ErrOption, Got: fmt.Sprintf("column %d, %q", i, c.Name), Want: "a name in UTF-8"}
		}
	}
	switch {
	case len(s.Columns) == 0:
		return f, &Error{Kind: dataset.ErrShape, Got: "no columns", Want: "at least one"}
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

// indexed reports whether the names are just column indices.
func indexed(names []string) bool {
	for i, n := range names {
		if n != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// videoInfo returns a video's "info" entry in info.json.
func (f *feature) videoInfo(opt *Options) orderjson.Object {
	depth := "is_depth_map"
	if opt.Version == layout.Version21 {
		depth = "video.is_depth_map"
	}
	info := orderjson.Of("video.height", f.shape[0], "video.width", f.shape[1], "video.codec", f.codec)
	if f.pixels != "" {
		info.Add("video.pix_fmt", f.pixels)
	}
	info.Add("video.fps", jsonNumber(opt.FPS), "video.channels", f.shape[2], depth, f.depth != "", "has_audio", false)
	others, _ := orderjson.Members([]byte(f.depth)) // none if it is empty
	for _, m := range others {
		if !info.Has(m.Name) {
			info.Add(m.Name, m.Value)
		}
	}
	return info
}

// jsonNumber is a number formatted without an exponent, like LeRobot's integer fps.
type jsonNumber float64

// MarshalJSON writes the number.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'f', -1, 64), nil
}

// statsJSON returns statistics as LeRobot's JSON has them. An image's are [channels,1,1].
func (f *feature) statsJSON(columns []summary.Column, count int) orderjson.Object {
	all := orderjson.Object{}
	for _, name := range f.statNames() {
		if name == "count" {
			all.Add(name, []int{count})
			continue
		}
		list := make([]any, len(columns))
		for i := range columns {
			x := orderjson.Float(*layout.Stat(&columns[i], name))
			if list[i] = x; f.visual() {
				list[i] = [][]orderjson.Float{{x}}
			}
		}
		all.Add(name, list)
	}
	return all
}

// statNames returns the names of the feature's statistics. A bare feature has no quantiles. Texts and unmeasured features have no
// statistics.
func (f *feature) statNames() []string {
	switch {
	case f.dtype == dtypeString || f.unmeasured:
		return nil
	case f.bare:
		return layout.StatNames[:len(layout.StatNames)-len(summary.QuantileNames)]
	}
	return layout.StatNames
}
