package zarr

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// array is an array in a dataset.
type array struct {
	Array             // Shape is the whole array's
	path     string   // below the dataset: "data/action"
	version  int      // zarr's: 2 or 3
	chunks   []int    // a chunk's dimensions
	grid     []int    // chunks along each dimension
	order    []int    // a chunk's dimensions from the slowest to the fastest
	item     int      // an element's size
	bytes    int      // a chunk's size, decoded
	fill     []byte   // the element in missing chunks
	codecs   []string // that encoded a chunk, in their order: at most one compressor, and checksums
	prefix   string   // in a chunk file's name, before its numbers; sep is between them
	sep      string
	number   bool   // the elements are numbers
	typ      string // their name: "float32"
	encoding string // of a camera's frames; empty for a stream
	pixels   bool   // the elements are float32, and pixels in whole numbers
}

// codec is a compressor or filter in version 2, or a codec in version 3.
type codec struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Config struct {
		Endian string          `json:"endian"`
		Order  json.RawMessage `json:"order"`
	} `json:"configuration"`
}

// metadata is .zarray or zarr.json.
type metadata struct {
	Format     int             `json:"zarr_format"`
	Shape      []int           `json:"shape"`
	Fill       json.RawMessage `json:"fill_value"`
	Chunks     []int           `json:"chunks"`
	DType      any             `json:"dtype"`
	Compressor codec           `json:"compressor"`
	Filters    []codec         `json:"filters"`
	Order      string          `json:"order"`
	Separator  string          `json:"dimension_separator"`

	Type any `json:"data_type"`
	Grid struct {
		Name   string `json:"name"`
		Config struct {
			Shape []int `json:"chunk_shape"`
		} `json:"configuration"`
	} `json:"chunk_grid"`
	Key struct {
		Name   string `json:"name"`
		Config struct {
			Separator string `json:"separator"`
		} `json:"configuration"`
	} `json:"chunk_key_encoding"`
	Codecs []codec `json:"codecs"`
}

// types3 has numpy's names for the element types in version 3, without the byte order.
var types3 = map[any]string{"bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2",
	"uint32": "u4", "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8"}

const checksum = "crc32c"

// codecs are the checksum, and the compressors that blosc.Expand reads.
var codecs = []string{"blosc", "zstd", "zlib", "gzip", "lz4", checksum}

// readArray reads an array's description. If there is none, the error is fs.ErrNotExist; if it is broken or unsupported, a
// *dataset.FormatError.
func (f *files) readArray(ctx context.Context, name string) (*array, error) {
	a := &array{Array: Array{Name: path.Base(name)}, path: name}
	var m metadata
	err := f.readJSON(ctx, name+"/"+metadataNames[0], &m)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.readJSON(ctx, name+"/"+metadataNames[1], &m)
	}
	if err != nil {
		return nil, err
	}
	if err := f.readAttributes(ctx, name+"/", &a.Array); dataset.IsSystem(err) {
		return nil, err // other errors mean that nothing is stated
	}
	if err := a.parse(&m); err != nil {
		return nil, dataset.InFile(err, f.where(name))
	}
	return a, nil
}

// unsupported returns an error without a path.
func unsupported(msg string, got any, want string) error {
	return fail(dataset.ErrUnsupported, "", msg, fmt.Sprintf("%.100q", fmt.Sprint(got)), want)
}

