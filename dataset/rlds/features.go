package rlds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// maxColumns limits the columns in all features of a dataset together.
const maxColumns = 1 << 20

// maxRank limits a value's dimensions, as in numpy.
const maxRank = 64

// kind is the form that a feature is read as.
type kind int

const (
	numbers kind = iota
	texts
	images
)

// leaf is a feature with values.
type leaf struct {
	key             string // key in tf.Example: "steps/observation/state"
	class           string // last part of its Python class: "Tensor"
	kind            kind
	why             dataset.Code // why it is not read; empty if it is
	got, want, unit string       // details for the note about that

	depth    int    // enclosing sequences, including the steps
	inner    int    // length of the sequence inside the steps; -1 if open
	shape    []int  // a value's shape, with at most one open dimension (-1); for an image height, width, channels (0 if open)
	format   string // for an image, if features.json has it
	dtype    string
	scalar   records.Scalar // the dtype's scalar; F32 for bfloat16
	encoding string         // "bytes", "zlib" or ""
	optional bool
	classes  number // for a class label, the class count; 0 if features.json lacks it

	columns []dataset.Column // nil if a dimension is open
	slots   slots
}

// slots holds the slot numbers for a leaf's parts in a record: flat and lengths for a leaf in several sequences, shape and value for an
// encoded one.
type slots struct {
	own, flat, shape, value int
	lengths                 []int
}

// numbered assigns slot numbers to the leaves, and returns them by feature name. Leaves that may read the same feature share a slot.
func numbered(leaves []*leaf) map[string]int {
	all := map[string]int{}
	for _, l := range leaves {
		slot := func(suffix string) int {
			i, ok := all[l.key+suffix]
			if !ok {
				i = len(all)
				all[l.key+suffix] = i
			}
			return i
		}
		l.slots.own = slot("")
		if l.depth > 1 {
			l.slots.flat = slot("/ragged_flat_values")
		}
		if l.why != "" {
			l.slots.shape, l.slots.value = slot("/shape"), slot("/value")
		}
		for i := range min(l.depth, maxRank) - 1 {
			l.slots.lengths = append(l.slots.lengths, slot(fmt.Sprint("/ragged_row_lengths_", i)))
		}
	}
	return all
}

// perStep reports whether the feature has values in each step, instead of once per episode.
func (l *leaf) perStep() bool { return l.key == "steps" || strings.HasPrefix(l.key, "steps/") }

// name returns the stream's name.
func (l *leaf) name() string { return strings.TrimPrefix(l.key, "steps/") }

// ragged reports whether the value count differs between steps.
func (l *leaf) ragged() bool { return l.depth == 2 && l.inner < 0 }

// row returns the shape of a step's value, or of a single value in a ragged feature.
func (l *leaf) row() []int {
	if l.depth == 2 && l.inner >= 0 {
		return append([]int{l.inner}, l.shape...)
	}
	return l.shape
}

// last returns the last part of the key.
func (l *leaf) last() string { return l.key[strings.LastIndexByte(l.key, '/')+1:] }

// scalars maps numeric dtypes to scalars.
var scalars = map[string]records.Scalar{
	"bool": records.Bool, "int8": records.I8, "uint8": records.U8, "int16": records.I16, "uint16": records.U16, "int32": records.I32, "uint32": records.U32,
	"int64": records.I64, "uint64": records.U64, "float16": records.F16, "bfloat16": records.F32, "float32": records.F32, "float64": records.F64,
}

// readFeatures reads features.json and returns its leaves, sorted by key.
func readFeatures(path string) ([]*leaf, error) {
	var root featureJSON
	if err := readJSON(path, &root); err != nil {
		return nil, err
	}
	t := &tree{path: path, columns: maxColumns, seen: map[string]bool{}}
	if err := t.add(&root, "", 0, -1); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(t.leaves, func(l *leaf) bool { return l.perStep() && l.depth > 0 }) {
		return nil, formatError(dataset.ErrUnsupported, path, -1, "features", "no sequence that is called steps", "a dataset with RLDS episodes")
	}
	slices.SortFunc(t.leaves, func(a, b *leaf) int { return strings.Compare(a.key, b.key) })
	return t.leaves, nil
}

