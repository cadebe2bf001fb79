package exec

import (
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// An asynchronous copy lands when its thread waits for it. An earlier read of the destination gets the old bytes. A thread's copies
// form groups.

func (c *copies) reset() {
	c.list = c.list[:0]
	clear(c.open[:])
}

// land ends the copies of a lane in groups before limit.
func (c *copies) land(w *Warp, lane int, limit uint32) {
	kept := c.list[:0]
	for i := range c.list {
		p := &c.list[i]
		if p.lane != uint32(lane) || p.group >= limit {
			kept = append(kept, *p)
			continue
		}
		w.b.deliver(p.dst, p.src, p.n)
	}
	c.list = kept
}

// leave completes the copies of lanes that exit.
func (c *copies) leave(w *Warp, exec uint32) {
	if len(c.list) == 0 {
		return
	}
	for ; exec != 0; exec &= exec - 1 {
		c.land(w, bits.TrailingZeros32(exec), ^uint32(0))
	}
}

// deliver writes the bytes of a copy to shared memory.
func (b *block) deliver(dst uint64, src []byte, n uint64) {
	d := b.shared.Data[dst : dst+n]
	clear(d[copy(d, src):])
	b.shared.Mark(dst, n)
}

// CommitCopies executes cp.async.commit_group.
func CommitCopies(w *Warp, _ *Inst, exec uint32) Status {
	for ; exec != 0; exec &= exec - 1 {
		w.cp.open[bits.TrailingZeros32(exec)&31]++
	}
	return StatusNext
}

// WaitCopies returns the step that waits for all but the last keep groups. All ones is wait_all, which includes the open group.
func WaitCopies(keep uint32) Step {
	return func(w *Warp, _ *Inst, exec uint32) Status {
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec) & 31
			switch open := w.cp.open[i]; {
			case keep == ^uint32(0):
				w.cp.land(w, i, keep)
			case open > keep:
				w.cp.land(w, i, open-keep)
			}
		}
		return StatusNext
	}
}

// CopyBytes returns the step of cp.async: n bytes a lane, from in.A in global memory to in.X.AA[0] in shared memory; to holds the
// destination's space and offset. If sized is set, a lane copies in.B bytes and fills the rest with zeros. If guarded is set, a lane
// copies no bytes where the predicate in.PA is set.
func CopyBytes(n uint64, sized, guarded bool, to *Extra) Step {
	return func(w *Warp, in *Inst, exec uint32) Status {
		skip := uint32(0)
		if guarded {
			skip = (w.Preds[in.PA] ^ in.AX) & exec
		}
		if sized {
			for e := exec; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				if have := w.Regs[in.B][i]; have == 0 {
					skip |= 1 << i
				} else if have > n {
					return w.Fail(report.OutOfBounds, in, 1<<i, "the source is longer than the copy")
				}
			}
		}
		var from [32][]byte
		for rest := exec &^ skip; rest != 0; {
			m, here, more, _, st := w.access(in, rest, n, accessRead)
			if st != StatusNext {
				return st
			}
			rest = more
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				have := n
				if sized {
					have = w.Regs[in.B][i]
				}
				from[i] = m.Data[w.ofs[i] : w.ofs[i]+have]
			}
		}
		shared := Inst{X: to, A: in.X.AA[0], Line: in.Line}
		_, here, _, _, st := w.access(&shared, exec, n, accessCopy)
		if st != StatusNext {
			return st
		}
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			w.cp.list = append(w.cp.list, pendingCopy{lane: uint32(i), group: w.cp.open[i], dst: w.ofs[i], src: from[i], n: n})
		}
		return StatusNext
	}
}

// Fence orders the accesses of a warp.
func Fence(w *Warp, _ *Inst, _ uint32) Status {
	w.ordered()
	return StatusNext
}
