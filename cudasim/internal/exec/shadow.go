package exec

import "math/bits"

// touch is an access to a byte.
type touch struct {
	warp   uint32 // 1 + the number of the warp in the launch, 0 for none
	clock  uint32
	pc     int32
	lane   uint8
	strong bool
	fixed  bool // a read through the read-only path: no write may follow in the launch
}

// cell records the accesses to a range of bytes: the last write, the last read, and the last read by another warp.
type cell struct{ w, r, r2 touch }

const pageBytes = 256

// shadowPage holds the cells of pageBytes bytes. A cell has the size that every access to the page so far covers as a whole, at most
// cellBytes. If a smaller access comes, the cells are split.
type shadowPage struct {
	cells []cell
	each  uint64 // bytes of a cell, a power of two; 0 before the first access
	shift uint   // log2(each)
}

const cellBytes = 16

// cellPool keeps the cells of ended launches for later launches. One launch has it at a time.
type cellPool struct {
	spare [pageBytes + 1][][]cell // unused slices, by length
	taken [][]cell                // slices of the running launch
}

// take returns n empty cells. A nil pool allocates them.
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

// ended makes the cells of the ended launch available to the next one.
func (p *cellPool) ended() {
	for _, list := range p.taken {
		p.spare[len(list)] = append(p.spare[len(list)], list)
	}
	clear(p.taken)
	p.taken = p.taken[:0]
}

// shadow is the pages of one allocation. Their cells come from pool unless it is nil.
type shadow struct {
	pages []shadowPage
	pool  *cellPool
}

func newShadow(size uint64, pool *cellPool) *shadow {
	return &shadow{make([]shadowPage, (size+pageBytes-1)/pageBytes), pool}
}

// cut splits cells to a smaller size. The new cells keep the accesses of the larger ones.
func (p *shadowPage) cut(each uint64, pool *cellPool) {
	fine := pool.take(pageBytes / each)
	if p.each != 0 {
		for i := range fine {
			fine[i] = p.cells[uint64(i)*each/p.each]
		}
	}
	p.cells, p.each, p.shift = fine, each, uint(bits.TrailingZeros64(each))
}

// clockSet holds, for each block, the clocks up to which a warp has seen the block's warps. The slices are shared and immutable.
type clockSet map[uint64][]uint32

// join returns the later of both clocks for each warp. A nil slice has no clocks; otherwise both have the same length.
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

// learn merges the clocks of another warp into the set, keeping the later of each.
func (s *clockSet) learn(o clockSet) {
	if len(o) == 0 {
		return
	}
	if *s == nil {
		*s = clockSet{}
	}
	for k, v := range o {
		(*s)[k] = join((*s)[k], v)
	}
}
