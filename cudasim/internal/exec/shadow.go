package exec

import "math/bits"

// touch is an access to a byte.
type touch struct {
	warp   uint32 // 1 + the number of the warp in the launch, 0 for none
	clock  uint32
	pc     int32
	lane   uint8
	strong bool
	fixed  bool // a read by the read-only path: nothing may write there in the whole launch
}

// cell is who touched a byte last: the last writer, the last reader and the last reader of another warp.
type cell struct{ w, r, r2 touch }

const pageBytes = 256

// shadowPage holds the cells of pageBytes bytes. A cell is as many bytes as every access to the page so far touches together, at most
// cellBytes; one that touches fewer cuts the cells in pieces.
type shadowPage struct {
	cells []cell
	each  uint64 // bytes of a cell, a power of two; 0 if nothing was touched
	shift uint   // its logarithm
}

const cellBytes = 16

// cellPool keeps the cells of launches that have ended for those that follow. A launch has it for itself.
type cellPool struct {
	spare [pageBytes + 1][][]cell // by length
	taken [][]cell                // by the launch that runs
}

// take gives n cells that know of nothing. A nil pool makes them.
func (p *cellPool) take(n uint64) []cell {
	if p == nil {
		return make([]cell, n)
	}
	var list []cell
	if s := &p.spare[n]; len(*s) > 0 {
		list, *s = (*s)[len(*s)-1], (*s)[:len(*s)-1]
		clear(list)
	} else {
		list = make([]cell, n)
	}
	p.taken = append(p.taken, list)
	return list
}

// ended takes back what a launch had.
func (p *cellPool) ended() {
	for _, list := range p.taken {
		p.spare[len(list)] = append(p.spare[len(list)], list)
	}
	clear(p.taken)
	p.taken = p.taken[:0]
}

// shadow is the pages of one allocation, whose cells come from a pool if there is one.
type shadow struct {
	pages []shadowPage
	pool  *cellPool
}

func newShadow(size uint64, pool *cellPool) *shadow {
	return &shadow{make([]shadowPage, (size+pageBytes-1)/pageBytes), pool}
}

// cells gives the cells of n bytes at off, which lie in one page.
func (s *shadow) cells(off, n uint64) []cell {
	p := &s.pages[off/pageBytes]
	if (off|n)&(p.each-1) != 0 {
		p.cut(min((off|n)&-(off|n), cellBytes), s.pool)
	}
	off %= pageBytes
	return p.cells[off>>p.shift : (off+n)>>p.shift]
}

// cut makes cells of so many bytes, which know what the larger ones knew.
func (p *shadowPage) cut(each uint64, pool *cellPool) {
	fine := pool.take(pageBytes / each)
	if p.each != 0 {
		for i := range fine {
			fine[i] = p.cells[uint64(i)*each/p.each]
		}
	}
	p.cells, p.each, p.shift = fine, each, uint(bits.TrailingZeros64(each))
}

// seen is what a warp knows of others: for each block the clocks of its warps, up to which it has seen them. The slices are
// shared and never change.
type seen map[uint64][]uint32

// join gives the later of each clock.
func join(a, b []uint32) []uint32 {
	switch {
	case a == nil:
		return b
	case b == nil, &a[0] == &b[0]:
		return a
	}
	aMost, bMost := true, true
	for i := range a {
		aMost = aMost && a[i] >= b[i]
		bMost = bMost && b[i] >= a[i]
	}
	if aMost {
		return a
	}
	if bMost {
		return b
	}
	c := make([]uint32, len(a))
	for i := range c {
		c[i] = max(a[i], b[i])
	}
	return c
}

// learn adds what another knows.
func (s *seen) learn(o seen) {
	if len(o) == 0 {
		return
	}
	if *s == nil {
		*s = seen{}
	}
	for k, v := range o {
		(*s)[k] = join((*s)[k], v)
	}
}
