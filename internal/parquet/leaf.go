package parquet

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/robocache/robocache/dataset"
)

// leaf is a physical column in the file.
type leaf struct {
	file   *handle
	column *parquet.Column
	name   string
	kind   string // type name of the values, as in Column.Type

	mu     sync.Mutex
	chunks map[int]*chunk
	held   keptPage
	dict   groupDictionary
}

// groupDictionary is the last dictionary read.
type groupDictionary struct {
	group int
	d     *dictionary
}

// keptPage is the last page read. It is kept because the next rows are often in it too.
type keptPage struct {
	group, number int
	p             *decodedPage
}

func newLeaf(f *handle, c *parquet.Column) *leaf {
	name := ""
	for i, part := range c.Path() {
		if i > 0 {
			name += "."
		}
		name += part
	}
	return &leaf{file: f, column: c, name: name, kind: typeOf(c), chunks: map[int]*chunk{}}
}

// typeOf returns the numpy name of a leaf's type, or "_" and a description if the type is not supported.
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

// chunk returns the metadata for the leaf's part of a row group, or nil.
func (l *leaf) chunk(group int) *format.ColumnMetaData {
	groups := l.file.parsed.Metadata().RowGroups
	if group < 0 || group >= len(groups) || l.column.Index() < 0 || l.column.Index() >= len(groups[group].Columns) {
		return nil
	}
	return &groups[group].Columns[l.column.Index()].MetaData
}

// nullFree reports whether the file declares that the leaf has no nulls in a row group.
func (l *leaf) nullFree(group int) bool {
	meta := l.chunk(group)
	if meta == nil || meta.Statistics.NullCount != 0 {
		return false
	}
	return group < len(l.file.counts) && l.column.Index() < len(l.file.counts[group]) && l.file.counts[group][l.column.Index()]
}

// chunk is the leaf's part of a row group: an optional dictionary and pages.
type chunk struct {
	meta  *format.ColumnMetaData
	dict  span // size 0 if there is none before the pages
	pages []page
	uses  int // pages up to the last one with dictionary values
	end   int64
	total int64      // values in all pages
	most  int64      // values that may be read at a time
	mu    sync.Mutex // for the pages' rows and begins
}

type span struct{ at, size int64 }

// page locates a page of values, including its header. rows is how many rows begin in it, -1 until it is decoded. begins reports
// whether its first value begins a row.
type page struct {
	span
	rows   int64
	begins bool
}

// bounds returns the location of a row group's bytes.
func (l *leaf) bounds(group int) (*format.ColumnMetaData, span, error) {
	meta := l.chunk(group)
	if meta == nil {
		return nil, span{}, l.file.bad(dataset.ErrCorrupt, -1, "column "+l.name, "none in row group "+fmt.Sprint(group), "one", nil)
	}
	at := meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	size := meta.TotalCompressedSize
	if at < 4 || size < 0 || at > l.file.size-8 || size > l.file.size-8-at {
		return nil, span{}, l.file.bad(dataset.ErrTooLarge, at, "column "+l.name, fmt.Sprintf("%d bytes in row group %d", size, group),
			"what the file has", nil)
	}
	return meta, span{at, size}, nil
}

// maxLoad limits the bytes of a row group that are read together.
const maxLoad = 1 << 20

var loads = sync.Pool{New: func() any { return &chunkBytes{} }}

// chunkBytes reads a part of a file. A short part is read into memory completely on the first access. Bytes outside it are read from
// the file.
type chunkBytes struct {
	file io.ReaderAt
	span
	b      []byte
	inside bool // whether b holds the part
}

func (m *chunkBytes) ReadAt(b []byte, at int64) (int, error) {
	from := at - m.at
	if from < 0 || from > m.size || int64(len(b)) > m.size-from || m.size > maxLoad {
		return m.file.ReadAt(b, at)
	}
	if !m.inside {
		m.b = slices.Grow(m.b[:0], int(m.size))[:m.size]
		if n, err := m.file.ReadAt(m.b, m.at); n < len(m.b) {
			return 0, err
		}
		m.inside = true
	}
	return copy(b, m.b[from:]), nil
}

// load returns a reader for a row group's bytes. The caller returns it to loads.
func (l *leaf) load(group int) (*chunkBytes, error) {
	_, at, err := l.bounds(group)
	if err != nil {
		return nil, err
	}
	m := loads.Get().(*chunkBytes)
	m.file, m.span, m.inside = l.file.file, at, false
	return m, nil
}

// locate returns the page in which a row begins, and the first row that begins in that page, as far as the row counts are known.
func (c *chunk) locate(row int64) (number int, first int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.pages {
		n := c.pages[i].rows
		if n < 0 || first+n > row {
			return i, first
		}
		first += n
	}
	return len(c.pages), first
}

// learn records how many rows begin in a page.
func (c *chunk) learn(i int, rows int64, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages[i].rows, c.pages[i].begins = rows, begins
}

// ends reports whether page i is known to hold no value from an earlier row.
func (c *chunk) ends(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return i >= len(c.pages) || (c.pages[i].rows >= 0 && c.pages[i].begins)
}
