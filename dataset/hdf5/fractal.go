package hdf5

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/dataset"
)

// maxRows limits a heap's rows, because sizes double from row to row and the last row has a byte per address.
const maxRows = 32

// fractal is a fractal heap. It stores links and attributes that do not fit in a header.
type fractal struct {
	w         *walk
	what      string
	addr      uint64
	id        int // bytes in an object's identifier
	hugeTree  uint64
	width     uint64 // blocks per row
	start     uint64 // block size in the first row, in bytes
	direct    uint64 // size of the largest direct block, in bytes
	bits      int    // bits in a heap offset
	lengths   int    // bytes in an object's length
	root      uint64
	rows      int  // the root's rows; 0 if the root is a direct block
	sums      bool // whether direct blocks have checksums
	hugeByID  map[uint64]span
	blocks    map[uint64]*cursor // direct blocks read so far, by address
	indirects map[uint64]*cursor // indirect blocks read so far, by address
}

// fractal reads a heap's header.
func (w *walk) fractal(what string, addr uint64) (*fractal, error) {
	n := 4 + 1 + 2 + 2 + 1 + 4 + 12*w.lengths + 3*w.offsets + 2 + 2 + 2 + 2
	c, err := w.block(what, addr, uint64(n+4))
	if err != nil {
		return nil, err
	}
	h := &fractal{w: w, what: what, addr: addr, blocks: map[uint64]*cursor{}, indirects: map[uint64]*cursor{}}
	c.magic("FRHP", 0)
	h.id = c.u16()
	if filters := c.u16(); filters > 0 {
		return nil, c.bad(2, dataset.ErrUnsupported, "heap", "blocks with filters", "none")
	}
	h.sums = c.u8()&2 != 0
	most := c.u32()
	c.length()
	h.hugeTree = c.address()
	c.length()
	c.address()
	c.skip(8 * w.lengths)
	h.width = uint64(c.u16())
	h.start, h.direct = c.length(), c.length()
	h.bits = c.u16()
	c.skip(2)
	h.root, h.rows = c.address(), c.u16()
	c.checksum()
	power := func(n uint64) bool { return n > 0 && n <= 1<<32 && n&(n-1) == 0 }
	if c.err == nil && (!power(h.width) || !power(h.start) || !power(h.direct) || h.direct < h.start || h.bits > 64 || h.bits < 8 || h.rows > maxRows || h.id < 1 || h.id > 64) {
		c.bad(0, dataset.ErrCorrupt, "heap", fmt.Sprint(h.width, h.start, h.direct, h.bits, h.rows, h.id), fmt.Sprintf("powers of two, up to 64 bits and %d rows", maxRows))
	}
	h.lengths = min((bits.Len64(h.direct)-1+7)/8, bytesOf(most))
	return h, c.err
}

// object returns the object with an identifier.
func (h *fractal) object(id *cursor) (*cursor, error) {
	head := id.u8()
	if head>>6 != 0 {
		return nil, id.bad(1, dataset.ErrUnsupported, "version of an identifier", fmt.Sprint(head>>6), "0")
	}
	switch head >> 4 & 3 {
	case 0:
		offset, n := id.number((h.bits+7)/8), id.number(h.lengths)
		if id.err != nil {
			return nil, id.err
		}
		return h.managed(id, offset, n)
	case 1:
		return h.huge(id)
	}
	return nil, id.bad(1, dataset.ErrUnsupported, "kind of an object", fmt.Sprint(head>>4&3), "0, in a block, or 1, in a place of its own")
}

// row returns the block size in a row, and the row's offset in the heap.
func (h *fractal) row(r int) (size, begin uint64) {
	if r == 0 {
		return h.start, 0
	}
	return h.start << (r - 1), h.width * h.start << (r - 1)
}

