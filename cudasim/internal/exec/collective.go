package exec

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// Spread writes one value to all lanes of exec.
func (w *Warp) Spread(r int32, exec uint32, v uint64) {
	d := &w.Regs[r]
	for ; exec != 0; exec &= exec - 1 {
		d[bits.TrailingZeros32(exec)&31] = v
	}
}

// Collective returns the step of an instruction that waits for the lanes of the member mask in in.C. All members must have the same
// mask. f runs once for each set of lanes with equal masks.
func Collective(f func(w *Warp, in *Inst, exec uint32)) Step {
	return func(w *Warp, in *Inst, exec uint32) Status {
		masks := &w.Regs[in.C]
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
				return w.Fail(report.DivergentBarrier, in, 1<<i, "the thread is not in its own member mask")
			}
			if !w.gather(need, same) {
				return w.park(exec, waitGather, 0)
			}
			left &^= same
		}
		for left := exec; left != 0; {
			need := uint32(masks[bits.TrailingZeros32(left)&31])
			w.synced()
			f(w, in, need&exec)
			left &^= need
		}
		return StatusNext
	}
}

// wholeWarp returns a step that waits for all 32 lanes of the warp, and then calls fn. If a lane has exited, the step is a fault.
func wholeWarp(fn func(w *Warp, in *Inst) Status) Step {
	return func(w *Warp, in *Inst, exec uint32) Status {
		switch all := ^uint32(0); {
		case exec == all:
			w.synced()
			return fn(w, in)
		case w.Alive != all:
			return w.Fail(report.DivergentBarrier, in, exec,
				fmt.Sprintf("all lanes of a warp are to come here, and lanes %#x have ended or never were", ^w.Alive))
		}
		return w.park(exec, waitGather, 0)
	}
}
