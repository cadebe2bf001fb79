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

// The most that a page may have.
const (
	maxPageValues = 1 << 24
	maxPageBytes  = 1 << 28
)

// leaf is a column of values as Parquet stores it.
type leaf struct {
	file   *File
	column *parquet.Column
	name   string
	kind   string // of its values, as Column.Type

	mu     sync.Mutex
	chunks map[int]*chunk
	held   held
	dict   groupDictionary
}

// groupDictionary is the dictionary that was read last.
type groupDictionary struct {
	group int
	d     *dictionary
}

func newLeaf(f *File, c *parquet.Column) *leaf {
	name := ""
	for i, part := range c.Path() {
		if i > 0 {
			name += "."
		}
		name += part
	}
	return &leaf{file: f, column: c, name: name, kind: typeOf(c), chunks: map[int]*chunk{}}
}

// chunk returns what the file says of the leaf's part of a row group, or nil.
func (l *leaf) chunk(group int) *format.ColumnMetaData {
	groups := l.file.parsed.Metadata().RowGroups
	if group < 0 || group >= len(groups) || l.column.Index() < 0 || l.column.Index() >= len(groups[group].Columns) {
		return nil
	}
	return &groups[group].Columns[l.column.Index()].MetaData
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

// page is where a page of values lies, its header included. Rows is how many begin in it, -1 while nobody knows; begins says that the first value
// begins one.
type page struct {
	span
	values int64
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

var loads = sync.Pool{New: func() any { return &loaded{} }}

// loaded is a part of a file, which is read into memory with the first of its bytes if it is short. What is outside it is read from the file.
type loaded struct {
	file io.ReaderAt
	span
	b      []byte
	inside bool // b has them
}

func (m *loaded) ReadAt(b []byte, at int64) (int, error) {
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
func (l *leaf) load(group int) (*loaded, error) {
	_, at, err := l.bounds(group)
	if err != nil {
		return nil, err
	}
	m := loads.Get().(*loaded)
	m.file, m.span, m.inside = l.file.file, at, false
	return m, nil
}

// pagesOf walks over the headers of the pages of a row group and checks what they declare.
func (l *leaf) pagesOf(group int, from io.ReaderAt) (*chunk, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.chunks[group]; c != nil {
		return c, nil
	}
	meta, bytes, err := l.bounds(group)
	if err != nil {
		return nil, err
	}
	at := bytes.at
	c := &chunk{meta: meta, end: at + bytes.size, most: max(1<<24, 64*bytes.size)}
	switch meta.Codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
	default:
		return nil, l.file.bad(dataset.ErrUnsupported, at, "column "+l.name, "compression "+meta.Codec.String(), "none, snappy, gzip or zstd", nil)
	}
	for at < c.end {
		h, err := l.head(from, at, c.end)
		if err != nil {
			return nil, err
		}
		size := int64(h.size) + h.compressed
		switch {
		case h.compressed < 0 || size > c.end-at:
			return nil, l.file.bad(dataset.ErrTruncated, at, "page of "+l.name, fmt.Sprintf("%d bytes", h.compressed), fmt.Sprintf("at most %d",
				c.end-at-int64(h.size)), nil)
		case h.uncompressed < 0 || h.uncompressed > maxPageBytes || h.values < 0 || h.values > maxPageValues || h.nulls < 0 || h.nulls > h.values:
			return nil, l.file.bad(dataset.ErrTooLarge, at, "page of "+l.name, fmt.Sprintf("%d values in %d bytes, %d null", h.values,
				h.uncompressed, h.nulls),
				fmt.Sprintf("at most %d in %d", maxPageValues, maxPageBytes), nil)
		case h.kind == 2 && len(c.pages) == 0 && c.dict.size == 0:
			c.dict = span{at, size}
		case (h.kind == 0 || h.kind == 3) && !l.knows(h):
			codes := fmt.Sprintf("encodings %v, %v and %v", format.Encoding(h.encoding), format.Encoding(h.defCode), format.Encoding(h.repCode))
			return nil, l.file.bad(dataset.ErrUnsupported, at, "page of "+l.name, codes,
				"PLAIN, RLE_DICTIONARY, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY or BYTE_STREAM_SPLIT, and RLE for levels", nil)
		case h.kind == 0 || h.kind == 3:
			p := page{span: span{at, size}, values: h.values, rows: -1}
			if l.column.MaxRepetitionLevel() == 0 {
				p.rows, p.begins = h.values, true
			}
			c.pages = append(c.pages, p)
			c.total += h.values
			if h.encoding == plainDictionary || h.encoding == indexValues {
				c.uses = len(c.pages)
			}
		case h.kind != 1:
			return nil, l.file.bad(dataset.ErrCorrupt, at, "page of "+l.name, fmt.Sprintf("kind %d", h.kind),
				"values, or one dictionary before them", nil)
		}
		at += size
	}
	if c.total != meta.NumValues {
		return nil, l.file.bad(dataset.ErrCorrupt, c.end, "column "+l.name, fmt.Sprintf("%d values in the pages of row group %d", c.total, group),
			fmt.Sprint(meta.NumValues), nil)
	}
	l.chunks[group] = c
	return c, nil
}

// knows reports whether a page is encoded in a way that is read.
func (l *leaf) knows(h pageHead) bool {
	if h.kind == 0 && (l.column.MaxDefinitionLevel() > 0 && h.defCode != runs || l.column.MaxRepetitionLevel() > 0 && h.repCode != runs) {
		return false
	}
	switch h.encoding {
	case plainValues, plainDictionary, indexValues:
		return true
	}
	switch l.kind {
	case "bool":
		return h.encoding == runs
	case "string":
		return h.encoding == textsByLength
	}
	return h.encoding == splitBytes || h.encoding == differences && isWhole(l.kind)
}

// head reads a page's header. Most have less than 512 bytes; statistics of texts can make them longer.
func (l *leaf) head(from io.ReaderAt, at, end int64) (pageHead, error) {
	for _, n := range []int64{512, 1 << 20} {
		b := make([]byte, min(n, end-at))
		if _, err := from.ReadAt(b, at); err != nil && err != io.EOF {
			return pageHead{}, err
		}
		h, err := parsePageHead(b)
		if err == nil {
			return h, nil
		}
		if int64(len(b)) == end-at || n > 512 {
			return h, l.file.bad(dataset.ErrCorrupt, at, "page header of "+l.name, "", "", err)
		}
	}
	return pageHead{}, nil // not reached
}

// decode calls use for each of the pages from number first on, until it returns false. The page's memory is lent. The last page is held if it is to
// be kept.
func (l *leaf) decode(group int, m *loaded, c *chunk, first int, keep bool, use func(i int, p *prepared) (bool, error)) (err error) {
	defer l.file.guard("column "+l.name, &err)
	var dict *dictionary
	if first < c.uses { // writers give up on a dictionary that gets large, and the pages behind do without
		if dict, err = l.dictionaryOf(m, group, c); err != nil {
			return err
		}
	}
	for i := first; i < len(c.pages); i++ {
		p, err := l.prepare(m, c, c.pages[i].span, dict)
		if err != nil {
			return err
		}
		more, err := use(i, p)
		if keep && !more && err == nil {
			l.hold(group, i, p)
		} else {
			p.release()
		}
		if !more || err != nil {
			return err
		}
	}
	return nil
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
