package cudasim

import (
	"math/bits"

	"github.com/robocache/robocache/internal/ptxparse"
)

// An asynchronous copy lands when its thread waits for it, and not before: what reads its destination earlier reads what was
// there. The copies of a thread are taken in groups.

// pendingCopy is one cp.async of a lane.
type pendingCopy struct {
	lane  int
	group uint32 // of the lane; those not yet committed have the group that is open
	in    *inst
	dst   uint64 // in shared memory
	src   []byte // nil: zeros
	n     uint64 // bytes of dst; what src lacks is zero
}

// copies are the asynchronous copies that a warp's lanes have begun, the oldest first.
type copies struct {
	list []pendingCopy
	open [32]uint32 // each lane's group that is open
}

func (c *copies) reset() {
	c.list = c.list[:0]
	clear(c.open[:])
}

// land ends the copies of a lane in groups before limit.
func (c *copies) land(w *warp, lane int, limit uint32) {
	kept := c.list[:0]
	for _, p := range c.list {
		if p.lane != lane || p.group >= limit {
			kept = append(kept, p)
			continue
		}
		w.b.deliver(p.dst, p.src, p.n)
	}
	c.list = kept
}

// leave ends what lanes that exit have begun.
func (c *copies) leave(w *warp, exec uint32) {
	if len(c.list) == 0 {
		return
	}
	for ; exec != 0; exec &= exec - 1 {
		c.land(w, bits.TrailingZeros32(exec), ^uint32(0))
	}
}

// deliver writes to shared memory what a copy brings.
func (b *block) deliver(dst uint64, src []byte, n uint64) {
	d := b.shared.data[dst : dst+n]
	clear(d[copy(d, src):])
	b.shared.mark(dst, n)
}

// bulkCopy is a cp.async.bulk that the block waits for through an mbarrier or a bulk group.
type bulkCopy struct {
	dst, src []byte
	to       *allocation
	off      uint64
	bar      uint64 // mbarrier in shared memory, ^0 for none
	warp     uint32
	lane     int
	group    uint32
}

// land does the copy and tells its mbarrier.
func (p *bulkCopy) land(b *block) {
	copy(p.dst, p.src)
	p.to.mark(p.off, uint64(len(p.dst)))
	if p.bar != ^uint64(0) {
		m := readMbar(b, p.bar)
		m.tx -= int64(len(p.dst))
		m.settle()
		m.write(b, p.bar)
	}
}

// landBulk does the copies that match.
func (b *block) landBulk(match func(p *bulkCopy) bool) {
	kept := b.bulk[:0]
	for _, p := range b.bulk {
		if match(&p) {
			p.land(b)
		} else {
			kept = append(kept, p)
		}
	}
	b.bulk = kept
}

func addAsync() {
	handlers["cp"] = compileCopy
	handlers["mbarrier"] = compileMbarrier
}

// compileCopy is cp.async and its companions.
func compileCopy(c *compiler) {
	if !c.q.has("async") {
		fail("async expected")
	}
	switch {
	case c.q.has("bulk"):
		compileBulk(c)
	case c.q.has("commit_group"):
		c.args(0)
		in := none(kindFn, classSync)
		in.fn = func(w *warp, _ *inst, exec uint32) status {
			for ; exec != 0; exec &= exec - 1 {
				w.cp.open[bits.TrailingZeros32(exec)&31]++
			}
			return statusNext
		}
		c.emit(in)
	case c.q.has("wait_all"):
		c.args(0)
		c.emitWait(^uint32(0))
	case c.q.has("wait_group"):
		o := c.args(1)[0]
		if o.Kind != ptxparse.KindInt {
			fail("a number expected")
		}
		c.emitWait(uint32(o.Value))
	case c.q.has("mbarrier"):
		compileCopyArrive(c)
	default:
		compileCopyBytes(c)
	}
}

// emitWait waits for all but the last keep groups; keep of all ones is wait_all, which takes the open group too.
func (c *compiler) emitWait(keep uint32) {
	in := none(kindFn, classSync)
	in.fn = func(w *warp, _ *inst, exec uint32) status {
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec) & 31
			switch open := w.cp.open[i]; {
			case keep == ^uint32(0):
				w.cp.land(w, i, keep)
			case open > keep:
				w.cp.land(w, i, open-keep)
			}
		}
		return statusNext
	}
	c.emit(in)
}

