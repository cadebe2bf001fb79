package cudasim

import (
	"fmt"
	"math/bits"
)

// barSpec is what a barrier instruction does.
type barSpec struct {
	aligned bool // all lanes of the warp run it together
	arrive  bool // counts and goes on
	red     string
	counted bool // in.b says how many threads take part
}

// barrier is one of a block's 16.
type barrier struct {
	arrived  uint32 // threads
	expected uint32 // 0: all that have not exited
	waiting  bool
	votes    uint32 // threads whose predicate was set
	red      string
	known    seen // what those that arrived knew
	fenced   seen
}

func addBarriers() {
	handlers["bar"] = func(c *compiler) {
		if c.q.has("warp") {
			compileWarpBarrier(c)
			return
		}
		compileBarrier(c, true)
	}
	handlers["barrier"] = func(c *compiler) {
		if c.q.has("cluster") {
			compileClusterBarrier(c)
			return
		}
		compileBarrier(c, false)
	}
}

func compileWarpBarrier(c *compiler) {
	if !c.q.has("sync") {
		fail("sync expected")
	}
	c.collective(none(kindFn, classSync), c.args(1)[0], func(*warp, *inst, uint32) {})
}

// compileClusterBarrier is a barrier of the block: clusters have one block here.
func compileClusterBarrier(c *compiler) {
	kind := c.q.one("arrive", "wait")
	c.q.one("release", "acquire", "relaxed")
	c.q.has("aligned")
	c.args(0)
	switch kind {
	case "arrive":
		in := none(kindFn, classSync)
		in.fn = func(*warp, *inst, uint32) status { return statusNext }
		c.emit(in)
	case "wait":
		in := none(kindFn, classSync)
		in.a, in.x = c.constant(15), &extra{}
		in.fn = barSync
		c.emit(in)
	default:
		fail("arrive or wait expected")
	}
}

func compileBarrier(c *compiler, aligned bool) {
	c.q.has("cta")
	s := barSpec{aligned: aligned}
	kind := c.q.one("sync", "arrive", "red")
	if c.q.has("aligned") {
		s.aligned = true
	}
	in := none(kindFn, classSync)
	in.apart = true
	in.x = &extra{}
	args := c.at.Args
	switch kind {
	case "sync":
		c.args(1, 2)
	case "arrive":
		c.args(2)
		s.arrive = true
	case "red":
		s.red = c.q.one("popc", "and", "or")
		c.args(3, 4)
		if s.red == "popc" {
			c.intType("u32")
			in.d = c.dst(args[0], "u32")
		} else {
			c.intType("pred")
			in.pd = c.predDst(args[0])
		}
		in.pa, in.ax = c.pred(args[len(args)-1])
		args = args[1 : len(args)-1]
	default:
		fail("sync, arrive or red expected")
	}
	in.a = c.src(args[0], "u32")
	if len(args) == 2 {
		in.b, s.counted = c.src(args[1], "u32"), true
	}
	in.x.bar = s
	in.fn = barSync
	c.emit(in)
}

// barSync counts the lanes at a barrier; without arrive they wait until it completes.
func barSync(w *warp, in *inst, exec uint32) status {
	s := in.x.bar
	if s.aligned && exec != w.alive {
		return w.park(exec, waitGather, 0)
	}
	first := bits.TrailingZeros32(exec) & 31
	id := w.regs[in.a][first]
	for e := exec; e != 0; e &= e - 1 {
		if i := bits.TrailingZeros32(e) & 31; w.regs[in.a][i] != id || s.counted && w.regs[in.b][i] != w.regs[in.b][first] {
			return w.fail(DivergentBarrier, in, 1<<i, "threads of one warp name different barriers")
		}
	}
	if id > 15 {
		return w.fail(DivergentBarrier, in, exec, fmt.Sprintf("barrier %d of 16", id))
	}
	bar := &w.b.bars[id]
	expected := uint32(0)
	if s.counted {
		expected = uint32(w.regs[in.b][first])
		if expected == 0 || expected%32 != 0 {
			return w.fail(DivergentBarrier, in, exec, fmt.Sprintf("%d threads are no multiple of a warp", expected))
		}
	}
	if bar.arrived > 0 && bar.expected != expected {
		return w.fail(DivergentBarrier, in, exec, fmt.Sprintf("barrier %d is waited for with %d threads and with %d", id, bar.expected, expected))
	}
	bar.expected = expected
	n := uint32(bits.OnesCount32(exec))
	if s.aligned && s.counted {
		n = 32 // a warp counts whole
	}
	bar.arrived += n
	bar.votes += uint32(bits.OnesCount32((w.preds[in.pa] ^ in.ax) & exec))
	w.arrived(bar, exec)
	if s.red != "" {
		bar.red = s.red
	}
	if s.arrive {
		bar.check(w.b)
		return statusNext
	}
	w.park(exec, waitBar, uint8(id))
	bar.waiting = true
	bar.check(w.b)
	return statusStay
}

// check completes the barrier if all that it waits for have arrived.
func (bar *barrier) check(b *block) {
	want := bar.expected
	if want == 0 {
		want = b.alive
	}
	if bar.arrived == 0 || bar.arrived < want {
		return
	}
	total := bar.arrived
	id := -1
	for i := range b.bars {
		if &b.bars[i] == bar {
			id = i
		}
	}
	if b.counts != nil {
		b.counts.Barriers++
	}
	b.completed(bar, id)
	for i := range b.warps {
		w := &b.warps[i]
		for j := range w.groups {
			g := &w.groups[j]
			if g.wait != waitBar || int(g.bar) != id {
				continue
			}
			in := &w.code[g.pc]
			switch in.x.bar.red {
			case "popc":
				w.spread(in.d, g.mask, uint64(bar.votes))
			case "and", "or":
				w.preds[in.pd] &^= g.mask
				if in.x.bar.red == "and" && bar.votes == total || in.x.bar.red == "or" && bar.votes > 0 {
					w.preds[in.pd] |= g.mask
				}
			}
			g.pc++
			g.wait = waitNone
		}
	}
	*bar = barrier{}
}

// deadlock is the fault of a block whose warps all wait.
func (b *block) deadlock() status {
	for i := range b.warps {
		w := &b.warps[i]
		for _, g := range w.groups {
			if g.wait == waitGather {
				missing := w.alive &^ g.mask
				return w.fail(DivergentBarrier, &w.code[g.pc], g.mask,
					fmt.Sprintf("lanes %#x of the warp wait here, and lanes %#x do not come", g.mask, missing))
			}
		}
	}
	for i := range b.warps {
		w := &b.warps[i]
		for _, g := range w.groups {
			if g.wait == waitBar {
				bar := &b.bars[g.bar]
				want := bar.expected
				if want == 0 {
					want = b.alive
				}
				return w.fail(DivergentBarrier, &w.code[g.pc], g.mask,
					fmt.Sprintf("%d threads wait at barrier %d, which %d are to reach", bar.arrived, g.bar, want))
			}
		}
	}
	panic("cudasim: a block without a warp that runs or waits")
}