// tree collects the leaves in features.json.
type tree struct {
	path    string
	leaves  []*leaf
	seen    map[string]bool
	columns int // columns that may still be added
}

// add walks a feature inside depth sequences. length is the innermost sequence's length.
func (t *tree) add(f *featureJSON, key string, depth int, length number) error {
	bad := func(got, want string) error {
		return formatError(dataset.ErrCorrupt, t.path, -1, "feature "+quote(key), got, want)
	}
	if f == nil {
		return bad("null", "a feature")
	}
	class := cmp.Or(f.Class, f.Type)
	class = class[strings.LastIndexByte(class, '.')+1:]
	if class == "" {
		return bad("no pythonClassName", "one")
	}
	if err := f.modern(class); err != nil {
		return bad(err.Error(), "the content of "+class)
	}
	switch class {
	case "FeaturesDict":
		if f.Dict == nil {
			return bad("no featuresDict", "one")
		}
		for _, name := range slices.Sorted(maps.Keys(f.Dict.Features)) {
			below := name
			if key != "" {
				below = key + "/" + name
			}
			if err := t.add(f.Dict.Features[name], below, depth, length); err != nil {
				return err
			}
		}
		return nil
	case "Dataset", "Sequence":
		if f.Sequence == nil {
			return bad("no sequence", "one")
		}
		length := number(-1)
		if f.Sequence.Length != nil {
			length = max(*f.Sequence.Length, -1)
		}
		return t.add(f.Sequence.Feature, key, depth+1, length)
	}
	l := &leaf{key: key, class: class, depth: depth, inner: int(min(length, maxColumns+1)), dtype: "string"}
	if t.seen[key] {
		return bad("a second one", "each once")
	}
	t.seen[key] = true
	t.leaves = append(t.leaves, l)
	if err := t.fill(l, f); err != nil {
		return err
	}
	switch {
	case !l.perStep() && l.depth > 0:
		l.why = dataset.CodeOutsideSteps
	case l.perStep() && l.depth == 0:
		l.why = dataset.CodeOutsideSteps
	case l.depth > 2, l.depth == 2 && l.kind == texts:
		l.why = dataset.CodeNestedSequence
	case l.kind == numbers && l.why == "":
		t.width(l)
	}
	return nil
}

// modern converts a feature from the format before 2022 to the current field names.
func (f *featureJSON) modern(class string) error {
	if f.Class != "" || f.Content == nil {
		return nil
	}
	var into any
	tensor := &tensorJSON{}
	switch class {
	case "FeaturesDict":
		f.Dict = &struct{ Features map[string]*featureJSON }{}
		into = &f.Dict.Features
	case "Dataset", "Sequence":
		f.Sequence = &sequenceJSON{}
		into = f.Sequence
	case "Tensor", "Scalar":
		f.Tensor, into = tensor, tensor
	case "BBox", "BBoxFeature":
		f.BoundingBox, into = tensor, tensor
	case "Audio":
		f.Audio, into = tensor, tensor
	case "Image", "Video":
		f.Image, f.Video, into = tensor, tensor, tensor
	default:
		return nil
	}
	return json.Unmarshal(f.Content, into)
}

// fill sets a leaf's kind and shape.
func (t *tree) fill(l *leaf, f *featureJSON) error {
	var spec *tensorJSON
	switch l.class {
	case "Tensor", "Scalar":
		spec = f.Tensor
	case "BBox", "BBoxFeature":
		if spec = f.BoundingBox; spec == nil || spec.DType == "" {
			spec = &tensorJSON{Shape: shapeJSON{4}, DType: "float32"}
		}
	case "Audio":
		if spec = f.Audio; spec != nil && spec.DType == "" {
			spec.DType = "int64"
		}
	case "ClassLabel":
		spec = &tensorJSON{DType: "int64"}
		if f.ClassLabel != nil && f.ClassLabel.NumClasses != nil {
			l.classes = *f.ClassLabel.NumClasses
		}
	case "Text":
		l.kind = texts
		return nil
	case "Image":
		l.kind = images
		if f.Image != nil {
			l.image(f.Image)
		}
		return nil
	case "Video":
		l.kind, l.depth, l.inner = images, l.depth+1, -1
		if f.Video != nil && len(f.Video.Shape) > 0 {
			l.inner = int(min(max(f.Video.Shape[0], -1), maxColumns+1))
			f.Video.Shape = f.Video.Shape[1:]
			l.image(f.Video)
		}
		return nil
	default:
		l.why, l.got = dataset.CodeFeatureClass, l.class
		return nil
	}
	if spec == nil {
		return formatError(dataset.ErrCorrupt, t.path, -1, "feature "+quote(l.key), "no content", "that of "+l.class)
	}
	return t.numbers(l, spec)
}

