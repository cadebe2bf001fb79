package cudasim

import (
	"math/bits"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/ptxparse"
)

// handlers compiles each instruction by its first word. A handler takes the qualifiers that it knows.
var handlers map[string]func(c *compiler)

func init() {
	handlers = map[string]func(c *compiler){}
	for _, add := range []func(){addFlow, addInt, addBits, addFloat, addHalf, addConvert, addMove, addMemory, addAtomics, addWarp, addBarriers, addAsync, addMatrix} {
		add()
	}
}

func addFlow() {
	handlers["bra"] = func(c *compiler) {
		c.q.has("uni")
		o := c.args(1)[0]
		if o.Kind != ptxparse.KindLabel {
			fail("a label expected")
		}
		in := none(kindBra, classBranch)
		in.target = int32(o.Target)
		c.emit(in)
	}
	handlers["brx"] = compileBrx
	exit := func(c *compiler) {
		c.q.has("uni")
		c.args(0)
		c.emit(none(kindExit, classBranch))
	}
	handlers["ret"], handlers["exit"] = exit, exit
	handlers["trap"] = func(c *compiler) {
		c.args(0)
		in := none(kindFn, classOther)
		in.fn = func(w *warp, in *inst, exec uint32) status { return w.fail(Trap, in, exec, "") }
		c.emit(in)
	}
	handlers["brkpt"] = handlers["trap"]
	nothing := func(c *compiler) {
		in := none(kindFn, classOther)
		in.fn = func(*warp, *inst, uint32) status { return statusNext }
		c.emit(in)
	}
	handlers["nanosleep"] = func(c *compiler) {
		c.q.has("u32")
		c.src(c.args(1)[0], "u32")
		in := none(kindFn, classOther)
		in.fn = func(w *warp, _ *inst, _ uint32) status {
			w.poll()
			return statusYield
		}
		c.emit(in)
	}
	handlers["griddepcontrol"] = func(c *compiler) {
		which := c.q.one("launch_dependents", "wait")
		if which == "" {
			fail("launch_dependents or wait expected")
		}
		c.args(0)
		if which != "wait" {
			nothing(c)
			return
		}
		in := none(kindFn, classOther)
		in.fn = func(w *warp, _ *inst, exec uint32) status {
			if exec != 0 {
				w.b.run.waits.Store(true)
			}
			return statusNext
		}
		c.emit(in)
	}
	handlers["pmevent"] = func(c *compiler) {
		c.q.has("mask")
		c.args(1)
		nothing(c)
	}
}

// compileBrx is the indirect branch: an index into a list of labels.
func compileBrx(c *compiler) {
	if !c.q.has("idx") {
		fail("idx expected")
	}
	c.q.has("uni")
	args := c.args(2)
	if args[1].Kind != ptxparse.KindTargets {
		fail("a list of targets expected")
	}
	in := none(kindFn, classBranch)
	in.a, in.x = c.src(args[0], "u32"), &extra{}
	for _, e := range args[1].Elems {
		in.x.targets = append(in.x.targets, int32(e.Target))
	}
	in.fn = func(w *warp, in *inst, exec uint32) status {
		if rest := w.mask &^ exec; rest != 0 {
			w.groups = append(w.groups, group{pc: w.pc + 1, mask: rest})
		}
		a := &w.regs[in.a]
		for left := exec; left != 0; {
			i := bits.TrailingZeros32(left)
			v, same := a[i], uint32(0)
			if v >= uint64(len(in.x.targets)) {
				return w.fail(Trap, in, 1<<i, "the index is past the list of targets")
			}
			for m := left; m != 0; m &= m - 1 {
				if j := bits.TrailingZeros32(m); a[j] == v {
					same |= 1 << j
				}
			}
			w.groups = append(w.groups, group{pc: in.x.targets[v], mask: same})
			left &^= same
		}
		w.mask = 0
		return statusStay
	}
	c.emit(in)
}

// fail ends the launch with a fault of the first of lanes.
func (w *warp) fail(kind FaultKind, in *inst, lanes uint32, detail string) status {
	w.b.fault = w.fault(kind, in, lanes, detail)
	return statusFault
}

func (w *warp) fault(kind FaultKind, in *inst, lanes uint32, detail string) *Fault {
	k := w.b.run.kernel
	f := &Fault{Kind: kind, Kernel: k.name, Block: w.b.id, Detail: detail, Line: int(in.line)}
	f.Text = trimmedLine(k.source, f.Line)
	f.Thread = w.thread(bits.TrailingZeros32(lanes) & 31)
	return f
}

// thread gives the coordinates of a lane's thread in its block.
func (w *warp) thread(lane int) [3]uint32 { return w.b.run.threadAt(w.index*32 + uint32(lane)) }

func (r *launchRun) blockAt(i uint64) [3]uint32 {
	x, y := uint64(r.grid[0]), uint64(r.grid[1])
	return [3]uint32{uint32(i % x), uint32(i / x % y), uint32(i / x / y)}
}

func (r *launchRun) threadAt(t uint32) [3]uint32 {
	return [3]uint32{t % r.block[0], t / r.block[0] % r.block[1], t / r.block[0] / r.block[1]}
}

