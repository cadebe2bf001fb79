package cudasim

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/internal/ptxparse"
)

// mbar is an mbarrier object: eight bytes of shared memory, whose layout is this package's own.
type mbar struct {
	phase   uint64 // completed phases, its last bit is the parity; 12 bits
	count   uint64 // arrivals that a phase expects; 15 bits
	pending uint64 // arrivals that are still to come; 15 bits
	tx      int64  // bytes that are still to come; 21 bits
	ready   bool
}

const mbarReady = uint64(1) << 63

func readMbar(b *block, at uint64) mbar {
	v := binary.LittleEndian.Uint64(b.shared.data[at:])
	return mbar{phase: v & 0xfff, count: v >> 12 & 0x7fff, pending: v >> 27 & 0x7fff, tx: int64(v<<1) >> 43, ready: v&mbarReady != 0}
}

func (m *mbar) write(b *block, at uint64) {
	v := m.phase&0xfff | m.count<<12 | m.pending<<27 | uint64(m.tx)&(1<<21-1)<<42
	if m.ready {
		v |= mbarReady
	}
	binary.LittleEndian.PutUint64(b.shared.data[at:], v)
	b.shared.mark(at, 8)
}

// settle begins the next phase if nothing is awaited in this one.
func (m *mbar) settle() {
	if m.pending == 0 && m.tx == 0 {
		m.phase++
		m.pending = m.count
	}
}

// mbarAt is one lane's step on the object at at.
type mbarStep func(w *warp, in *inst, lane int, m *mbar, at uint64) error

func compileMbarrier(c *compiler) {
	op := c.q.one("init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "expect_tx", "complete_tx", "pending_count")
	switch op {
	case "pending_count":
		c.intType("b64")
		args := c.args(2)
		c.alu(classSync, func(d, a, _, _ *lanes) {
			for i := range d {
				d[i] = a[i] >> 27 & 0x7fff
			}
		}, c.dst(args[0], "u32"), c.src(args[1], "b64"))
	case "init":
		c.mbar(1, func(w *warp, in *inst, i int, m *mbar, _ uint64) error {
			n := w.regs[in.b][i]
			if n == 0 || n > 0x7fff {
				return fmt.Errorf("an mbarrier of %d arrivals", n)
			}
			*m = mbar{count: n, pending: n, ready: true}
			return nil
		})
	case "inval":
		c.mbar(0, func(_ *warp, _ *inst, _ int, m *mbar, _ uint64) error {
			*m = mbar{}
			return nil
		})
	case "arrive", "arrive_drop":
		compileArrive(c, op == "arrive_drop")
	case "expect_tx", "complete_tx":
		sign := int64(1)
		if op == "complete_tx" {
			sign = -1
		}
		c.mbar(1, func(w *warp, in *inst, i int, m *mbar, _ uint64) error {
			m.tx += sign * int64(w.regs[in.b][i])
			m.settle()
			return nil
		})
	case "test_wait", "try_wait":
		compileTestWait(c, op == "try_wait")
	default:
		fail("an operation on an mbarrier expected")
	}
}

// mbarMods takes the qualifiers that order memory, and gives the space.
func (c *compiler) mbarMods() spaceKind {
	c.q.has("noComplete")
	c.q.one("release", "acquire", "relaxed")
	c.q.one("cta", "cluster")
	space := spaceByName[c.q.one("shared", "shared::cta", "shared::cluster")]
	c.intType("b64")
	return space
}

// mbar emits an instruction on one object for each lane, with count more operands behind its address; extra operands before
// the address are the caller's. in.b is the first operand behind it.
func (c *compiler) mbar(more int, step mbarStep) {
	in := none(kindFn, classSync)
	in.x = &extra{space: c.mbarMods()}
	args := c.args(1 + more)
	if more > 0 {
		in.b = c.src(args[1], "u32")
	}
	c.emitMbar(in, args[0], step)
}

func (c *compiler) emitMbar(in inst, at ptxparse.Operand, step mbarStep) {
	in.x.size, in.x.n = 8, 1
	in.apart = true
	c.setAddress(&in, at)
	in.fn = func(w *warp, in *inst, exec uint32) status {
		_, here, _, sp, st := w.access(in, exec, 8)
		if st != statusNext {
			return st
		}
		if sp != spaceShared || here != exec {
			return w.fail(OutOfBounds, in, exec, "an mbarrier outside of shared memory")
		}
		ofs := w.ofs
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			m := readMbar(w.b, ofs[i])
			was := m
			if err := step(w, in, i, &m, ofs[i]); err != nil {
				return w.fail(Trap, in, 1<<i, err.Error())
			}
			if !was.ready && !m.ready && was != (mbar{}) {
				return w.fail(Trap, in, 1<<i, "the mbarrier was not initialised")
			}
			if m != was {
				m.write(w.b, ofs[i])
			}
		}
		return statusNext
	}
	c.emit(in)
}

