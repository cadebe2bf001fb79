package cudasim

import (
	"math/bits"

	"github.com/robocache/robocache/internal/ptxparse"
)

func addWarp() {
	handlers["shfl"] = compileShuffle
	handlers["vote"] = compileVote
	handlers["match"] = compileMatch
	handlers["redux"] = compileRedux
	handlers["activemask"] = func(c *compiler) {
		c.intType("b32")
		in := none(kindFn, classSync)
		in.d = c.dst(c.args(1)[0], "b32")
		in.fn = func(w *warp, in *inst, exec uint32) status {
			w.spread(in.d, exec, uint64(exec))
			return statusNext
		}
		c.emit(in)
	}
	handlers["elect"] = func(c *compiler) {
		if !c.q.has("sync") {
			fail("sync expected")
		}
		args := c.args(2)
		if args[0].Kind != ptxparse.KindPair {
			fail("a register and a predicate expected")
		}
		in := none(kindFn, classSync)
		in.apart = true
		in.pd = c.predDst(args[0].Elems[1])
		if e := args[0].Elems[0]; e.Kind == ptxparse.KindReg {
			in.d = c.dst(e, "b32")
		}
		c.collective(in, args[1], func(w *warp, in *inst, exec uint32) {
			i := bits.TrailingZeros32(exec)
			w.spread(in.d, exec, uint64(i))
			w.preds[in.pd] = w.preds[in.pd]&^exec | 1<<i
		})
	}
}

// spread gives all lanes of exec one value.
func (w *warp) spread(r int32, exec uint32, v uint64) {
	d := &w.regs[r]
	for ; exec != 0; exec &= exec - 1 {
		d[bits.TrailingZeros32(exec)&31] = v
	}
}

// collective emits an instruction that waits for the lanes of a member mask, which is the same in all of them. The mask's
// register becomes in.c.
func (c *compiler) collective(in inst, mask ptxparse.Operand, f func(w *warp, in *inst, exec uint32)) {
	in.c = c.src(mask, "b32")
	in.fn = func(w *warp, in *inst, exec uint32) status {
		masks := &w.regs[in.c]
		for left := exec; left != 0; {
			i := bits.TrailingZeros32(left) & 31
			need := uint32(masks[i])
			same := uint32(0)
			for e := left; e != 0; e &= e - 1 {
				if j := bits.TrailingZeros32(e) & 31; uint32(masks[j]) == need {
					same |= 1 << j
				}
			}
			if need>>i&1 == 0 {
				return w.fail(DivergentBarrier, in, 1<<i, "the thread is not in its own member mask")
			}
			if !w.gather(need, same) {
				return w.park(exec, waitGather, 0)
			}
			left &^= same
		}
		for left := exec; left != 0; {
			need := uint32(masks[bits.TrailingZeros32(left)&31])
			w.synced(need & exec)
			f(w, in, need&exec)
			left &^= need
		}
		return statusNext
	}
	c.emit(in)
}

// compileShuffle moves values between lanes: each reads a register of another.
func compileShuffle(c *compiler) {
	if !c.q.has("sync") {
		fail("sync expected")
	}
	mode := c.q.one("up", "down", "bfly", "idx")
	if mode == "" {
		fail("up, down, bfly or idx expected")
	}
	c.intType("b32")
	args := c.args(5)
	in := none(kindFn, classSync)
	in.apart = true
	dst := args[0]
	if dst.Kind == ptxparse.KindPair {
		in.pd = c.predDst(dst.Elems[1])
		dst = dst.Elems[0]
	}
	in.d, in.a, in.b = c.dst(dst, "b32"), c.src(args[1], "b32"), c.src(args[2], "b32")
	in.x = &extra{aa: []int32{c.src(args[3], "b32")}}
	c.collective(in, args[4], func(w *warp, in *inst, exec uint32) {
		a, b, cl := &w.regs[in.a], &w.regs[in.b], &w.regs[in.x.aa[0]]
		out := w.regs[in.d]
		ok := uint32(0)
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			from, valid := shuffleSource(mode, i, int(b[i]&31), int(cl[i]&31), int(cl[i]>>8&31))
			if valid {
				ok |= 1 << i
			}
			out[i] = a[from]
		}
		blend(&w.regs[in.d], &out, exec)
		w.preds[in.pd] = w.preds[in.pd]&^exec | ok
	})
}

