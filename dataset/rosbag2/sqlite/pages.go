package sqlite

import (
	"encoding/binary"
	"io"
	"slices"
)

// mostAhead is the maximum number of pages to read at once if pages are read in order.
const mostAhead = 32

// pages reads pages, and the ones after a page if pages are read in order. It is for one goroutine.
type pages struct {
	image *image
	first uint32 // number of the first page in memory
	next  uint32 // number of the page after the last one in memory
	ahead int
	buf   []byte
}

// page returns a page, numbered from 1, valid until the next call; nil if it does not exist.
func (p *pages) page(n uint32) ([]byte, error) {
	size := int(p.image.page)
	if n == 0 || int64(n) > p.image.size/p.image.page {
		return nil, nil
	}
	if n < p.first || n >= p.next {
		// A table's pages lie among those of its index, so that a few are passed over.
		if n >= p.next && n < p.next+4 && p.next > 0 {
			p.ahead = min(2*p.ahead, mostAhead)
		} else {
			p.ahead = 1
		}
		count := int(min(int64(p.ahead), p.image.size/p.image.page-int64(n)+1))
		p.buf = slices.Grow(p.buf[:0], count*size)[:count*size]
		p.first, p.next = 0, 0
		if got, err := p.image.ReadAt(p.buf, (int64(n)-1)*int64(size)); got < len(p.buf) {
			if err == io.EOF {
				return nil, nil // the log declares a longer database than there is
			}
			return nil, err
		}
		p.first, p.next = n, n+uint32(count)
	}
	at := int(n-p.first) * size
	return p.buf[at : at+size], nil
}

// varint reads a number with 1 to 9 bytes, and returns it with its length in bytes; 0 if b ends before the number.
func varint(b []byte) (v int64, n int) {
	var u uint64
	for i, c := range b[:min(len(b), 9)] {
		if i == 8 {
			return int64(u<<8 | uint64(c)), 9
		}
		u = u<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return int64(u), i + 1
		}
	}
	return 0, 0
}

// record reads a table row, column by column, in SQLite's encoding.
type record struct {
	header, body []byte
}

// recordOf returns the reader for a row's bytes; ok is false if the row's header is invalid.
func recordOf(payload []byte) (r record, ok bool) {
	size, n := varint(payload)
	if n == 0 || size < int64(n) || size > int64(len(payload)) {
		return record{}, false
	}
	return record{payload[n:size], payload[size:]}, true
}

// The kinds of values.
const (
	null = iota
	integer
	real
	blob
	text
	unknown // the result of an expression
)

// value is a column of a row.
type value struct {
	kind   int
	number int64  // the value of an integer
	data   []byte // as it is stored
}

// column returns the next column's value; ok is false after the last column, or if the row ends inside the value.
func (r *record) column() (v value, ok bool) {
	serial, n := varint(r.header)
	if n == 0 || serial < 0 {
		return value{}, false
	}
	size := int64(0)
	switch {
	case serial == 0:
	case serial == 8 || serial == 9:
		v.kind, v.number = integer, serial-8
	case serial <= 4:
		v.kind, size = integer, serial
	case serial == 5 || serial == 6:
		v.kind, size = integer, 2*serial-4
	case serial == 7:
		v.kind, size = real, 8
	case serial < 12:
		return value{}, false
	default:
		v.kind, size = blob+int(serial&1), (serial-12)/2
	}
	if size > int64(len(r.body)) {
		return value{}, false
	}
	v.data, r.header, r.body = r.body[:size], r.header[n:], r.body[size:]
	if v.kind == integer && size > 0 {
		var word [8]byte
		if v.data[0] >= 0x80 {
			word = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
		}
		copy(word[8-size:], v.data)
		v.number = int64(binary.BigEndian.Uint64(word[:]))
	}
	return v, true
}

// valuesOf reads some columns in the row with a number. wrong describes an error, or is empty.
func valuesOf(number int64, row []byte, columns []column, values []value) (wrong string) {
	r, ok := recordOf(row)
	if !ok {
		return "a row with a header longer than itself"
	}
	last := -1
	for k := range columns {
		last = max(last, columns[k].at)
	}
	read := 0
	for ; read <= last && len(r.header) > 0; read++ {
		v, ok := r.column()
		if !ok {
			return "a row that ends before its columns do"
		}
		for k := range columns {
			if columns[k].at == read {
				values[k] = v
			}
		}
	}
	for k := range columns {
		switch c := &columns[k]; {
		case c.at < 0 || c.at >= read:
			values[k] = c.missing
		case c.rowid && values[k].kind == null:
			values[k] = value{kind: integer, number: number}
		}
	}
	return ""
}