// state is the token that arrive gives: the object as it is.
func (m *mbar) state() uint64 { return m.phase&0xfff | m.pending<<27 }

func compileArrive(c *compiler, drop bool) {
	expect := c.q.has("expect_tx")
	in := none(kindFn, classSync)
	in.x = &extra{space: c.mbarMods()}
	args := c.args(1, 2, 3)
	if args[0].Kind != ptxparse.KindAddress {
		in.d = c.dst(args[0], "b64")
		args = args[1:]
	}
	counted := len(args) > 1
	if counted {
		in.b = c.src(args[1], "u32")
	}
	c.emitMbar(in, args[0], func(w *warp, in *inst, i int, m *mbar, at uint64) error {
		if !m.ready {
			return fmt.Errorf("the mbarrier at %#x was not initialised", at)
		}
		w.releaseTo(i, at)
		w.regs[in.d][i] = m.state()
		n := uint64(1)
		switch {
		case expect:
			m.tx += int64(w.regs[in.b][i])
		case counted:
			n = w.regs[in.b][i]
		}
		if n > m.pending {
			return fmt.Errorf("%d arrivals at an mbarrier that expects %d more", n, m.pending)
		}
		m.pending -= n
		if drop {
			m.count -= n
		}
		m.settle()
		return nil
	})
}

// compileTestWait looks whether a phase, named by its token or its parity, has ended. The copies that it waits for land now.
func compileTestWait(c *compiler, try bool) {
	parity := c.q.has("parity")
	in := none(kindFn, classSync)
	in.x = &extra{space: c.mbarMods()}
	args := c.args(3, 4) // a time limit may follow
	if !try {
		c.args(3)
	}
	in.pd = c.predDst(args[0])
	if parity {
		in.b = c.src(args[2], "u32")
	} else {
		in.b = c.src(args[2], "b64")
	}
	c.emitMbar(in, args[1], func(w *warp, in *inst, i int, m *mbar, at uint64) error {
		if !m.ready {
			return fmt.Errorf("the mbarrier at %#x was not initialised", at)
		}
		w.b.landBulk(func(p *bulkCopy) bool { return p.bar == at })
		*m = readMbar(w.b, at)
		done := m.phase&1 != w.regs[in.b][i]&1
		if !parity {
			done = m.phase != w.regs[in.b][i]&0xfff
		}
		w.preds[in.pd] &^= 1 << i
		if done {
			w.preds[in.pd] |= 1 << i
			w.acquireFrom(i, at)
		} else {
			w.poll()
		}
		return nil
	})
}

// compileCopyArrive makes an mbarrier count a thread once its earlier cp.async have landed, which they do now.
func compileCopyArrive(c *compiler) {
	if !c.q.has("arrive") {
		fail("arrive expected")
	}
	again := !c.q.has("noinc")
	in := none(kindFn, classSync)
	in.x = &extra{space: c.mbarMods()}
	c.emitMbar(in, c.args(1)[0], func(w *warp, _ *inst, i int, m *mbar, at uint64) error {
		if !m.ready {
			return fmt.Errorf("the mbarrier at %#x was not initialised", at)
		}
		w.cp.land(w, i, ^uint32(0))
		w.releaseTo(i, at)
		if again { // the count was raised for this arrival
			return nil
		}
		if m.pending == 0 {
			return fmt.Errorf("an arrival at an mbarrier that expects none")
		}
		m.pending--
		m.settle()
		return nil
	})
}