// shuffleSource is the lane that lane reads, and whether it is within the segment that clamp and mask cut.
func shuffleSource(mode string, lane, b, clamp, mask int) (int, bool) {
	most := lane&mask | clamp&^mask
	var j int
	switch mode {
	case "up":
		j = lane - b
		if j < most {
			return lane, false
		}
		return j, true
	case "down":
		j = lane + b
	case "bfly":
		j = lane ^ b
	default:
		j = lane&mask | b&^mask
	}
	if j > most {
		return lane, false
	}
	return j, true
}

func compileVote(c *compiler) {
	if !c.q.has("sync") {
		fail("sync expected")
	}
	mode := c.q.one("all", "any", "uni", "ballot")
	args := c.args(3)
	in := none(kindFn, classSync)
	in.apart = true
	in.pa, in.ax = c.pred(args[1])
	switch mode {
	case "ballot":
		c.intType("b32")
		in.d = c.dst(args[0], "b32")
	case "all", "any", "uni":
		c.intType("pred")
		in.pd = c.predDst(args[0])
	default:
		fail("all, any, uni or ballot expected")
	}
	c.collective(in, args[2], func(w *warp, in *inst, exec uint32) {
		v := (w.preds[in.pa] ^ in.ax) & exec
		yes := false
		switch mode {
		case "ballot":
			w.spread(in.d, exec, uint64(v))
		case "all":
			yes = v == exec
		case "any":
			yes = v != 0
		case "uni":
			yes = v == 0 || v == exec
		}
		w.preds[in.pd] &^= exec
		if yes {
			w.preds[in.pd] |= exec
		}
	})
}

// compileMatch finds the lanes that hold the same value.
func compileMatch(c *compiler) {
	mode := c.q.one("any", "all")
	if !c.q.has("sync") || mode == "" {
		fail("any or all, and sync, expected")
	}
	t := c.intType("b32 b64")
	args := c.args(3)
	in := none(kindFn, classSync)
	in.apart = true
	dst := args[0]
	if dst.Kind == ptxparse.KindPair {
		in.pd = c.predDst(dst.Elems[1])
		dst = dst.Elems[0]
	}
	in.d, in.a = c.dst(dst, "b32"), c.src(args[1], t)
	c.collective(in, args[2], func(w *warp, in *inst, exec uint32) {
		a := w.regs[in.a]
		all := uint32(0)
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			same := uint32(0)
			for f := exec; f != 0; f &= f - 1 {
				if j := bits.TrailingZeros32(f) & 31; a[j] == a[i] {
					same |= 1 << j
				}
			}
			if mode == "all" {
				if same == exec {
					all = exec
				} else {
					same = 0
				}
			}
			w.regs[in.d][i] = uint64(same)
		}
		w.preds[in.pd] = w.preds[in.pd]&^exec | all
	})
}

func compileRedux(c *compiler) {
	if !c.q.has("sync") {
		fail("sync expected")
	}
	op := c.q.one("add", "min", "max", "and", "or", "xor")
	t := c.intType("u32 s32 b32")
	args := c.args(3)
	f := atomicOp(op, t)
	in := none(kindFn, classSync)
	in.apart = true
	in.d, in.a = c.dst(args[0], t), c.src(args[1], t)
	c.collective(in, args[2], func(w *warp, in *inst, exec uint32) {
		a := &w.regs[in.a]
		v := a[bits.TrailingZeros32(exec)&31]
		for e := exec & (exec - 1); e != 0; e &= e - 1 {
			v = f(v, a[bits.TrailingZeros32(e)&31], 0)
		}
		w.spread(in.d, exec, v)
	})
}
