package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// mostDeep limits the depth of a tree of pages, in pages. A file with 2^32 pages needs less.
const mostDeep = 20

// table is the tree of pages with a table's rows. An inner page lists its child pages, with the greatest row number below each except the
// last. A leaf page has rows.
// https://www.sqlite.org/fileformat2.html#b_tree_pages
type table struct {
	name  string
	image *image
	path  string
	root  uint32
}

// walk visits a table's rows from one number to another inclusive, in ascending order, or descending if backward is set.
type walk struct {
	*table
	*rooms
	ctx      context.Context
	from, to int64
	use      func(number int64, row []byte) error // called for each row; row is valid until use returns
	damage   *dataset.Notes
	backward bool // the last row first

	pages  pages
	seen   int64 // pages in the tree and in long rows; at most as many as the file has
	number int64 // number of the last visited row
	any    bool
}

// rooms has reusable memory for pages and rows.
type rooms struct {
	inner            [mostDeep][]byte
	leaf, row, pages []byte
}

var idle = sync.Pool{New: func() any { return new(rooms) }}

// rows calls use for the rows with numbers from from to to. A broken page loses everything below it. It is counted as damage if its
// first possible number is in the range, so that only one of several walks counts it.
func (t *table) rows(ctx context.Context, from, to int64, damage *dataset.Notes, use func(number int64, row []byte) error) error {
	r := idle.Get().(*rooms)
	w := &walk{table: t, rooms: r, ctx: ctx, from: from, to: to, use: use, damage: damage, pages: pages{image: t.image, buf: r.pages}}
	err := w.below(t.root, 0, math.MinInt64, math.MaxInt64)
	r.pages = w.pages.buf
	idle.Put(r)
	return err
}

// lost counts a page that cannot be read as damage. first and last are the range of numbers that its rows may have.
func (w *walk) lost(page uint32, first, last int64, got string) {
	if w.damage == nil || first < w.from || first > w.to {
		return
	}
	code, which := dataset.CodeRecordBroken, "table "+w.name
	if w.name == "messages" {
		code, which = dataset.CodePageUnreadable, w.name
	}
	if first > math.MinInt64 {
		which += " from " + strconv.FormatInt(first, 10)
	}
	if last < math.MaxInt64 {
		which += " to " + strconv.FormatInt(last, 10)
	}
	at := (int64(page) - 1) * w.image.page
	kind := dataset.ErrCorrupt
	if at >= w.image.size {
		kind = dataset.ErrTruncated
	}
	w.damage.AddDamage(code, 0, &dataset.FormatError{Format: "rosbag2", Path: w.path, Offset: max(at, 0), Kind: kind, Msg: which, Got: got})
}

// below visits a page and all pages below it, at depth deep. Their rows may have the numbers first to last. A broken page is counted as
// damage, and is no error.
func (w *walk) below(number uint32, deep int, first, last int64) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	page, err := w.pages.page(number)
	if err != nil {
		return err
	}
	w.seen++
	switch {
	case page == nil:
		w.lost(number, first, last, "no page "+strconv.FormatUint(uint64(number), 10))
		return nil
	case deep == mostDeep || w.seen > w.image.size/w.image.page:
		w.lost(number, first, last, "a tree of pages that leads back")
		return nil
	}
	head := 0
	if number == 1 {
		head = headerSize
	}
	kind, count := page[head], int(binary.BigEndian.Uint16(page[head+3:]))
	size := map[byte]int{5: 12, 13: 8}[kind]
	if size == 0 || head+size+2*count > w.image.usable {
		w.lost(number, first, last, fmt.Sprintf("page %d of kind %d with %d cells", number, kind, count))
		return nil
	}
	if kind == 13 {
		w.leaf = append(w.leaf[:0], page...)
		return w.cells(number, w.leaf, head+size, count, first, last)
	}
	inner := append(w.inner[deep][:0], page...)
	w.inner[deep] = inner
	for i := range count + 1 {
		if w.backward {
			i = count - i
		}
		child, greatest, low := binary.BigEndian.Uint32(inner[head+8:]), last, first
		ok := true
		if i < count {
			child, greatest, ok = w.key(inner, head+size, i)
		}
		if i > 0 {
			_, before, good := w.key(inner, head+size, i-1)
			if good && before < math.MaxInt64 {
				low = before + 1
			}
		}
		switch {
		case !ok:
			w.lost(number, low, greatest, fmt.Sprintf("page %d, with cell %d outside it", number, i))
			continue
		case greatest < w.from || low > w.to:
			continue
		}
		if err := w.below(child, deep+1, low, greatest); err != nil {
			return err
		}
	}
	return nil
}