// compileCopyBytes is cp.async of 4, 8 or 16 bytes from global to shared memory.
func compileCopyBytes(c *compiler) {
	if c.q.one("ca", "cg") == "" || c.q.one("shared", "shared::cta") == "" || !c.q.has("global") {
		fail("a copy from global to shared memory expected")
	}
	for c.q.one("L2::cache_hint", "L2::64B", "L2::128B", "L2::256B") != "" {
	}
	args := c.args(3, 4, 5)
	if args[2].Kind != ptxparse.KindInt || args[2].Value != 4 && args[2].Value != 8 && args[2].Value != 16 {
		fail("a size of 4, 8 or 16 bytes expected")
	}
	n := args[2].Value
	// The source comes first in a micro-operation of its own shape: a is the source, x.aa[0] the destination's register.
	in := none(kindFn, classMemory)
	in.x = &extra{n: 1, size: n, space: spaceGlobal}
	c.setAddress(&in, args[1])
	to := inst{x: &extra{space: spaceShared}}
	c.setAddress(&to, args[0])
	in.x.aa = []int32{to.a}
	dst := inst{x: to.x, a: -1}
	ignore := int32(-1)
	for _, o := range args[3:] {
		switch {
		case o.Kind == ptxparse.KindReg && isPred(c.kinds[o.Reg]):
			in.pa, in.ax = c.pred(o)
			ignore = in.pa
		case o.Kind == ptxparse.KindReg && ptxparse.TypeSize(c.kinds[o.Reg]) == 8: // a cache policy
		case o.Kind == ptxparse.KindReg || o.Kind == ptxparse.KindInt:
			in.b = c.src(o, "u32")
		}
	}
	sized := in.b >= 0
	in.fn = func(w *warp, in *inst, exec uint32) status {
		skip := uint32(0)
		if ignore >= 0 {
			skip = (w.preds[in.pa] ^ in.ax) & exec
		}
		if sized {
			for e := exec; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				if have := w.regs[in.b][i]; have == 0 {
					skip |= 1 << i
				} else if have > n {
					return w.fail(OutOfBounds, in, 1<<i, "the source is longer than the copy")
				}
			}
		}
		var from [32][]byte
		for rest := exec &^ skip; rest != 0; {
			m, here, more, sp, st := w.access(in, rest, n)
			if st != statusNext {
				return st
			}
			rest = more
			if w.b.watching {
				if st := w.b.observe(w, in, m, sp, here, n, accessRead); st != statusNext {
					return st
				}
			}
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				have := n
				if sized {
					have = w.regs[in.b][i]
				}
				from[i] = m.data[w.ofs[i] : w.ofs[i]+have]
			}
		}
		shared := dst
		shared.a, shared.line = in.x.aa[0], in.line
		m, here, _, sp, st := w.access(&shared, exec, n)
		if st != statusNext {
			return st
		}
		if w.b.watching {
			if st := w.b.observe(w, &shared, m, sp, here, n, accessCopy); st != statusNext {
				return st
			}
		}
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			w.cp.list = append(w.cp.list, pendingCopy{lane: i, group: w.cp.open[i], in: in, dst: w.ofs[i], src: from[i], n: n})
		}
		return statusNext
	}
	c.emit(in)
}

// compileFence orders memory.
func compileFence(c *compiler) {
	proxy := c.q.has("proxy")
	if c.q.has("mbarrier_init") {
		c.q.has("release")
		c.q.has("cluster")
	}
	c.q.one("sc", "acq_rel", "acquire", "release", "alias", "async", "async.global", "async.shared::cta")
	c.q.one("cta", "gpu", "sys", "cluster", "gl")
	c.q.one("global", "shared::cta", "shared::cluster")
	c.args(0)
	in := none(kindFn, classSync)
	in.fn = func(w *warp, in *inst, exec uint32) status {
		if !proxy {
			w.ordered(exec)
		}
		return statusNext
	}
	c.emit(in)
}
