package rosbag2_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// databaseFile writes an SQLite database: its schema first, then rows in the order of their numbers. An inner page of a table, except the first one
// of a level, lies before the pages below it. Indexes stay empty. https://www.sqlite.org/fileformat2.html
type databaseFile struct {
	t      testing.TB
	file   *os.File
	page   int // bytes
	wal    bool
	pages  uint32 // numbered so far
	tables map[string]*tableFile
}

// tableFile is a table while it is written. levels are the leaf, and the inner pages above it, that are being filled.
type tableFile struct {
	in     *databaseFile
	root   uint32
	number int64 // of the last row
	levels []*node
}

// node is a page of a table while it is filled.
type node struct {
	number uint32 // 0 for a leaf, and for the first inner page of a level, until it is full
	cells  [][]byte
	size   int    // of the cells
	child  uint32 // below an inner page, not yet in a cell
	last   int64  // the greatest number of a row below it
}

// createDatabase begins a file that has what some statements create. page is 0 for SQLite's own choice.
func createDatabase(t testing.TB, path string, page int, wal bool, statements ...string) *databaseFile {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	f, err := os.Create(path)
	require.NoError(t, err)
	if page == 0 {
		page = 4096
	}
	d := &databaseFile{t: t, file: f, page: page, wal: wal, pages: 1, tables: map[string]*tableFile{}}
	roots := make([]int, len(statements))
	for i, s := range statements {
		if kind, name, _ := created(s); kind != "view" {
			roots[i] = int(d.allocate())
			d.tables[name] = &tableFile{in: d, root: uint32(roots[i])}
		}
	}
	master := &tableFile{in: d, root: 1}
	for i, s := range statements {
		kind, name, of := created(s)
		master.insert(kind, name, of, roots[i], s)
		if kind == "index" {
			d.write(d.tables[name].root, 10, &node{})
			delete(d.tables, name)
		}
	}
	master.close()
	return d
}

// created returns what a statement creates: a table, a view or the index of a table.
func created(statement string) (kind, name, of string) {
	words := strings.Fields(strings.ReplaceAll(statement, "(", " "))
	if kind, name, of = strings.ToLower(words[1]), words[2], words[2]; kind == "index" {
		of = words[4]
	}
	return kind, name, of
}

func (d *databaseFile) allocate() uint32 {
	d.pages++
	return d.pages
}

// close writes the first pages of tables, and the header.
func (d *databaseFile) close() {
	for _, t := range d.tables {
		t.close()
	}
	head := append([]byte("SQLite format 3\x00"), byte(d.page>>8), byte(d.page>>16), 1, 1, 0, 64, 32, 32)
	if d.wal {
		head[18], head[19] = 2, 2
	}
	d.at(1, 0, appendWords(head, 1, d.pages, 0, 0, 1, 4, 0, 0, 1))      // up to the encoding, UTF-8
	require.NoError(d.t, d.file.Truncate(int64(d.pages)*int64(d.page))) // with the pages that nothing was written to
	d.at(1, 92, []byte{0, 0, 0, 1, 0, 46, 0, 0})                        // for which change the count of pages is right, and a version of SQLite
	require.NoError(d.t, d.file.Close())
}

// at writes to a place of a page.
func (d *databaseFile) at(page uint32, place int, b []byte) {
	_, err := d.file.WriteAt(b, (int64(page)-1)*int64(d.page)+int64(place))
	require.NoError(d.t, err)
}

// write writes a page of a kind.
func (d *databaseFile) write(number uint32, kind byte, n *node) {
	b := make([]byte, d.page)
	head := b
	if number == 1 {
		head = b[100:]
	}
	head[0] = kind
	pointers := head[8:]
	if kind == 5 {
		binary.BigEndian.PutUint32(head[8:], n.child)
		pointers = head[12:]
	}
	end := d.page
	for i, c := range n.cells {
		end -= len(c)
		copy(b[end:], c)
		binary.BigEndian.PutUint16(pointers[2*i:], uint16(end))
	}
	binary.BigEndian.PutUint16(head[3:], uint16(len(n.cells)))
	binary.BigEndian.PutUint16(head[5:], uint16(end)) // 0 is 65536
	d.at(number, 0, b)
}