// image sets an image's size.
func (l *leaf) image(spec *tensorJSON) {
	l.dtype, l.format = spec.DType, strings.ToLower(spec.EncodingFormat+spec.OldFormat)
	for _, d := range spec.Shape {
		l.shape = append(l.shape, int(min(max(d, 0), 1<<30)))
	}
}

// numbers sets the type for a leaf with numbers or strings.
func (t *tree) numbers(l *leaf, spec *tensorJSON) error {
	l.dtype, l.optional = spec.DType, spec.Optional
	for _, d := range spec.Shape {
		if d < -1 {
			return formatError(dataset.ErrCorrupt, t.path, -1, "shape of feature "+quote(l.key), fmt.Sprint(d), "lengths, or -1")
		}
		l.shape = append(l.shape, int(min(d, maxColumns+1)))
	}
	if l.encoding = strings.ToLower(spec.Encoding); l.encoding == "none" {
		l.encoding = ""
	}
	var known bool
	l.scalar, known = scalars[spec.DType]
	switch text := slices.Contains([]string{"string", "object", "str", "bytes"}, spec.DType); {
	case text:
		if l.kind = texts; len(l.shape) > 0 {
			l.why = dataset.CodeTextLists
		}
	case !known:
		l.why, l.got = dataset.CodeValueType, quote(spec.DType)
	case l.encoding != "" && l.encoding != "bytes" && l.encoding != "zlib":
		l.why, l.got = dataset.CodeValueEncoding, quote(spec.Encoding)
	}
	return nil
}

// width checks how many columns a leaf has, and names them.
func (t *tree) width(l *leaf) {
	width, open := 1, 0
	for _, d := range l.row() {
		if d < 0 {
			open++
			continue
		}
		width = min(width*d, maxColumns+1)
	}
	switch {
	case open > 1:
		l.why = dataset.CodeOpenShape
	case len(l.row()) > maxRank:
		l.why, l.want, l.unit = dataset.CodeTooWide, strconv.Itoa(maxRank), "dimensions"
	case width == 0:
		l.why = dataset.CodeNoValues
	case width > t.columns:
		l.why, l.want, l.unit = dataset.CodeTooWide, strconv.Itoa(maxColumns), "columns of all features"
	case open == 0 && l.perStep():
		t.columns -= width
		l.columns = l.columnsOf(l.row())
	}
}

// columnsOf names the columns in a shape by their indices, such as "0", "1", or "0.1" for a matrix. A box's columns are named by their
// meaning.
func (l *leaf) columnsOf(shape []int) []dataset.Column {
	names := []string{""}
	for _, d := range shape {
		var next []string
		for _, n := range names {
			for i := range d {
				next = append(next, strings.TrimPrefix(fmt.Sprintf("%s.%d", n, i), "."))
			}
		}
		names = next
	}
	switch {
	case strings.HasPrefix(l.class, "BBox") && len(names) == 4:
		names = []string{"ymin", "xmin", "ymax", "xmax"}
	case len(shape) == 0:
		names = []string{"0"}
	}
	list := make([]dataset.Column, len(names))
	for i, n := range names {
		list[i] = dataset.Column{Name: n, Type: l.dtype, Integer: l.scalar.IsInteger()}
	}
	return list
}

// shapeText formats a shape for errors: "[7]", "[?,3]".
func shapeText(shape []int) string {
	list := make([]string, len(shape))
	for i, d := range shape {
		if list[i] = fmt.Sprint(d); d < 0 {
			list[i] = "?"
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}
