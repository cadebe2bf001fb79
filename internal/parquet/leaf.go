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

// leaf is a column as Parquet stores it.
type leaf struct {
	file   *handle
	column *parquet.Column
	name   string
	kind   string // of its values, as Column.Type

	mu     sync.Mutex
	chunks map[int]*chunk
	held   keptPage
	dict   groupDictionary
}

// groupDictionary is the dictionary that was read last.
type groupDictionary struct {
	group int
	d     *dictionary
}

// keptPage is the page that was read last, for the rows that come next are often in it too.
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

// typeOf returns numpy's name of a leaf's type, or "_" and a description if the type is not read.
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

// chunk returns the metadata of the leaf's part of a row group, or nil.
func (l *leaf) chunk(group int) *format.ColumnMetaData {
	groups := l.file.parsed.Metadata().RowGroups
	if group < 0 || group >= len(groups) || l.column.Index() < 0 || l.column.Index() >= len(groups[group].Columns) {
		return nil
	}
	return &groups[group].Columns[l.column.Index()].MetaData
}

// nullFree reports whether the file states that a row group has no nulls of the leaf.
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
	uses  int // how many pages there are to the last that uses the dictionary
	end   int64
	total int64      // how many values the pages have
	most  int64      // how many of them may be read at a time
	mu    sync.Mutex // of the pages' rows and begins
}

type span struct{ at, size int64 }

// page is where a page of values lies, its header included. Rows is how many begin in it, -1 until it was decoded; begins reports whether
// the first value begins one.
type page struct {
	span
	rows   int64
	begins bool
}

// bounds returns where the bytes of a row group are.
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

// maxLoad is how many bytes of a row group are read at once.
const maxLoad = 1 << 20

var loads = sync.Pool{New: func() any { return &chunkBytes{} }}

// chunkBytes is a part of a file, which is read into memory with the first of its bytes if it is short. Bytes outside it are read from the
// file.
type chunkBytes struct {
	file io.ReaderAt
	span
	b      []byte
	inside bool // b has them
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

// load returns the bytes of a row group. They are to be given back.
func (l *leaf) load(group int) (*chunkBytes, error) {
	_, at, err := l.bounds(group)
	if err != nil {
		return nil, err
	}
	m := loads.Get().(*chunkBytes)
	m.file, m.span, m.inside = l.file.file, at, false
	return m, nil
}

// locate returns the page in which a row begins, and the number of the first row that begins in that page: as far on as is known.
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

// learn notes how many rows begin in a page.
func (c *chunk) learn(i int, rows int64, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages[i].rows, c.pages[i].begins = rows, begins
}

// ends reports whether it is known that no value of an earlier row is in page i.
func (c *chunk) ends(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return i >= len(c.pages) || (c.pages[i].rows >= 0 && c.pages[i].begins)
}
