package table

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// File is an open Parquet file. Its methods may be called from any goroutine.
type File struct {
	path    string
	file    storage.File
	size    int64
	parsed  *parquet.File
	groups  []Group
	rows    int64
	columns []*Column
}

// Group is a row group: rows that are stored together.
type Group struct {
	First, Rows int64 // the number of its first row in the file, and how many it has
}

// Open opens a file and reads its footer, which describes it. A file that a recorder did not finish has none: it is dataset.ErrTruncated.
func Open(path string) (f *File, err error) {
	file, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f = &File{path: path, file: file}
	defer func() {
		if err != nil {
			file.Close()
			f = nil
		}
	}()
	defer f.guard("footer", &err)
	if !storage.IsRegular(file) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("is not a file")}
	}
	f.size = file.Size()
	if err := f.check(); err != nil {
		return nil, err
	}
	f.parsed, err = parquet.OpenFile(file, f.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(16<<10))
	if err != nil {
		return nil, f.bad(dataset.ErrCorrupt, f.size-8, "footer", "", "", err)
	}
	return f, f.describe()
}

// check reads the footer and looks whether what it declares can be.
func (f *File) check() error {
	var tail [8]byte
	if f.size < 12 {
		return f.bad(dataset.ErrTruncated, f.size, "file", fmt.Sprintf("%d bytes", f.size), "12 or more", nil)
	}
	if _, err := f.file.ReadAt(tail[:4], 0); err != nil {
		return err
	}
	if string(tail[:4]) == "vers" { // version https://git-lfs...
		return f.bad(dataset.ErrCorrupt, 0, "beginning", fmt.Sprintf("%q", tail[:4]),
			`"PAR1": a pointer of Git LFS stands for the file, which was not fetched`, nil)
	}
	if string(tail[:4]) != "PAR1" {
		return f.bad(dataset.ErrCorrupt, 0, "beginning", fmt.Sprintf("%q", tail[:4]), `"PAR1"`, nil)
	}
	if _, err := f.file.ReadAt(tail[:], f.size-8); err != nil {
		return err
	}
	if string(tail[4:]) == "PARE" {
		return f.bad(dataset.ErrUnsupported, f.size-4, "footer", "an encrypted file", "one that is not", nil)
	}
	if string(tail[4:]) != "PAR1" {
		return f.bad(dataset.ErrTruncated, f.size-4, "end", fmt.Sprintf("%q", tail[4:]),
			`"PAR1": the file has no footer, as one that was not finished`, nil)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > f.size-12 {
		return f.bad(dataset.ErrTooLarge, f.size-8, "footer's length", fmt.Sprint(n), fmt.Sprintf("at most %d", f.size-12), nil)
	}
	footer := make([]byte, n)
	if _, err := f.file.ReadAt(footer, f.size-8-n); err != nil {
		return err
	}
	if err := checkFooter(footer); err != nil {
		return f.bad(dataset.ErrCorrupt, f.size-8-n, "footer", "", "", err)
	}
	return nil
}

// describe lists the row groups and the columns.
func (f *File) describe() error {
	meta := f.parsed.Metadata()
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > math.MaxInt32 || f.rows > 1<<40 {
			return f.bad(dataset.ErrTooLarge, -1, fmt.Sprintf("row group %d", i), fmt.Sprintf("%d rows", g.NumRows),
				"0 to 2147483647, and 2^40 in all", nil)
		}
		f.groups = append(f.groups, Group{f.rows, g.NumRows})
		f.rows += g.NumRows
	}
	for _, c := range f.parsed.Root().Columns() {
		f.columns = append(f.columns, newColumn(f, c))
	}
	return nil
}

// guard turns a panic of the library into an error, should it have one on a broken file.
func (f *File) guard(what string, err *error) {
	if p := recover(); p != nil {
		*err = f.bad(dataset.ErrCorrupt, -1, what, fmt.Sprint("what the decoder does not expect: ", p), "", nil)
	}
}

func (f *File) bad(kind error, at int64, msg, got, want string, err error) *dataset.FormatError {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &dataset.FormatError{Format: "lerobot", Path: f.path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want, Err: err}
}

// Path returns the file's path.
func (f *File) Path() string { return f.path }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.rows }

// Size returns how many bytes the file has.
func (f *File) Size() int64 { return f.size }

// Groups returns the row groups, in the order of their rows.
func (f *File) Groups() []Group { return f.groups }

// Columns returns the fields of the rows, in file order.
func (f *File) Columns() []*Column { return f.columns }