// poll notes that the warp looked at what others change.
func (w *warp) poll() {
	w.pollN++
	w.budget -= pollCost
	w.spun += pollCost
}

// polls reports whether the n instructions of the last turn did little else than look at what others change.
func (w *warp) polls(n uint64) bool {
	p := w.pollN
	w.pollN = 0
	return p*pollCost >= int(n)/2 && p > 0
}

// hung is the fault of a block that has run too long.
func (b *block) hung() status {
	w := &b.warps[slices.IndexFunc(b.warps, func(w warp) bool { return w.alive != 0 })]
	if w.mask == 0 && !w.pick() {
		w.pc, w.mask = w.groups[0].pc, w.groups[0].mask
	}
	return w.fail(Timeout, &w.code[w.pc], w.mask, "the block ran for longer than MaxSteps")
}

// left counts threads that have exited, and lets go a barrier that waited for no others.
func (b *block) left(w *warp, exec uint32) {
	b.alive -= uint32(bits.OnesCount32(exec))
	for i := range b.bars {
		b.bars[i].check(b)
	}
}

// special compiles the read of a special register into r.
func (c *compiler) special(r int32, name string) {
	f, ok := specials[name]
	if !ok {
		fail("special register %s is not known", name)
	}
	in := none(kindFn, classMove)
	in.d, in.x = r, &extra{sreg: f}
	in.fn = func(w *warp, in *inst, exec uint32) status {
		d := &w.regs[in.d]
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec)
			d[i] = in.x.sreg(w, i)
		}
		return statusNext
	}
	c.emit(in)
}

// Simulated SMs take blocks in turn.
func (w *warp) sm() uint64 { return w.b.index % uint64(w.b.run.multiprocessors()) }

var started = time.Now()

var specials = map[string]func(w *warp, lane int) uint64{
	"%laneid":         func(_ *warp, i int) uint64 { return uint64(i) },
	"%warpid":         func(w *warp, _ int) uint64 { return uint64(w.index) },
	"%nwarpid":        func(*warp, int) uint64 { return threadsPerSM / 32 },
	"%smid":           func(w *warp, _ int) uint64 { return w.sm() },
	"%nsmid":          func(w *warp, _ int) uint64 { return uint64(w.b.run.multiprocessors()) },
	"%gridid":         func(*warp, int) uint64 { return 1 },
	"%lanemask_eq":    func(_ *warp, i int) uint64 { return 1 << i },
	"%lanemask_lt":    func(_ *warp, i int) uint64 { return 1<<i - 1 },
	"%lanemask_le":    func(_ *warp, i int) uint64 { return 1<<(i+1) - 1 },
	"%lanemask_gt":    func(_ *warp, i int) uint64 { return 0xffffffff &^ (1<<(i+1) - 1) },
	"%lanemask_ge":    func(_ *warp, i int) uint64 { return 0xffffffff &^ (1<<i - 1) },
	"%clock":          func(w *warp, _ int) uint64 { return uint64(uint32(w.now())) },
	"%clock_hi":       func(w *warp, _ int) uint64 { return w.now() >> 32 },
	"%clock64":        func(w *warp, _ int) uint64 { return w.now() },
	"%globaltimer":    func(w *warp, _ int) uint64 { w.poll(); return uint64(time.Since(started)) + 1<<60 },
	"%globaltimer_lo": func(w *warp, _ int) uint64 { w.poll(); return uint64(uint32(time.Since(started))) },
	"%globaltimer_hi": func(*warp, int) uint64 { return 1 << 28 },

	"%dynamic_smem_size":   func(w *warp, _ int) uint64 { return uint64(w.b.run.launchSpec.shared) },
	"%total_smem_size":     func(w *warp, _ int) uint64 { return w.b.shared.size },
	"%is_explicit_cluster": func(*warp, int) uint64 { return 0 },
	"%cluster_ctarank":     func(*warp, int) uint64 { return 0 },
	"%cluster_nctarank":    func(*warp, int) uint64 { return 1 },
}

// now counts the warp's instructions; it stands for a clock.
func (w *warp) now() uint64 { return w.b.steps + w.steps }

func init() {
	for i, axis := range []string{".x", ".y", ".z"} {
		specials["%tid"+axis] = func(w *warp, lane int) uint64 { return uint64(w.thread(lane)[i]) }
		specials["%ntid"+axis] = func(w *warp, _ int) uint64 { return uint64(w.b.run.block[i]) }
		specials["%ctaid"+axis] = func(w *warp, _ int) uint64 { return uint64(w.b.id[i]) }
		specials["%nctaid"+axis] = func(w *warp, _ int) uint64 { return uint64(w.b.run.grid[i]) }
		specials["%cluster_ctaid"+axis] = func(*warp, int) uint64 { return 0 }
		specials["%cluster_nctaid"+axis] = func(*warp, int) uint64 { return 1 }
		specials["%clusterid"+axis] = specials["%ctaid"+axis]
		specials["%nclusterid"+axis] = specials["%nctaid"+axis]
	}
}
