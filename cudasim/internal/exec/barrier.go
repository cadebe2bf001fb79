package exec

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// BarSync counts the lanes of exec as arrived at a barrier. Unless the instruction is an arrive, the lanes wait until the barrier
// completes.
func BarSync(w *Warp, in *Inst, exec uint32) Status {
	s := in.X.Bar
	if s.Aligned && exec != w.Alive {
		return w.park(exec, waitGather, 0)
	}
	first := bits.TrailingZeros32(exec) & 31
	id := w.Regs[in.A][first]
	for e := exec; e != 0; e &= e - 1 {
		if i := bits.TrailingZeros32(e) & 31; w.Regs[in.A][i] != id || s.Counted && w.Regs[in.B][i] != w.Regs[in.B][first] {
			return w.Fail(report.DivergentBarrier, in, 1<<i, "threads of one warp name different barriers")
		}
	}
	if id > 15 {
		return w.Fail(report.DivergentBarrier, in, exec, fmt.Sprintf("barrier %d of 16", id))
	}
	bar := &w.b.bars[id]
	expected := uint32(0)
	if s.Counted {
		expected = uint32(w.Regs[in.B][first])
		if expected == 0 || expected%32 != 0 {
			return w.Fail(report.DivergentBarrier, in, exec, fmt.Sprintf("%d threads are no multiple of a warp", expected))
		}
	}
	if bar.arrived > 0 && bar.expected != expected {
		return w.Fail(report.DivergentBarrier, in, exec,
			fmt.Sprintf("barrier %d is waited for with %d threads and with %d", id, bar.expected, expected))
	}
	bar.expected = expected
	n := uint32(bits.OnesCount32(exec))
	if s.Aligned && s.Counted {
		n = 32 // a warp counts whole
	}
	bar.arrived += n
	bar.votes += uint32(bits.OnesCount32((w.Preds[in.PA] ^ in.AX) & exec))
	w.arrived(bar)
	if s.Red != "" {
		bar.red = s.Red
	}
	if s.Arrive {
		bar.check(w.b)
		return StatusNext
	}
	w.park(exec, waitBar, uint8(id))
	bar.waiting = true
	bar.check(w.b)
	return statusStay
}

// check completes the barrier if all expected threads have arrived.
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
			switch in.X.Bar.Red {
			case "popc":
				w.Spread(in.D, g.mask, uint64(bar.votes))
			case "and", "or":
				w.Preds[in.PD] &^= g.mask
				if in.X.Bar.Red == "and" && bar.votes == total || in.X.Bar.Red == "or" && bar.votes > 0 {
					w.Preds[in.PD] |= g.mask
				}
			}
			g.pc++
			g.wait = waitNone
		}
	}
	*bar = barrier{}
}

// deadlock sets the fault for a block in which all warps wait.
func (b *block) deadlock() Status {
	for i := range b.warps {
		w := &b.warps[i]
		for _, g := range w.groups {
			if g.wait == waitGather {
				missing := w.Alive &^ g.mask
				return w.Fail(report.DivergentBarrier, &w.code[g.pc], g.mask,
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
				return w.Fail(report.DivergentBarrier, &w.code[g.pc], g.mask,
					fmt.Sprintf("%d threads wait at barrier %d, which %d are to reach", bar.arrived, g.bar, want))
			}
		}
	}
	panic("cudasim: a block without a warp that runs or waits")
}
