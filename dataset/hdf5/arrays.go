package hdf5

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// entries reads chunks from an array index, fixed or extensible.
type entries struct {
	x        *found
	w        *walk
	what     string
	filtered bool
	size     int      // bytes per entry
	grid     []uint64 // the grid that chunks are numbered by
	turn     int      // the unlimited dimension's index; the grid has it first
	place    []uint64
}

// header reads the header that both kinds of chunk arrays share.
func (e *entries) header(c *cursor, magic string) {
	c.magic(magic, 0)
	client := c.u8()
	e.size = c.u8()
	e.filtered = client == 1
	least := c.offsets
	if e.filtered {
		least += 1 + 4
	}
	switch {
	case client > 1 || e.filtered != (len(e.x.d.filters) > 0):
		c.bad(2, dataset.ErrCorrupt, "client", fmt.Sprint(client), "1 where chunks have filters, else 0")
	case e.size < least || !e.filtered && e.size > least || e.size > least+7:
		c.bad(1, dataset.ErrCorrupt, "bytes of an entry", fmt.Sprint(e.size), fmt.Sprintf("%d or, with filters, up to 7 more", least))
	}
}

// read reads count entries. The first entry is for the chunk with the given number.
func (e *entries) read(c *cursor, number, count uint64) error {
	for i := range count {
		k := chunk{addr: c.address(), size: uint64(e.x.d.bytes)}
		if e.filtered {
			k.size, k.mask = c.number(e.size-c.offsets-4), uint32(c.u32())
		}
		if c.err != nil {
			return c.err
		}
		if k.addr == none {
			continue
		}
		numbered(e.place, e.grid, number+i)
		place := e.place
		if e.turn > 0 {
			place = slices.Insert(slices.Clone(place[1:]), e.turn, place[0])
		}
		if err := e.x.add(place, k); err != nil {
			return err
		}
	}
	return nil
}

// block checks the start of an array's block: a signature, the client type and the header's address.
func (e *entries) block(c *cursor, magic string) {
	c.magic(magic, 0)
	if got := c.u8(); (got == 1) != e.filtered {
		c.bad(1, dataset.ErrCorrupt, "client", fmt.Sprint(got), "that of the header")
	}
	if got := c.address(); got != e.x.d.addr {
		c.bad(c.offsets, dataset.ErrCorrupt, "address of the header", fmt.Sprint(got), fmt.Sprint(e.x.d.addr))
	}
}

// guarded reads n bytes followed by their checksum.
func (e *entries) guarded(addr, n uint64) (*cursor, error) {
	if n > uint64(e.w.size) {
		return nil, e.w.fail(e.w.offset(addr), dataset.ErrTruncated, e.what, fmt.Sprintf("%d bytes", n), "no more than the file has")
	}
	c, err := e.w.block(e.what, addr, n+4)
	if err != nil {
		return nil, err
	}
	c.at = int(n)
	c.checksum()
	c.at = 0
	return c, c.err
}

// pages reads entries stored in separate pages, each with a checksum. A page exists only if its bit in the bitmap is set; the first
// page has bit number bit.
func (e *entries) pages(addr, number, count, page uint64, bitmap []byte, bit uint64) error {
	for at := uint64(0); at < count; at, bit = at+page, bit+1 {
		if n := min(page, count-at); bitmap[bit/8]&(0x80>>(bit%8)) != 0 {
			c, err := e.guarded(addr, n*uint64(e.size))
			if err != nil {
				return err
			}
			if err := e.read(c, number+at, n); err != nil {
				return err
			}
		}
		addr += page*uint64(e.size) + 4
	}
	return nil
}

// fixed reads a fixed array, with one entry per chunk in the largest grid.
func (x *found) fixed(w *walk) error {
	most, err := x.most()
	if err != nil {
		return err
	}
	e := &entries{x: x, w: w, what: x.v.name + ": chunk index", grid: most, place: make([]uint64, len(most))}
	c, err := e.guarded(x.d.addr, uint64(4+4+w.lengths+w.offsets))
	if err != nil {
		return err
	}
	e.header(c, "FAHD")
	pageBits := c.u8()
	count, addr := c.length(), c.address()
	if pageBits > 62 {
		c.bad(0, dataset.ErrCorrupt, "bits of a page", fmt.Sprint(pageBits), "at most 62")
	}
	if count > uint64(w.size) {
		c.bad(0, dataset.ErrTruncated, "entries", fmt.Sprint(count), "no more than the file can hold")
	}
	if c.err != nil || addr == none {
		return c.err
	}
	prefix, page := uint64(4+2+w.offsets), uint64(1)<<pageBits
	if count <= page {
		if c, err = e.guarded(addr, prefix+count*uint64(e.size)); err != nil {
			return err
		}
		if e.block(c, "FADB"); c.err != nil {
			return c.err
		}
		return e.read(c, 0, count)
	}
	bytes := ((count+page-1)/page + 7) / 8
	if c, err = e.guarded(addr, prefix+bytes); err != nil {
		return err
	}
	e.block(c, "FADB")
	bitmap := c.bytes(bytes)
	if c.err != nil {
		return c.err
	}
	return e.pages(addr+uint64(len(c.data)), 0, count, page, bitmap, 0)
}

