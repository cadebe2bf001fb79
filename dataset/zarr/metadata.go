package zarr

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// array is an array in a dataset.
type array struct {
	name    string // without its group
	path    string // below the dataset: "data/action"
	version int    // zarr's: 2 or 3
	shape   []int
	chunks  []int      // a chunk's dimensions
	grid    []int      // chunks along each dimension
	order   []int      // a chunk's dimensions from the slowest to the fastest; nil if they are in order
	descr   string     // numpy's name for the element type: "<f4"
	head    npy.Header // for a chunk
	bytes   int        // a chunk's size, decoded
	fill    []byte     // the element in missing chunks; nil if it is zero
	codecs  []string   // that encoded a chunk, in their order: at most one compressor, and checksums
	prefix  string     // in a chunk file's name, before its numbers; sep is between them
	sep     string
	columns []string // column names; nil if none are stated
	unit    string   // for timestamps; empty if none is stated
	maskOf  string   // the array whose rows this one marks as valid; empty if none is stated
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

// attributes are an array's attributes that have a meaning here.
type attributes struct {
	Columns []string `json:"columns"`
	Unit    string   `json:"unit"`
	MaskOf  string   `json:"mask_of"`
}

// metadata is .zarray or zarr.json.
type metadata struct {
	Format     int             `json:"zarr_format"`
	Shape      []int           `json:"shape"`
	Fill       json.RawMessage `json:"fill_value"`
	Chunks     []int           `json:"chunks"`
	DType      json.RawMessage `json:"dtype"`
	Compressor *codec          `json:"compressor"`
	Filters    []codec         `json:"filters"`
	Order      string          `json:"order"`
	Separator  string          `json:"dimension_separator"`

	Node string `json:"node_type"`
	Type any    `json:"data_type"`
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
	Codecs       []codec           `json:"codecs"`
	Attributes   json.RawMessage   `json:"attributes"`
	Transformers []json.RawMessage `json:"storage_transformers"`
}

// types3 has numpy's names for the element types in version 3, without the byte order.
var types3 = map[string]string{"bool": "b1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2",
	"uint32": "u4", "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8"}

// compressors are the codecs that blosc.Expand reads.
var compressors = []string{"blosc", "zstd", "zlib", "gzip", "lz4"}

const checksum = "crc32c"

// readArray reads an array's description. If there is none, the error is fs.ErrNotExist; if it is broken or unsupported, a
// *dataset.FormatError.
func (f *files) readArray(ctx context.Context, path string) (*array, error) {
	a := &array{name: path[strings.LastIndexByte(path, '/')+1:], path: path, version: 2}
	var m metadata
	err := f.readJSON(ctx, path+"/"+metadataNames[0], &m)
	if errors.Is(err, fs.ErrNotExist) {
		a.version = 3
		err = f.readJSON(ctx, path+"/"+metadataNames[1], &m)
	}
	if err != nil {
		return nil, err
	}
	var about attributes
	if a.version == 2 {
		if err := f.readJSON(ctx, path+"/.zattrs", &about); err != nil && dataset.IsSystem(err) {
			return nil, err // other errors mean that nothing is stated
		}
	} else {
		_ = json.Unmarshal(m.Attributes, &about)
	}
	a.columns, a.unit, a.maskOf = about.Columns, about.Unit, about.MaskOf
	if bad := a.parse(&m); bad != nil {
		bad.Path = f.where(path + "/" + metadataNames[a.version-2])
		return nil, bad
	}
	return a, nil
}

// parse checks the description. Its errors have no path.
func (a *array) parse(m *metadata) *dataset.FormatError {
	if m.Format != a.version {
		return fail(dataset.ErrUnsupported, "", "zarr_format", strconv.Itoa(m.Format), strconv.Itoa(a.version))
	}
	a.shape = m.Shape
	bad := a.parse2(m)
	if a.version == 3 {
		bad = a.parse3(m)
	}
	if bad != nil {
		return bad
	}
	if len(a.chunks) != len(a.shape) {
		return fail(dataset.ErrCorrupt, "", "chunks", tensor.FormatShape(a.chunks), "as many as "+tensor.FormatShape(a.shape))
	}
	for i, n := range a.chunks {
		if n <= 0 || a.shape[i] < 0 || a.shape[i] > math.MaxInt-n {
			return fail(dataset.ErrCorrupt, "", "shape and chunks", tensor.FormatShape(a.shape)+", "+tensor.FormatShape(a.chunks), "no negative numbers, and chunks from 1")
		}
		a.grid = append(a.grid, (a.shape[i]+n-1)/n)
	}
	head, err := npy.HeaderOf(a.descr, 0, a.chunks...)
	if err == nil && head.Len() > math.MaxInt32/head.ItemSize() {
		err = fail(dataset.ErrTooLarge, "", "chunk", head.String(), "less than 2^31 bytes")
	}
	if errors.As(err, &bad) {
		bad.Format, bad.Offset = format, -1
		return bad
	}
	a.head, a.bytes = head, head.Len()*head.ItemSize()
	for i, c := range a.codecs {
		if a.codecs[i] = strings.TrimPrefix(c, "numcodecs."); a.codecs[i] == checksum {
			continue
		}
		if !slices.Contains(compressors, a.codecs[i]) || slices.ContainsFunc(a.codecs[:i], func(c string) bool { return c != checksum }) {
			return fail(dataset.ErrUnsupported, "", "codec", strconv.Quote(c), strings.Join(compressors, " or "))
		}
	}
	return a.parseFill(m.Fill)
}

// parse2 takes what version 2 states in its own way.
func (a *array) parse2(m *metadata) *dataset.FormatError {
	if a.version != 2 {
		return nil
	}
	a.chunks, a.sep = m.Chunks, "."
	if m.Separator == "/" {
		a.sep = "/"
	}
	if json.Unmarshal(m.DType, &a.descr) != nil {
		return fail(dataset.ErrUnsupported, "", "dtype", string(m.DType[:min(len(m.DType), 100)]), "a number")
	}
	for _, c := range m.Filters {
		a.codecs = append(a.codecs, c.ID)
	}
	if m.Compressor != nil {
		a.codecs = append(a.codecs, m.Compressor.ID)
	}
	if m.Order == "F" {
		for i := range a.shape {
			a.order = append(a.order, len(a.shape)-1-i)
		}
	}
	return nil
}

// parse3 takes what version 3 states in its own way.
func (a *array) parse3(m *metadata) *dataset.FormatError {
	a.chunks = m.Grid.Config.Shape
	switch {
	case m.Node != "array":
		return fail(dataset.ErrUnsupported, "", "node_type", strconv.Quote(m.Node), "array")
	case m.Grid.Name != "regular" || len(m.Transformers) > 0:
		return fail(dataset.ErrUnsupported, "", "chunk_grid and storage_transformers", fmt.Sprintf("%q, %d", m.Grid.Name, len(m.Transformers)), "regular, none")
	case m.Key.Name == "default":
		a.prefix, a.sep = "c/", "/"
	case m.Key.Name == "v2":
		a.sep = "."
	default:
		return fail(dataset.ErrUnsupported, "", "chunk_key_encoding", strconv.Quote(m.Key.Name), "default or v2")
	}
	if s := m.Key.Config.Separator; s == "." || s == "/" {
		a.sep = s
		a.prefix = strings.ReplaceAll(a.prefix, "/", s)
	}
	name, _ := m.Type.(string)
	element, known := types3[name]
	if !known {
		return fail(dataset.ErrUnsupported, "", "data_type", fmt.Sprintf("%.100q", fmt.Sprint(m.Type)), "a number")
	}
	a.descr = "<" + element
	at := slices.IndexFunc(m.Codecs, func(c codec) bool { return c.Name == "bytes" })
	for i, c := range m.Codecs {
		switch {
		case i == at && c.Config.Endian == "big":
			a.descr = ">" + element
		case i > at && at >= 0:
			a.codecs = append(a.codecs, c.Name)
		case i == at:
		case c.Name != "transpose" || a.order != nil:
			return fail(dataset.ErrUnsupported, "", "codec", strconv.Quote(c.Name), "one transpose, and bytes")
		default:
			err := json.Unmarshal(c.Config.Order, &a.order)
			sorted := slices.Sorted(slices.Values(a.order))
			for k, d := range sorted {
				if d != k {
					err = dataset.ErrCorrupt
				}
			}
			if err != nil || len(sorted) != len(a.shape) {
				return fail(dataset.ErrCorrupt, "", "transpose", string(c.Config.Order[:min(len(c.Config.Order), 100)]), "each dimension once")
			}
		}
	}
	if at < 0 {
		return fail(dataset.ErrUnsupported, "", "codecs", "none called bytes", "bytes")
	}
	return nil
}

// parseFill sets fill from an element's value in JSON.
func (a *array) parseFill(text json.RawMessage) *dataset.FormatError {
	s, size, bits := strings.Trim(string(text), `"`), a.head.ItemSize(), uint64(0)
	if _, number := a.head.DType(); !number || len(s) == 0 || s == "null" || s == "false" {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	switch hex, is := strings.CutPrefix(s, "0x"); {
	case s == "true":
		bits, err = 1, nil
	case is:
		bits, err = strconv.ParseUint(hex, 16, 8*size)
	case strings.HasPrefix(a.head.Type(), "float") && err == nil:
		bits = map[int]uint64{2: uint64(tensor.F16FromF64(v)), 4: uint64(math.Float32bits(float32(v))), 8: math.Float64bits(v)}[size]
	case err == nil && v >= 0x1p63:
		bits, err = strconv.ParseUint(s, 10, 64)
	case err == nil && v == math.Trunc(v):
		bits = uint64(int64(v))
		if whole, exact := strconv.ParseInt(s, 10, 64); exact == nil {
			bits = uint64(whole)
		}
	}
	if err != nil {
		return fail(dataset.ErrCorrupt, "", "fill_value", s[:min(len(s), 100)], a.head.Type())
	}
	if bits != 0 {
		a.fill = binary.LittleEndian.AppendUint64(nil, bits)[:size]
		if a.descr[0] == '>' {
			slices.Reverse(a.fill)
		}
	}
	return nil
}
