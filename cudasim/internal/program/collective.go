package program

import (
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addWarp() {
	handlers["shfl"] = compileShuffle
	handlers["vote"] = compileVote
	handlers["match"] = compileMatch
	handlers["redux"] = compileRedux
	handlers["activemask"] = func(c *compiler) {
		c.intType("b32")
		in := newStep(exec.ClassSync)
		in.D = c.dst(c.args(1)[0], "b32")
		in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
			w.Spread(in.D, active, uint64(active))
			return exec.StatusNext
		}
		c.emit(in)
	}
	handlers["elect"] = func(c *compiler) {
		c.require("sync")
		args := c.args(2)
		if args[0].Kind != ptxparse.KindPair {
			fail("a register and a predicate expected")
		}
		in := newStep(exec.ClassSync)
		in.Apart = true
		in.PD = c.predDst(args[0].Elems[1])
		if e := args[0].Elems[0]; e.Kind == ptxparse.KindReg {
			in.D = c.dst(e, "b32")
		}
		c.collective(in, args[1], func(w *warp, in *inst, active uint32) {
			i := bits.TrailingZeros32(active)
			w.Spread(in.D, active, uint64(i))
			w.Preds[in.PD] = w.Preds[in.PD]&^active | 1<<i
		})
	}
}

// compileShuffle compiles shfl: each lane reads a register of another lane.
func compileShuffle(c *compiler) {
	c.require("sync")
	mode := c.q.one("up", "down", "bfly", "idx")
	if mode == "" {
		fail("up, down, bfly or idx expected")
	}
	c.intType("b32")
	args := c.args(5)
	in := newStep(exec.ClassSync)
	in.Apart = true
	dst, also := pair(args[0])
	in.PD = c.predDst(also)
	in.D, in.A, in.B = c.dst(dst, "b32"), c.src(args[1], "b32"), c.src(args[2], "b32")
	in.X = &extra{AA: []int32{c.src(args[3], "b32")}}
	c.collective(in, args[4], func(w *warp, in *inst, active uint32) {
		a, b, cl := &w.Regs[in.A], &w.Regs[in.B], &w.Regs[in.X.AA[0]]
		out := w.Regs[in.D]
		ok := uint32(0)
		for e := active; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			from, valid := shuffleSource(mode, i, int(b[i]&31), int(cl[i]&31), int(cl[i]>>8&31))
			if valid {
				ok |= 1 << i
			}
			out[i] = a[from]
		}
		exec.Blend(&w.Regs[in.D], &out, active)
		w.Preds[in.PD] = w.Preds[in.PD]&^active | ok
	})
}

// shuffleSource returns the source lane of a lane, and whether it lies in the segment that clamp and mask define.
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
	c.require("sync")
	mode := c.q.one("all", "any", "uni", "ballot")
	args := c.args(3)
	in := newStep(exec.ClassSync)
	in.Apart = true
	in.PA, in.AX = c.pred(args[1])
	switch mode {
	case "ballot":
		c.intType("b32")
		in.D = c.dst(args[0], "b32")
	case "all", "any", "uni":
		c.intType("pred")
		in.PD = c.predDst(args[0])
	default:
		fail("all, any, uni or ballot expected")
	}
	c.collective(in, args[2], func(w *warp, in *inst, active uint32) {
		v := (w.Preds[in.PA] ^ in.AX) & active
		yes := false
		switch mode {
		case "ballot":
			w.Spread(in.D, active, uint64(v))
		case "all":
			yes = v == active
		case "any":
			yes = v != 0
		case "uni":
			yes = v == 0 || v == active
		}
		w.Preds[in.PD] &^= active
		if yes {
			w.Preds[in.PD] |= active
		}
	})
}

// compileMatch compiles match: a lane gets the mask of the lanes with the same value.
func compileMatch(c *compiler) {
	mode := c.q.one("any", "all")
	c.require("sync")
	if mode == "" {
		fail("any or all expected")
	}
	t := c.intType("b32 b64")
	args := c.args(3)
	in := newStep(exec.ClassSync)
	in.Apart = true
	dst, also := pair(args[0])
	in.PD = c.predDst(also)
	in.D, in.A = c.dst(dst, "b32"), c.src(args[1], t)
	c.collective(in, args[2], func(w *warp, in *inst, active uint32) {
		a := w.Regs[in.A]
		all := uint32(0)
		for e := active; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			same := uint32(0)
			for f := active; f != 0; f &= f - 1 {
				if j := bits.TrailingZeros32(f) & 31; a[j] == a[i] {
					same |= 1 << j
				}
			}
			if mode == "all" {
				if same == active {
					all = active
				} else {
					same = 0
				}
			}
			w.Regs[in.D][i] = uint64(same)
		}
		w.Preds[in.PD] = w.Preds[in.PD]&^active | all
	})
}

func compileRedux(c *compiler) {
	c.require("sync")
	op := c.q.one("add", "min", "max", "and", "or", "xor")
	t := c.intType("u32 s32 b32")
	args := c.args(3)
	f := atomicOp(op, t)
	in := newStep(exec.ClassSync)
	in.Apart = true
	in.D, in.A = c.dst(args[0], t), c.src(args[1], t)
	c.collective(in, args[2], func(w *warp, in *inst, active uint32) {
		a := &w.Regs[in.A]
		v := a[bits.TrailingZeros32(active)&31]
		for e := active & (active - 1); e != 0; e &= e - 1 {
			v = f(v, a[bits.TrailingZeros32(e)&31], 0)
		}
		w.Spread(in.D, active, v)
	})
}
