package hdf5

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
)

// found collects the chunks in an index.
type found struct {
	v    *Values
	d    *chunked
	list []chunk
}

// all reads the index.
func (x *found) all() error {
	w := x.v.f.walk()
	switch x.d.index {
	case indexTree1:
		return x.tree1(w)
	case indexSingle:
		return x.add(make([]uint64, len(x.d.dims)), chunk{addr: x.d.addr, size: x.d.size, mask: x.d.mask})
	case indexImplicit:
		return x.implicit()
	case indexFixed:
		return x.fixed(w)
	case indexExtensible:
		return x.extensible(w)
	}
	return x.tree2(w)
}

// add adds a chunk by its place in the grid. It ignores chunks outside the array, which remain from a time when it was larger.
func (x *found) add(place []uint64, k chunk) error {
	if k.addr == none {
		return nil
	}
	for i, p := range place {
		if p >= uint64(x.d.grid[i]) {
			return nil
		}
		k.number = k.number*x.d.grid[i] + int(p)
	}
	x.list = append(x.list, k)
	return nil
}

// tree1 reads a version 1 B-tree; its keys are chunk sizes and places.
func (x *found) tree1(w *walk) error {
	return w.tree1(x.v.name+": chunk index", x.d.addr, 1, -1, 8+8*(len(x.d.dims)+1), func(c *cursor, addr uint64) error {
		k := chunk{addr: addr, size: c.u32(), mask: uint32(c.u32())}
		place := make([]uint64, len(x.d.dims))
		for i := range place {
			at, n := c.number(8), uint64(x.d.dims[i])
			if place[i] = at / n; at%n != 0 {
				return c.bad(8, dataset.ErrCorrupt, "chunk", fmt.Sprintf("at %d", at), fmt.Sprintf("at a multiple of %d", n))
			}
		}
		return x.add(place, k)
	})
}

// tree1 reads a version 1 B-tree node and its descendants. It calls leaf with each key's bytes and the address after them. level is the
// node's level, -1 if unknown.
func (w *walk) tree1(what string, addr uint64, kind, level, key int, leaf func(c *cursor, addr uint64) error) error {
	c, err := w.block(what, addr, uint64(8+2*w.offsets))
	if err != nil {
		return err
	}
	if got := c.bytes(4); got != nil && string(got) != "TREE" {
		return c.bad(4, dataset.ErrCorrupt, "signature", fmt.Sprintf("%q", got), `"TREE"`)
	}
	if got := c.u8(); got != kind {
		return c.bad(1, dataset.ErrCorrupt, "kind of node", fmt.Sprint(got), fmt.Sprint(kind))
	}
	if got := c.u8(); level >= 0 && got != level {
		return c.bad(1, dataset.ErrCorrupt, "level", fmt.Sprint(got), fmt.Sprint(level))
	} else {
		level = got
	}
	entry := key + w.offsets
	count := c.u16()
	if c, err = w.more(what, addr+uint64(len(c.data)), uint64(count*entry)); err != nil {
		return err
	}
	for range count {
		part := w.cursor(what, c.data[c.at:c.at+key], c.here())
		c.skip(key)
		child := c.address()
		if level == 0 {
			err = leaf(part, child)
		} else {
			err = w.tree1(what, child, kind, level-1, key, leaf)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// most returns the chunk count along each dimension at the array's maximum size. The first dimension may be unlimited.
func (x *found) most() ([]uint64, error) {
	most := make([]uint64, len(x.d.dims))
	total := uint64(1)
	for i, n := range x.d.dims {
		m := x.v.space.most[i]
		if m == none {
			if x.d.index == indexExtensible {
				most[i] = none
				continue
			}
			return nil, x.v.fail(dataset.ErrCorrupt, ": chunk index", "a dimension without end", "an end")
		}
		if most[i] = m / uint64(n); m%uint64(n) != 0 {
			most[i]++
		}
		if most[i] > 0 && total > math.MaxUint64/most[i] {
			return nil, x.v.fail(dataset.ErrTooLarge, ": chunk index", fmt.Sprint(x.v.space.most), "at most 2^64 chunks")
		}
		total *= most[i]
	}
	return most, nil
}

// numbered computes the place of the chunk with a number, in row-major grid order. The grid's first dimension may be unlimited.
func numbered(place, grid []uint64, number uint64) {
	for i := len(grid) - 1; i > 0; i-- {
		if grid[i] > 0 {
			place[i] = number % grid[i]
			number /= grid[i]
		}
	}
	if len(place) > 0 {
		place[0] = number
	}
}

// implicit adds chunks that are stored consecutively.
func (x *found) implicit() error {
	most, err := x.most()
	if err != nil {
		return err
	}
	total, size := uint64(1), uint64(x.d.bytes)
	for _, n := range most {
		total *= n
	}
	if total > uint64(x.v.f.size)/size {
		return x.v.fail(dataset.ErrTruncated, ": chunks", fmt.Sprintf("%d of %d bytes", total, size), fmt.Sprintf("no more than a file of %d can hold", x.v.f.size))
	}
	place := make([]uint64, len(most))
	for i := range total {
		numbered(place, most, i)
		if err := x.add(place, chunk{addr: x.d.addr + i*size, size: size}); err != nil {
			return err
		}
	}
	return nil
}

// tree2 reads a version 2 B-tree with records for chunks, with or without filters.
func (x *found) tree2(w *walk) error {
	kind, least := 10, w.offsets+8*len(x.d.dims)
	if len(x.d.filters) > 0 {
		kind, least = 11, least+1+4
	}
	place := make([]uint64, len(x.d.dims))
	return w.tree2(x.v.name+": chunk index", x.d.addr, kind, least, func(c *cursor) error {
		k := chunk{addr: c.address(), size: uint64(x.d.bytes)}
		if kind == 11 {
			if n := len(c.data) - least + 1; n > 8 {
				return c.bad(0, dataset.ErrCorrupt, "bytes of a chunk's size", fmt.Sprint(n), "at most 8")
			} else {
				k.size, k.mask = c.number(n), uint32(c.u32())
			}
		}
		for i := range place {
			place[i] = c.number(8)
		}
		return x.add(place, k)
	})
}