// managed returns an object stored in the heap's own blocks.
func (h *fractal) managed(id *cursor, offset, n uint64) (*cursor, error) {
	addr, size, begin := h.root, h.start, uint64(0)
	for rows := h.rows; rows > 0; {
		c, err := h.indirect(addr, rows)
		if err != nil {
			return nil, err
		}
		// The highest bit determines the row, because sizes double from row to row.
		r := 0
		if row := (offset - begin) / h.start / h.width; row > 0 {
			r = bits.Len64(row)
		}
		if r >= rows {
			return nil, id.bad(0, dataset.ErrCorrupt, "offset in the heap", fmt.Sprint(offset), fmt.Sprintf("inside %d rows", rows))
		}
		var at uint64
		size, at = h.row(r)
		column := (offset - begin - at) / size
		begin += at + column*size
		child := *c
		child.at += int(uint64(r)*h.width+column) * h.w.offsets
		addr = child.address()
		if child.err != nil {
			return nil, child.err
		}
		if rows = 0; size > h.direct {
			if rows = bits.Len64(size / h.start / h.width); rows < 1 || rows > maxRows {
				return nil, id.bad(0, dataset.ErrCorrupt, "block of blocks", fmt.Sprintf("%d bytes", size), "at least a row")
			}
		}
	}
	c, err := h.block(addr, size)
	if err != nil {
		return nil, err
	}
	at := offset - begin
	if at > size || n > size-at {
		return nil, id.bad(0, dataset.ErrCorrupt, "object", fmt.Sprintf("%d bytes at %d", n, at), fmt.Sprintf("inside a block of %d", size))
	}
	if err := h.w.spend(h.what, addr, n); err != nil {
		return nil, err
	}
	return h.w.cursor(h.what, c.data[at:at+n], c.start+int64(at)), nil
}

// indirect returns the block addresses in an indirect block.
func (h *fractal) indirect(addr uint64, rows int) (*cursor, error) {
	if c := h.indirects[addr]; c != nil {
		return c, nil
	}
	n := uint64(5+h.w.offsets+(h.bits+7)/8) + uint64(rows)*h.width*uint64(h.w.offsets)
	c, err := h.w.block(h.what, addr, n+4)
	if err != nil {
		return nil, err
	}
	c.at = int(n)
	c.checksum()
	c.at = 0
	if h.prefix(c, "FHIB"); c.err != nil {
		return nil, c.err
	}
	h.indirects[addr] = c
	return c, nil
}

func (h *fractal) prefix(c *cursor, magic string) {
	c.magic(magic, 0)
	if got := c.address(); got != h.addr {
		c.bad(c.offsets, dataset.ErrCorrupt, "address of the heap", fmt.Sprint(got), fmt.Sprint(h.addr))
	}
	c.skip((h.bits + 7) / 8)
}

// block returns a direct block, which stores objects.
func (h *fractal) block(addr, size uint64) (*cursor, error) {
	if c := h.blocks[addr]; c != nil && uint64(len(c.data)) == size {
		return c, nil
	}
	c, err := h.w.block(h.what, addr, size)
	if err != nil {
		return nil, err
	}
	if h.prefix(c, "FHDB"); h.sums && c.err == nil {
		// The checksum is inside the checked bytes, and counts as zeros.
		want := uint32(c.u32())
		if c.err == nil {
			clear(c.data[c.at-4 : c.at])
			c.compare(lookup3(c.data), want)
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	h.blocks[addr] = c
	return c, nil
}

// huge returns an object that is stored outside the heap's blocks.
func (h *fractal) huge(id *cursor) (*cursor, error) {
	var at span
	if h.w.offsets+h.w.lengths <= h.id-1 {
		at = span{id.address(), id.length()}
	} else {
		key := id.number(min(h.id-1, 8))
		if h.hugeByID == nil {
			h.hugeByID = map[uint64]span{}
			if err := h.w.tree2(h.what, h.hugeTree, 1, h.w.offsets+2*h.w.lengths, func(c *cursor) error {
				s := span{c.address(), c.length()}
				h.hugeByID[c.number(h.w.lengths)] = s
				return nil
			}); err != nil {
				return nil, err
			}
		}
		found, ok := h.hugeByID[key]
		if !ok && id.err == nil {
			return nil, id.bad(0, dataset.ErrCorrupt, "huge object", fmt.Sprint(key), "one that is there")
		}
		at = found
	}
	if id.err != nil {
		return nil, id.err
	}
	return h.w.more(h.what, at.addr, at.size)
}