// extensible reads an extensible array. Its entries are in the index block, in the index block's data blocks, and in the data blocks of
// secondary blocks.
func (x *found) extensible(w *walk) error {
	most, err := x.most()
	if err != nil {
		return err
	}
	e := &entries{x: x, w: w, what: x.v.name + ": chunk index", place: make([]uint64, len(most))}
	if e.turn = slices.Index(most, none); e.turn < 0 {
		return x.v.fail(dataset.ErrCorrupt, ": chunk index", "an extensible array", "a dimension without end")
	}
	e.grid = append([]uint64{none}, slices.Delete(most, e.turn, e.turn+1)...)
	if slices.Contains(e.grid[1:], none) {
		return x.v.fail(dataset.ErrCorrupt, ": chunk index", "two dimensions without end", "one")
	}
	c, err := e.guarded(x.d.addr, uint64(4+8+6*w.lengths+w.offsets))
	if err != nil {
		return err
	}
	e.header(c, "EAHD")
	a := &extensible{entries: e}
	a.bits, a.inIndex, a.least, a.pointers, a.pageBits = c.u8(), uint64(c.u8()), uint64(c.u8()), c.u8(), c.u8()
	c.skip(6 * w.lengths)
	addr := c.address()
	powers := a.least > 0 && a.least&(a.least-1) == 0 && a.pointers > 1 && a.pointers&(a.pointers-1) == 0
	a.firstBits = bits.TrailingZeros64(a.least)
	if c.err == nil && (!powers || a.bits > 62 || a.bits < a.firstBits || a.pageBits > 62) {
		c.bad(0, dataset.ErrCorrupt, "sizes of blocks", fmt.Sprint(a.bits, a.least, a.pointers, a.pageBits), "powers of two up to 2^62")
	}
	if c.err != nil || addr == none {
		return c.err
	}
	return a.index(addr)
}

type extensible struct {
	*entries
	bits      int    // bits in an entry's number
	inIndex   uint64 // entries in the index block
	least     uint64 // entries in the smallest data block
	firstBits int    // its log2
	pointers  int    // data blocks in the smallest secondary block
	pageBits  int
}

// blocks returns how many data blocks secondary block i has, and the entries in each.
func (a *extensible) blocks(i int) (count, size uint64) {
	return 1 << (i / 2), a.least << ((i + 1) / 2)
}

func (a *extensible) index(addr uint64) error {
	all := 1 + a.bits - a.firstBits // secondary blocks; the first ones are not stored as blocks
	direct := min(2*bits.TrailingZeros(uint(a.pointers)), all)
	count := uint64(2 * (a.pointers - 1)) // their data blocks
	prefix := uint64(4 + 2 + a.w.offsets)
	c, err := a.guarded(addr, prefix+a.inIndex*uint64(a.size)+(count+uint64(all-direct))*uint64(a.w.offsets))
	if err != nil {
		return err
	}
	if a.block(c, "EAIB"); c.err != nil {
		return c.err
	}
	if err := a.read(c, 0, a.inIndex); err != nil {
		return err
	}
	number := a.inIndex
	for i := range direct {
		n, size := a.blocks(i)
		for range n {
			if at := c.address(); at != none {
				if size > 1<<a.pageBits {
					return c.bad(a.w.offsets, dataset.ErrUnsupported, "data block", fmt.Sprintf("%d entries in pages", size), "one page")
				}
				if err := a.data(at, number, size, nil, 0); err != nil {
					return err
				}
			}
			number += size
		}
	}
	for i := direct; i < all; i++ {
		n, size := a.blocks(i)
		if at := c.address(); at != none {
			if err := a.secondary(at, number, n, size); err != nil {
				return err
			}
		}
		number += n * size
	}
	return c.err
}

// offsetBytes returns the bytes in an entry's number.
func (a *extensible) offsetBytes() int { return (a.bits + 7) / 8 }

func (a *extensible) secondary(addr, number, count, size uint64) error {
	prefix := uint64(4 + 2 + a.w.offsets + a.offsetBytes())
	each := uint64(0) // bytes in the bitmap for a data block's pages
	pages := size >> a.pageBits
	if size > 1<<a.pageBits {
		each = (pages + 7) / 8
	}
	if count > uint64(a.w.size) || each > uint64(a.w.size)/count {
		return a.w.fail(a.w.offset(addr), dataset.ErrTruncated, a.what, fmt.Sprintf("%d data blocks", count), "no more than the file can hold")
	}
	c, err := a.guarded(addr, prefix+count*(each+uint64(a.w.offsets)))
	if err != nil {
		return err
	}
	a.block(c, "EASB")
	c.skip(a.offsetBytes())
	bitmap := c.bytes(count * each)
	for i := range count {
		at := c.address()
		if c.err != nil {
			return c.err
		}
		if at != none {
			if err := a.data(at, number, size, bitmap, i*pages); err != nil {
				return err
			}
		}
		number += size
	}
	return nil
}

// data reads a data block. If it is stored in pages, its first page has bit number bit in the bitmap.
func (a *extensible) data(addr, number, count uint64, bitmap []byte, bit uint64) error {
	prefix := uint64(4 + 2 + a.w.offsets + a.offsetBytes())
	page := uint64(1) << a.pageBits
	paged := count > page
	n := prefix
	if !paged {
		n += count * uint64(a.size)
	}
	if count > uint64(a.w.size) {
		return a.w.fail(a.w.offset(addr), dataset.ErrTruncated, a.what, fmt.Sprintf("%d entries", count), "no more than the file can hold")
	}
	c, err := a.guarded(addr, n)
	if err != nil {
		return err
	}
	a.block(c, "EADB")
	c.skip(a.offsetBytes())
	if c.err != nil {
		return c.err
	}
	if paged {
		return a.pages(addr+n+4, number, count, page, bitmap, bit)
	}
	return a.read(c, number, count)
}