// key returns the child page of cell i (an entry in an inner page), and the greatest row number below it; ok is false if the cell is
// broken.
func (w *walk) key(page []byte, pointers, i int) (child uint32, greatest int64, ok bool) {
	at := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
	if at+4 > w.image.usable {
		return 0, math.MaxInt64, false
	}
	greatest, n := varint(page[at+4 : w.image.usable])
	return binary.BigEndian.Uint32(page[at:]), greatest, n > 0
}

// cells calls use for the rows on a leaf page that are in the walk's range.
func (w *walk) cells(number uint32, page []byte, pointers, count int, first, last int64) error {
	broken := ""
	for i := range count {
		if w.backward {
			i = count - 1 - i
		}
		at := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
		cell := page[min(at, w.image.usable):w.image.usable]
		size, n := varint(cell)
		row, k := varint(cell[n:])
		if n == 0 || k == 0 || size < 0 || size > w.image.size {
			broken = fmt.Sprintf("page %d, with cell %d that is no row", number, i)
			continue
		}
		if row < w.from || row > w.to {
			continue
		}
		if w.any && row <= w.number && !w.backward {
			broken = fmt.Sprintf("page %d, with row %d behind row %d", number, row, w.number)
			continue
		}
		data, err := w.payload(cell[n+k:], size)
		if err != nil {
			return err
		}
		if data == nil {
			broken = fmt.Sprintf("page %d, with row %d that does not end", number, row)
			continue
		}
		w.number, w.any = row, true
		if err := w.use(row, data); err != nil {
			return err
		}
	}
	if broken != "" {
		w.lost(number, first, last, broken)
	}
	return nil
}

// payload returns a row. Its first bytes are on the page, and the others on linked pages. It returns nil if the row is broken.
func (w *walk) payload(cell []byte, size int64) ([]byte, error) {
	usable := int64(w.image.usable)
	local := size
	if most := usable - 35; size > most {
		least := (usable-12)*32/255 - 23
		if local = least + (size-least)%(usable-4); local > most {
			local = least
		}
	}
	if local == size {
		if size > int64(len(cell)) {
			return nil, nil
		}
		return cell[:size:size], nil
	}
	if local+4 > int64(len(cell)) {
		return nil, nil
	}
	w.row = append(w.row[:0], cell[:local]...)
	for next := binary.BigEndian.Uint32(cell[local:]); int64(len(w.row)) < size; {
		page, err := w.pages.page(next)
		if page == nil || err != nil {
			return nil, err
		}
		if w.seen++; w.seen > w.image.size/w.image.page { // rows share pages, or their own lead back
			return nil, nil
		}
		next = binary.BigEndian.Uint32(page)
		w.row = append(w.row, page[4:min(usable, 4+size-int64(len(w.row)))]...)
	}
	return w.row, nil
}

// errFound ends a walk that has found its row.
var errFound = errors.New("found")

// span returns the least and the greatest number of the rows on readable pages; ok is false if there are none.
func (t *table) span(ctx context.Context) (first, last int64, ok bool, err error) {
	for _, at := range []*int64{&first, &last} {
		w := &walk{table: t, rooms: new(rooms), ctx: ctx, from: math.MinInt64, to: math.MaxInt64, backward: at == &last, pages: pages{image: t.image}}
		w.use = func(number int64, _ []byte) error {
			*at, ok = number, true
			return errFound
		}
		if err := w.below(t.root, 0, math.MinInt64, math.MaxInt64); err != nil && err != errFound {
			return 0, 0, false, err
		}
	}
	return first, last, ok, nil
}