// Column returns the field of that name, or nil.
func (f *File) Column(name string) *Column {
	for _, c := range f.columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Lookup returns a value of the file's own metadata.
func (f *File) Lookup(key string) (string, bool) { return f.parsed.Lookup(key) }

// Close closes the file. Close twice is fine.
func (f *File) Close() error {
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// Kind says what a column holds.
type Kind int

const (
	Other   Kind = iota // what is not read: structures, times of 96 bits
	Numbers             // numbers or truth values, or lists of them
	Texts               // texts or bytes, or lists of them
	Images              // structures of bytes and a path
)

// Column is a field of the rows.
type Column struct {
	Name string
	Kind Kind
	// Type is the type of its values by numpy's name: "float32", "int64", "bool", "string"; "image"; of another kind what it is in words.
	Type string
	Rank int // how deep its lists are nested; 0 where a row has one value

	file  *File
	leaf  *leaf // of numbers and texts
	bytes *leaf // of images
	paths *leaf
}

// Integer reports whether the values are whole numbers or truth values.
func (c *Column) Integer() bool {
	return c.Kind == Numbers && (c.Type == "bool" || isWhole(c.Type))
}

// newColumn finds out what a field is. A structure with one member counts as that member.
func newColumn(f *File, field *parquet.Column) *Column {
	c := &Column{Name: field.Name(), Type: "a structure", file: f}
	below := field
	for !below.Leaf() && len(below.Columns()) == 1 {
		below = below.Columns()[0]
	}
	if !below.Leaf() {
		b, p := field.Column("bytes"), field.Column("path")
		if len(field.Columns()) == 2 && b != nil && p != nil && isBytes(b) && isBytes(p) && b.MaxRepetitionLevel()+p.MaxRepetitionLevel() == 0 {
			c.Kind, c.Type, c.bytes, c.paths = Images, "image", newLeaf(f, b), newLeaf(f, p)
		}
		return c
	}
	c.Rank = below.MaxRepetitionLevel()
	c.Type = typeOf(below)
	switch {
	case c.Type == "string":
		c.Kind = Texts
	case c.Type[0] != '_':
		c.Kind = Numbers
	default:
		c.Type = c.Type[1:]
		return c
	}
	c.leaf = newLeaf(f, below)
	if c.Kind == Texts && c.Rank == 0 {
		c.bytes = c.leaf // they may be images
	}
	return c
}

func isBytes(c *parquet.Column) bool { return c.Leaf() && c.Type().Kind() == parquet.ByteArray }

// typeOf returns numpy's name of a leaf's type, or what it is in words after a "_" where that is not read.
func typeOf(c *parquet.Column) string {
	logical := c.Type().LogicalType()
	var integer *format.IntType
	if logical != nil {
		integer, _ = logical.Value.(*format.IntType)
	}
	switch c.Type().Kind() {
	case parquet.Boolean:
		return "bool"
	case parquet.Float:
		return "float32"
	case parquet.Double:
		return "float64"
	case parquet.ByteArray:
		return "string"
	case parquet.Int32, parquet.Int64:
		width := 32
		if c.Type().Kind() == parquet.Int64 {
			width = 64
		}
		if integer != nil {
			if w := int(integer.BitWidth); w == 8 || w == 16 || w == width {
				width = w
			}
			if !integer.IsSigned {
				return fmt.Sprint("uint", width)
			}
		}
		return fmt.Sprint("int", width)
	case parquet.FixedLenByteArray:
		if logical != nil && c.Type().Length() == 2 {
			if _, half := logical.Value.(*format.Float16Type); half {
				return "float16"
			}
		}
	}
	return "_values of " + c.Type().String()
}

// Bounds returns the least and the greatest value of a column of single numbers in a row group, as the file's statistics say, and false if they do
// not.
func (c *Column) Bounds(group int) (low, high float64, ok bool) {
	if c.Kind != Numbers || c.Rank > 0 {
		return 0, 0, false
	}
	meta := c.leaf.chunk(group)
	if meta == nil {
		return 0, 0, false
	}
	st := &meta.Statistics
	a, b := st.MinValue, st.MaxValue
	if a == nil && b == nil {
		a, b = st.Min, st.Max // as they were called at first; the order of signed numbers is the same
	}
	low, okLow := c.number(a)
	high, okHigh := c.number(b)
	return low, high, okLow && okHigh && low <= high && st.NullCount == 0
}

// number decodes a value of the statistics.
func (c *Column) number(b []byte) (float64, bool) {
	switch {
	case c.Type == "float32" && len(b) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case c.Type == "float64" && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case c.Type[0] == 'i' && len(b) == 4:
		return float64(int32(binary.LittleEndian.Uint32(b))), true
	case c.Type[0] == 'i' && len(b) == 8:
		return float64(int64(binary.LittleEndian.Uint64(b))), true
	}
	return 0, false
}
