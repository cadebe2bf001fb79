package cudasim

import (
	"bytes"
	"fmt"
	"math/bits"
)

// The race check follows what orders the accesses of threads. Each warp has a clock that ticks when it lets others see what it
// did: at barriers, releases and the collectives of a warp. A warp knows, of each other warp, up to which clock it has seen it.
// An access races with an earlier one of another thread that its warp has not seen, if one of the two writes and they are not
// both atomic or otherwise strong. Lanes of a warp are ordered by the warp's collectives.
//
// Where the rules of PTX leave it open whether two accesses are ordered the check takes them as ordered: what it reports is a
// race, and it may miss one. Scopes count as wide enough. It runs on one worker.

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

// checkState is what the race check knows of a warp.
type checkState struct {
	clock   uint32
	known   seen // of every block, its own as well
	fenced  seen // what it knew at its last fence: what a strong write passes on
	pending seen // what strong reads brought: a fence makes it known
}

// checkBlock is what the checks know of a block.
type checkBlock struct {
	watching bool // observe is to see every access
	racing   bool
	shadow   *shadow
	syncs    map[uint64]seen // by address in shared memory
}

func (c *checkBlock) reset(b *block) {
	c.watching = b.run.checks != 0 || b.counts != nil
	c.racing = b.run.checks&CheckRaces != 0
	if !c.racing {
		return
	}
	if c.shadow == nil {
		c.shadow, c.syncs = newShadow(b.shared.size, nil), map[uint64]seen{}
	}
	for _, p := range c.shadow.pages {
		clear(p.cells)
	}
	clear(c.syncs)
	for i := range b.warps {
		b.warps[i].checkState = checkState{clock: 1}
	}
}

// snapshot is all that the warp knows and has done; what it does next is no part of it.
func (w *warp) snapshot() seen {
	s := make(seen, len(w.known)+1)
	for k, v := range w.known {
		s[k] = v
	}
	own := make([]uint32, w.b.run.warps)
	copy(own, s[w.b.index])
	own[w.index] = w.clock
	s[w.b.index] = own
	w.clock++
	return s
}

// syncMap gives the sync objects of a space.
func (b *block) syncMap(sp spaceKind) map[uint64]seen {
	if sp == spaceShared {
		return b.syncs
	}
	if b.run.syncs == nil {
		b.run.syncs = map[uint64]seen{}
	}
	return b.run.syncs
}

// release passes on what the warp knows to those who acquire from an address. A store begins anew, an atomic adds.
func (w *warp) release(sp spaceKind, addr uint64, s seen, add bool) {
	m := w.b.syncMap(sp)
	if !add {
		m[addr] = s
		return
	}
	old := m[addr]
	fresh := make(seen, len(old)+len(s))
	fresh.learn(old)
	fresh.learn(s)
	m[addr] = fresh
}

// releaseTo and acquireFrom order memory through an mbarrier.
func (w *warp) releaseTo(_ int, at uint64) {
	if w.b.racing {
		w.release(spaceShared, at, w.snapshot(), true)
	}
}

func (w *warp) acquireFrom(_ int, at uint64) {
	if w.b.racing {
		w.known.learn(w.b.syncs[at])
	}
}

// synced orders the lanes of a warp after a collective.
func (w *warp) synced(uint32) {
	if w.b.racing {
		w.clock++
	}
}

func (w *warp) ordered(uint32) {
	if w.b.racing {
		w.known.learn(w.pending)
		w.pending = nil
		w.fenced = w.snapshot()
	}
}

// arrived adds to a barrier what the warp knows.
func (w *warp) arrived(bar *barrier, _ uint32) {
	if w.b.racing {
		bar.known.learn(w.snapshot())
		bar.fenced.learn(w.fenced)
	}
}

// completed tells all that wait at a barrier what those that arrived knew.
func (b *block) completed(bar *barrier, id int) {
	if !b.racing {
		return
	}
	for i := range b.warps {
		w := &b.warps[i]
		for _, g := range w.groups {
			if g.wait == waitBar && int(g.bar) == id {
				w.known.learn(bar.known)
				if len(bar.fenced) > 0 {
					fenced := seen{}
					fenced.learn(w.fenced)
					fenced.learn(bar.fenced)
					w.fenced = fenced
				}
				break
			}
		}
	}
}

// strongAccess orders memory around an access that others see at once.
func (w *warp) strongAccess(in *inst, sp spaceKind, addr uint64, kind accessKind) {
	if kind != accessWrite {
		from := w.b.syncMap(sp)[addr]
		if in.x.acquire {
			w.known.learn(from)
		} else {
			w.pending.learn(from)
		}
	}
	if kind != accessRead {
		what := w.fenced
		if in.x.release {
			what = w.snapshot()
		}
		if kind != accessAtomic || len(what) > 0 {
			w.release(sp, addr, what, kind == accessAtomic)
		}
	}
}

