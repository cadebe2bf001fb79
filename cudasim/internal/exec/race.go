package exec

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// The race check follows what orders the accesses of threads. Each warp has a clock that ticks when it lets others see what it
// did: at barriers, releases and the collectives of a warp. A warp knows, of each other warp, up to which clock it has seen it.
// An access races with an earlier one of another thread that its warp has not seen, if one of the two writes and they are not
// both atomic or otherwise strong. Lanes of a warp are ordered by the warp's collectives.
//
// Where the rules of PTX leave it open whether two accesses are ordered the check takes them as ordered: what it reports is a
// race, and it may miss one. Scopes count as wide enough. It runs on one worker.

// unseen reports whether an earlier access is neither the thread's own, which me is of, nor known to its warp.
func (w *Warp) unseen(t, me *touch) bool {
	if t.warp == me.warp {
		return t.clock == me.clock && t.lane != me.lane
	}
	return t.warp != 0 && w.unknown(t)
}

// unknown reports whether the access of another warp is not known to this one.
func (w *Warp) unknown(t *touch) bool {
	warps, block := w.b.run.warps, w.b.index
	index := t.warp - 1 - uint32(block)*warps
	if index >= warps { // of another block
		block, index = uint64((t.warp-1)/warps), (t.warp-1)%warps
	}
	clocks := w.known[block]
	return clocks == nil || clocks[index] < t.clock
}

// raced notes the accesses of lanes, and finds one that races with an earlier one.
func (b *block) raced(w *Warp, in *Inst, m *memory.Allocation, sp SpaceKind, here uint32, n uint64, kind accessKind) Status {
	s := b.shadow
	if sp == SpaceGlobal {
		s = b.run.shadowOf(m)
	}
	strong := in.X.Strong || kind == accessAtomic
	me := touch{warp: uint32(b.index)*b.run.warps + w.index + 1, pc: w.pc, strong: strong, fixed: in.X.Constant}
	for e := here; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		if strong {
			w.strongAccess(in, sp, m.Addr+w.ofs[i], kind)
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
	return StatusNext
}

// silent reports whether a store writes what is there, so that it does not matter which of two comes first.
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

// race is the fault of two accesses that nothing orders.
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

// shadowOf gives the shadow of an allocation in this launch.
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