// compileBulk is cp.async.bulk: one thread copies a stretch of memory.
func compileBulk(c *compiler) {
	switch {
	case c.q.has("commit_group"):
		c.args(0)
		in := none(kindFn, classSync)
		in.fn = func(w *warp, _ *inst, exec uint32) status {
			for ; exec != 0; exec &= exec - 1 {
				w.bulkOpen[bits.TrailingZeros32(exec)&31]++
			}
			return statusNext
		}
		c.emit(in)
		return
	case c.q.has("wait_group"):
		c.q.has("read")
		o := c.args(1)[0]
		in := none(kindFn, classSync)
		in.fn = func(w *warp, _ *inst, exec uint32) status {
			w.b.landBulk(func(p *bulkCopy) bool {
				return p.warp == w.index && exec>>p.lane&1 != 0 && p.bar == ^uint64(0) && uint64(p.group)+o.Value < uint64(w.bulkOpen[p.lane])
			})
			return statusNext
		}
		c.emit(in)
		return
	}
	prefetch := c.q.has("prefetch")
	var where []string
	for {
		s := c.q.one("shared::cluster", "shared::cta", "shared", "global", "L2")
		if s == "" {
			break
		}
		where = append(where, s)
	}
	barred := c.q.has("mbarrier::complete_tx::bytes")
	c.q.has("bulk_group")
	hint := c.q.has("L2::cache_hint")
	if prefetch {
		in := none(kindFn, classMemory)
		in.fn = func(*warp, *inst, uint32) status { return statusNext }
		c.emit(in)
		return
	}
	n := 3
	if barred {
		n++
	}
	if hint {
		n++
	}
	args := c.args(n)
	if len(where) != 2 {
		fail("a destination and a source expected")
	}
	c.emitBulk(args, where[0], where[1], barred)
}

func (c *compiler) emitBulk(args []ptxparse.Operand, to, from string, barred bool) {
	src := inst{x: &extra{space: spaceByName[from]}}
	c.setAddress(&src, args[1])
	dst := inst{x: &extra{space: spaceByName[to]}}
	c.setAddress(&dst, args[0])
	in := none(kindFn, classMemory)
	in.x = &extra{aa: []int32{src.a, dst.a, -1}}
	in.a = c.src(args[2], "u32")
	bar := inst{x: &extra{space: spaceShared}}
	if barred {
		c.setAddress(&bar, args[3])
		in.x.aa[2] = bar.a
	}
	in.fn = func(w *warp, in *inst, exec uint32) status {
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec) & 31
			n := w.regs[in.a][i]
			if n == 0 || n&15 != 0 {
				return w.fail(Misaligned, in, 1<<i, fmt.Sprintf("a bulk copy of %d bytes is no multiple of 16", n))
			}
			p := bulkCopy{bar: ^uint64(0), warp: w.index, lane: i, group: w.bulkOpen[i]}
			find := func(proto inst, r int32, kind accessKind) (*allocation, uint64, status) {
				at := proto
				at.a, at.line = r, in.line
				m, _, _, sp, st := w.accessLong(&at, i, n)
				if st == statusNext && w.b.watching {
					st = w.b.observe(w, &at, m, sp, 1<<i, n, kind)
				}
				return m, w.ofs[i], st
			}
			m, off, st := find(src, in.x.aa[0], accessRead)
			if st != statusNext {
				return st
			}
			p.src = m.data[off : off+n]
			if p.to, p.off, st = find(dst, in.x.aa[1], accessCopy); st != statusNext {
				return st
			}
			p.dst = p.to.data[p.off : p.off+n]
			if barred {
				at := bar
				at.a, at.line = in.x.aa[2], in.line
				_, _, _, _, st := w.access(&at, 1<<i, 8)
				if st != statusNext {
					return st
				}
				p.bar = w.ofs[i]
				w.releaseTo(i, p.bar)
			}
			w.b.bulk = append(w.b.bulk, p)
		}
		return statusNext
	}
	c.emit(in)
}

// accessLong is access for one lane and n bytes aligned to 16.
func (w *warp) accessLong(in *inst, lane int, n uint64) (m *allocation, here, rest uint32, sp spaceKind, st status) {
	m, here, rest, sp, st = w.access(in, 1<<lane, 16)
	if st == statusNext && n > m.size-w.ofs[lane] {
		return nil, 0, 0, sp, w.badAddress(OutOfBounds, in, lane, sp, m.addr+w.ofs[lane], n)
	}
	return m, here, rest, sp, st
}