// unseen reports whether an earlier access is neither the thread's own, which me is of, nor known to its warp.
func (w *warp) unseen(t, me *touch) bool {
	if t.warp == me.warp {
		return t.clock == me.clock && t.lane != me.lane
	}
	return t.warp != 0 && w.unknown(t)
}

// unknown reports whether the access of another warp is not known to this one.
func (w *warp) unknown(t *touch) bool {
	warps, block := w.b.run.warps, w.b.index
	index := t.warp - 1 - uint32(block)*warps
	if index >= warps { // of another block
		block, index = uint64((t.warp-1)/warps), (t.warp-1)%warps
	}
	clocks := w.known[block]
	return clocks == nil || clocks[index] < t.clock
}

// raced notes the accesses of lanes, and finds one that races with an earlier one.
func (b *block) raced(w *warp, in *inst, m *allocation, sp spaceKind, here uint32, n uint64, kind accessKind) status {
	s := b.shadow
	if sp == spaceGlobal {
		s = b.run.shadowOf(m)
	}
	strong := in.x.strong || kind == accessAtomic
	me := touch{warp: uint32(b.index)*b.run.warps + w.index + 1, pc: w.pc, strong: strong, fixed: in.x.constant}
	for e := here; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		if strong {
			w.strongAccess(in, sp, m.addr+w.ofs[i], kind)
		}
		me.lane, me.clock = uint8(i), w.clock
		off := w.ofs[i]
		for end := off + n; off < end; {
			k := min(end-off, pageBytes-off%pageBytes)
			list := s.cells(off, k)
			for j := range list {
				c := &list[j]
				var other *touch
				switch {
				case kind == accessRead:
					if c.w.warp != 0 && (me.fixed || w.unseen(&c.w, &me) && !(strong && c.w.strong)) {
						other = &c.w
					}
				case w.unseen(&c.w, &me) && !(strong && c.w.strong) && !w.silent(in, m, sp, here, i, &c.w, &me):
					other = &c.w
				case w.unseen(&c.r, &me) && !(strong && c.r.strong) || c.r.fixed:
					other = &c.r
				case w.unseen(&c.r2, &me) && !(strong && c.r2.strong) || c.r2.fixed:
					other = &c.r2
				}
				if other != nil {
					return w.race(in, m, sp, i, n, kind, *other, other == &c.w)
				}
				if kind != accessRead {
					c.w = me
				}
				if kind == accessRead || kind == accessAtomic {
					if c.r.warp != me.warp {
						c.r2 = c.r
					}
					c.r = me
				}
			}
			off += k
		}
	}
	return statusNext
}

// silent reports whether a store writes what is there, so that it does not matter which of two comes first.
func (w *warp) silent(in *inst, m *allocation, sp spaceKind, here uint32, lane int, t, me *touch) bool {
	x := in.x
	if len(x.aa) == 0 || in.class == classAtomic || x.n == 0 || x.size == 0 || x.rmw != nil {
		return false
	}
	if t.warp == me.warp && t.pc == me.pc && here>>t.lane&1 != 0 && w.ofs[t.lane] == w.ofs[lane] { // two lanes of this store
		for _, r := range x.aa {
			if w.regs[r][lane]&width64(x.size) != w.regs[r][t.lane]&width64(x.size) {
				return false
			}
		}
		return true
	}
	var b [32]byte
	for k, r := range x.aa {
		put(b[uint64(k)*x.size:], x.size, w.regs[r][lane])
	}
	n := x.size * uint64(x.n)
	return bytes.Equal(b[:n], m.data[w.ofs[lane]:w.ofs[lane]+n])
}

func width64(size uint64) uint64 {
	if size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*size) - 1
}

// race is the fault of two accesses that nothing orders.
func (w *warp) race(in *inst, m *allocation, sp spaceKind, lane int, n uint64, kind accessKind, t touch, wrote bool) status {
	st := w.badAddress(Race, in, lane, sp, m.addr+w.ofs[lane], n)
	r := w.b.run
	block := uint64(t.warp-1) / uint64(r.warps)
	thread := (t.warp-1)%r.warps*32 + uint32(t.lane)
	what := "read"
	if wrote {
		what = "wrote"
	}
	line := int(w.code[t.pc].line)
	w.b.fault.Detail = fmt.Sprintf("block %v, thread %v %s there in line %d (%s), and nothing orders the two", r.blockAt(block), r.threadAt(thread), what,
		line, trimmedLine(r.kernel.source, line))
	return st
}

// shadowOf gives the shadow of an allocation in this launch.
func (r *launchRun) shadowOf(m *allocation) *shadow {
	if r.lastOf != m {
		s := r.shadows[m]
		if s == nil {
			if r.shadows == nil {
				r.shadows = map[*allocation]*shadow{}
			}
			s = newShadow(m.size, &r.sp.cells)
			r.shadows[m] = s
		}
		r.lastOf, r.lastShadow = m, s
	}
	return r.lastShadow
}
