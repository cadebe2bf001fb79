package exec

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// The race check uses vector clocks. Each warp has a clock that ticks when the warp publishes its accesses: at barriers, releases and
// collectives. A warp also keeps, for each other warp, the clock up to which it has seen that warp. Two accesses race if they are by
// different threads, the later warp has not seen the earlier access, one of them writes, and not both are strong (atomic accesses are
// strong). Collectives order the lanes of a warp.
//
// If PTX leaves the order of two accesses open, the check assumes that they are ordered. So every report is a race, but some races
// are missed. All scopes count as wide enough. The check needs a single worker.

// unseen reports whether an earlier access was made by another thread than me and is not yet seen by the warp of me.
func (w *Warp) unseen(t, me *touch) bool {
	if t.warp == me.warp {
		return t.clock == me.clock && t.lane != me.lane
	}
	return t.warp != 0 && w.unknown(t)
}

// ordered reports whether an earlier access t is surely not unseen: there was none, or it was the same lane's or an earlier one in the
// warp of me, or the warp has seen the access seen of the same warp, which is not earlier.
func (t *touch) ordered(me, seen *touch) bool {
	return t.warp == 0 || t.warp == me.warp && (t.clock != me.clock || t.lane == me.lane) || t.warp == seen.warp && t.clock <= seen.clock
}

// unknown reports whether the warp has not yet seen an access of another warp.
func (w *Warp) unknown(t *touch) bool {
	warps, block := w.b.run.warps, w.b.index
	index := t.warp - 1 - uint32(block)*warps
	if index >= warps { // the other warp is in another block
		block, index = uint64((t.warp-1)/warps), (t.warp-1)%warps
	}
	clocks := w.known[block]
	return clocks == nil || clocks[index] < t.clock
}

// raced records the accesses of lanes, and returns a fault if one races with an earlier access.
func (b *block) raced(w *Warp, in *Inst, m *memory.Allocation, sp SpaceKind, here uint32, n uint64, kind accessKind) Status {
	s := b.shadow
	if sp == SpaceGlobal {
		s = b.run.shadowOf(m)
	}
	strong := in.X.Strong || kind == accessAtomic
	me := touch{warp: uint32(b.index)*b.run.warps + w.index + 1, pc: w.pc, clock: w.clock, strong: strong, fixed: in.X.Constant}
	var seen touch // the last access of another warp that this warp has seen
	for e := here; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		if strong {
			w.strongAccess(in, sp, m.Addr+w.ofs[i], kind)
			me.clock = w.clock
		}
		me.lane = uint8(i)
		off := w.ofs[i]
		for end := off + n; off < end; {
			k := min(end-off, pageBytes-off%pageBytes)
			p := &s.pages[off/pageBytes]
			if (off|k)&(p.each-1) != 0 {
				p.cut(min((off|k)&-(off|k), cellBytes), s.pool)
			}
			at := off % pageBytes
			list := p.cells[at>>p.shift : (at+k)>>p.shift]
			for j := range list {
				c := &list[j]
				switch {
				case kind == accessRead:
					if c.w.warp == 0 || !me.fixed && c.w.ordered(&me, &seen) {
						break
					}
					switch unseen := w.unseen(&c.w, &me); {
					case me.fixed || unseen && !(strong && c.w.strong):
						return w.race(in, m, sp, i, n, kind, c.w, true)
					case !unseen && c.w.warp != me.warp:
						seen = c.w
					}
				case c.w.ordered(&me, &seen) && c.r.ordered(&me, &seen) && c.r2.ordered(&me, &seen) && !c.r.fixed && !c.r2.fixed:
				case w.unseen(&c.w, &me) && !(strong && c.w.strong) && !w.silent(in, m, sp, here, i, &c.w, &me):
					return w.race(in, m, sp, i, n, kind, c.w, true)
				case w.unseen(&c.r, &me) && !(strong && c.r.strong) || c.r.fixed:
					return w.race(in, m, sp, i, n, kind, c.r, false)
				case w.unseen(&c.r2, &me) && !(strong && c.r2.strong) || c.r2.fixed:
					return w.race(in, m, sp, i, n, kind, c.r2, false)
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
	return StatusNext
}

// silent reports whether a store writes the bytes that are already there, so that the order of the two stores does not matter.
func (w *Warp) silent(in *Inst, m *memory.Allocation, sp SpaceKind, here uint32, lane int, t, me *touch) bool {
	x := in.X
	if len(x.AA) == 0 || in.Class == ClassAtomic || x.N == 0 || x.Size == 0 || x.RMW != nil {
		return false
	}
	if t.warp == me.warp && t.pc == me.pc && here>>t.lane&1 != 0 && w.ofs[t.lane] == w.ofs[lane] { // two lanes of this store
		for _, r := range x.AA {
			if w.Regs[r][lane]&width64(x.Size) != w.Regs[r][t.lane]&width64(x.Size) {
				return false
			}
		}
		return true
	}
	var b [32]byte
	for k, r := range x.AA {
		put(b[uint64(k)*x.Size:], x.Size, w.Regs[r][lane])
	}
	n := x.Size * uint64(x.N)
	return bytes.Equal(b[:n], m.Data[w.ofs[lane]:w.ofs[lane]+n])
}

func width64(size uint64) uint64 {
	if size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*size) - 1
}

// race sets the fault for two unordered accesses, and returns the status of a fault. t is the earlier access; wrote reports whether
// it was a write.
func (w *Warp) race(in *Inst, m *memory.Allocation, sp SpaceKind, lane int, n uint64, kind accessKind, t touch, wrote bool) Status {
	st := w.badAddress(report.Race, in, lane, sp, m.Addr+w.ofs[lane], n)
	r := w.b.run
	block := uint64(t.warp-1) / uint64(r.warps)
	thread := (t.warp-1)%r.warps*32 + uint32(t.lane)
	what := "read"
	if wrote {
		what = "wrote"
	}
	line := int(w.code[t.pc].Line)
	w.b.fault.Detail = fmt.Sprintf("block %v, thread %v %s there in line %d (%s), and nothing orders the two", r.blockAt(block), r.threadAt(thread),
		what, line, TrimmedLine(r.Kernel.Source, line))
	return st
}

// shadowOf returns the shadow of an allocation in this launch.
func (r *launchRun) shadowOf(m *memory.Allocation) *shadow {
	if r.lastOf != m {
		s := r.shadows[m]
		if s == nil {
			if r.shadows == nil {
				r.shadows = map[*memory.Allocation]*shadow{}
			}
			s = newShadow(m.Size, r.cells)
			r.shadows[m] = s
		}
		r.lastOf, r.lastShadow = m, s
	}
	return r.lastShadow
}