// parse checks the description. Its errors have no path.
func (a *array) parse(m *metadata) error {
	a.Shape, a.version = m.Shape, m.Format
	for i := range a.Shape {
		a.order = append(a.order, i)
	}
	err := unsupported("zarr_format", m.Format, "2 or 3")
	switch m.Format {
	case 2:
		err = a.parse2(m)
	case 3:
		err = a.parse3(m)
	}
	if err != nil {
		return err
	}
	bad := len(a.chunks) != len(a.Shape)
	for i := 0; i < len(a.chunks) && !bad; i++ {
		n, size := a.chunks[i], a.Shape[i]
		if bad = n <= 0 || size < 0 || size > math.MaxInt-n; !bad {
			a.grid = append(a.grid, (size+n-1)/n)
		}
	}
	if bad {
		return fail(dataset.ErrCorrupt, "", "shape and chunks", tensor.FormatShape(a.Shape)+" "+tensor.FormatShape(a.chunks),
			"as many, and chunks from 1")
	}
	head, err := npy.HeaderOf(a.DType, -1, a.chunks...)
	if err != nil {
		return err
	}
	a.item, a.typ = head.ItemSize(), head.Type()
	if a.bytes = head.Len() * a.item; head.Len() > math.MaxInt32/max(a.item, 1) {
		return fail(dataset.ErrTooLarge, "", "chunk", head.String(), "less than 2^31 bytes")
	}
	for i, c := range a.codecs {
		if a.codecs[i] = strings.TrimPrefix(c, "numcodecs."); !slices.Contains(codecs, a.codecs[i]) {
			return unsupported("codec", c, strings.Join(codecs, " or "))
		}
	}
	a.fill = make([]byte, a.item)
	if _, a.number = head.DType(); !a.number {
		return nil
	}
	return a.parseFill(strings.Trim(string(m.Fill), `"`))
}

// parse2 takes what version 2 states in its own way.
func (a *array) parse2(m *metadata) error {
	a.chunks, a.sep = m.Chunks, "."
	if m.Separator == "/" {
		a.sep = "/"
	}
	a.DType, _ = m.DType.(string)
	if a.DType == "" {
		return unsupported("dtype", m.DType, "a number")
	}
	for _, c := range append(m.Filters, m.Compressor) {
		if c.ID != "" {
			a.codecs = append(a.codecs, c.ID)
		}
	}
	if m.Order == "F" {
		slices.Reverse(a.order)
	}
	return nil
}

// parse3 takes what version 3 states in its own way.
func (a *array) parse3(m *metadata) error {
	a.chunks, a.sep, a.prefix = m.Grid.Config.Shape, "/", "c/"
	element := types3[m.Type]
	switch {
	case m.Grid.Name != "regular":
		return unsupported("chunk_grid", m.Grid.Name, "regular")
	case element == "":
		return unsupported("data_type", m.Type, "a number")
	case m.Key.Name == "v2":
		a.sep, a.prefix = ".", ""
	case m.Key.Name != "default":
		return unsupported("chunk_key_encoding", m.Key.Name, "default or v2")
	}
	if s := m.Key.Config.Separator; s == "." || s == "/" {
		a.sep, a.prefix = s, strings.ReplaceAll(a.prefix, "/", s)
	}
	for _, c := range m.Codecs {
		switch {
		case a.DType != "":
			a.codecs = append(a.codecs, c.Name)
		case c.Name == "bytes" && c.Config.Endian == "big":
			a.DType = ">" + element
		case c.Name == "bytes":
			a.DType = "<" + element
		case c.Name == "transpose":
			var order []int
			if err := json.Unmarshal(c.Config.Order, &order); err != nil || !slices.Equal(slices.Sorted(slices.Values(order)), a.order) {
				return unsupported("transpose", c.Config.Order, "one, with each dimension once")
			}
			a.order = order
		default:
			return unsupported("codec", c.Name, "transpose, bytes")
		}
	}
	if a.DType == "" {
		return unsupported("codecs", "none called bytes", "bytes")
	}
	return nil
}

// parseFill sets fill from an element's text in JSON.
func (a *array) parseFill(text string) (err error) {
	bits, v := uint64(0), 0.0
	switch kind := a.typ[0]; {
	case text == "" || text == "null" || text == "false":
	case text == "true":
		bits = 1
	case kind == 'f':
		v, err = strconv.ParseFloat(text, 64)
		bits = map[int]uint64{2: uint64(tensor.F16FromF64(v)), 4: uint64(math.Float32bits(float32(v))), 8: math.Float64bits(v)}[a.item]
	case kind == 'u':
		bits, err = strconv.ParseUint(text, 10, 64)
	default:
		var whole int64
		whole, err = strconv.ParseInt(text, 10, 64)
		bits = uint64(whole)
	}
	if err != nil {
		return fail(dataset.ErrCorrupt, "", "fill_value", text[:min(len(text), 100)], a.typ)
	}
	copy(a.fill, binary.LittleEndian.AppendUint64(nil, bits))
	if a.DType[0] == '>' {
		slices.Reverse(a.fill)
	}
	return nil
}