// insert appends a row.
func (t *tableFile) insert(values ...any) {
	row := rowOf(values)
	t.number++
	usable := t.in.page
	local := len(row)
	if most := usable - 35; local > most {
		least := (usable-12)*32/255 - 23
		if local = least + (len(row)-least)%(usable-4); local > most {
			local = least
		}
	}
	cell := append(appendVarint(appendVarint(nil, uint64(len(row))), uint64(t.number)), row[:local]...)
	if rest := row[local:]; len(rest) > 0 {
		page := t.in.allocate()
		cell = appendWords(cell, page)
		for len(rest) > 0 {
			n := min(len(rest), usable-4)
			b := rest[:n]
			next := uint32(0)
			if rest = rest[n:]; len(rest) > 0 {
				next = t.in.allocate()
			}
			t.in.at(page, 0, slices.Concat(appendWords(nil, next), b, make([]byte, usable-4-n)))
			page = next
		}
	}
	if len(t.levels) == 0 {
		t.levels = []*node{{}}
	}
	leaf := t.levels[0]
	if t.room(8, leaf) < len(cell)+2 {
		t.under(1, t.put(13, leaf), leaf.last)
		*leaf = node{}
	}
	leaf.cells, leaf.size, leaf.last = append(leaf.cells, cell), leaf.size+len(cell), t.number
}

// room returns the bytes that are free in a page, which may become the first one, of the schema shorter by 100.
func (t *tableFile) room(head int, n *node) int {
	if t.root == 1 {
		head += 100
	}
	return t.in.page - head - n.size - 2*len(n.cells)
}

// under puts a page below the inner page of a level.
func (t *tableFile) under(level int, number uint32, last int64) {
	if level == len(t.levels) {
		t.levels = append(t.levels, &node{})
	}
	n := t.levels[level]
	if n.child > 0 {
		cell := appendVarint(appendWords(nil, n.child), uint64(n.last))
		n.cells, n.size = append(n.cells, cell), n.size+len(cell)
	}
	n.child, n.last = number, last
	if t.room(12, n) < 4+9+2 {
		full := t.put(5, n)
		*n = node{number: t.in.allocate()}
		t.under(level+1, full, last)
	}
}

// close writes the pages that are not full. The highest with anything in it is the first of the table.
func (t *tableFile) close() {
	if len(t.levels) == 0 {
		t.levels = []*node{{}}
	}
	for level, n := range t.levels {
		kind := byte(5)
		if level == 0 {
			kind = 13
		}
		if level == len(t.levels)-1 {
			t.in.write(t.root, kind, n)
			return
		}
		if level == 0 || n.child > 0 { // else nothing came after the last that was full
			t.under(level+1, t.put(kind, n), n.last)
		}
	}
}

// put writes a page that is not the first of its table, and returns its number.
func (t *tableFile) put(kind byte, n *node) uint32 {
	if n.number == 0 {
		n.number = t.in.allocate()
	}
	t.in.write(n.number, kind, n)
	return n.number
}

// rowOf returns values as a row has them: numbers in eight bytes, but 0 and 1 in none.
func rowOf(values []any) []byte {
	var kinds, body []byte
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			kinds = append(kinds, 0)
		case int:
			if v == 0 || v == 1 {
				kinds = append(kinds, byte(8+v))
				continue
			}
			kinds, body = append(kinds, 6), binary.BigEndian.AppendUint64(body, uint64(v))
		case string:
			kinds, body = appendVarint(kinds, uint64(13+2*len(v))), append(body, v...)
		case []byte:
			kinds, body = appendVarint(kinds, uint64(12+2*len(v))), append(body, v...)
		}
	}
	size := 1 + len(kinds) // a header of more than 126 bytes has no table here
	return slices.Concat([]byte{byte(size)}, kinds, body)
}

// appendWords appends numbers of four bytes.
func appendWords(b []byte, words ...uint32) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// appendVarint appends a number as SQLite writes it, the high bits first.
func appendVarint(b []byte, v uint64) []byte {
	for shift := 56; shift > 0; shift -= 7 {
		if v>>shift > 0 {
			b = append(b, byte(v>>shift)|0x80)
		}
	}
	return append(b, byte(v&0x7f))
}

// writeAheadLog returns a log that turns each database into the next one, a transaction each.
func writeAheadLog(page int, databases ...[]byte) (log []byte) {
	head := appendWords(nil, 0x377f0683, 3007000, uint32(page), 0, 0x12345678, 0x9abcdef0)
	var a, b uint32
	sum := func(data []byte) {
		for ; len(data) > 0; data = data[8:] {
			a += binary.BigEndian.Uint32(data) + b
			b += binary.BigEndian.Uint32(data[4:]) + a
		}
	}
	sum(head)
	log = appendWords(head, a, b)
	for i, next := range databases[1:] {
		var changed []int
		for at := 0; at < len(next); at += page {
			if before := databases[i]; at >= len(before) || string(before[at:at+page]) != string(next[at:at+page]) {
				changed = append(changed, at)
			}
		}
		for k, at := range changed {
			size := 0
			if k == len(changed)-1 {
				size = len(next) / page
			}
			frame := appendWords(nil, uint32(at/page+1), uint32(size))
			sum(frame)
			sum(next[at : at+page])
			log = slices.Concat(log, appendWords(append(frame, head[16:24]...), a, b), next[at:at+page])
		}
	}
	return log
}
