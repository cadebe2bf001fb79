package exec

import (
	"math/bits"
	"time"

	"github.com/robocache/robocache/cudasim/report"
)

// Nothing executes an instruction that has no effect in the simulator.
func Nothing(*Warp, *Inst, uint32) Status { return StatusNext }

// Trap ends the launch, as trap and brkpt do.
func Trap(w *Warp, in *Inst, exec uint32) Status { return w.Fail(report.Trap, in, exec, "") }

// Sleep executes nanosleep: the other warps get a turn.
func Sleep(w *Warp, _ *Inst, _ uint32) Status {
	w.poll()
	return statusYield
}

// WaitAhead executes griddepcontrol.wait. The previous launch has ended before this one begins, so there is nothing to wait for.
func WaitAhead(w *Warp, _ *Inst, _ uint32) Status {
	w.b.run.waits.Store(true)
	return StatusNext
}

// BranchIndexed executes brx: each lane jumps to the target number in in.A.
func BranchIndexed(w *Warp, in *Inst, exec uint32) Status {
	if rest := w.mask &^ exec; rest != 0 {
		w.groups = append(w.groups, group{pc: w.pc + 1, mask: rest})
	}
	a := &w.Regs[in.A]
	for left := exec; left != 0; {
		i := bits.TrailingZeros32(left)
		v, same := a[i], uint32(0)
		if v >= uint64(len(in.X.Targets)) {
			return w.Fail(report.Trap, in, 1<<i, "the index is past the list of targets")
		}
		for m := left; m != 0; m &= m - 1 {
			if j := bits.TrailingZeros32(m); a[j] == v {
				same |= 1 << j
			}
		}
		w.groups = append(w.groups, group{pc: in.X.Targets[v], mask: same})
		left &^= same
	}
	w.mask = 0
	return statusStay
}

// ReadSpecial returns the step that reads a special register into in.D, and false if the register does not exist.
func ReadSpecial(name string) (Step, bool) {
	read, ok := specials[name]
	return func(w *Warp, in *Inst, exec uint32) Status {
		d := &w.Regs[in.D]
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec)
			d[i] = read(w, i)
		}
		return StatusNext
	}, ok
}

// sm returns the number of the multiprocessor that runs the block. Blocks are assigned to them in turn.
func (w *Warp) sm() uint64 { return w.b.index % uint64(w.b.run.Multiprocessors) }

var started = time.Now()

var specials = map[string]func(w *Warp, lane int) uint64{
	"%laneid":         func(_ *Warp, i int) uint64 { return uint64(i) },
	"%warpid":         func(w *Warp, _ int) uint64 { return uint64(w.index) },
	"%nwarpid":        func(*Warp, int) uint64 { return ThreadsPerSM / 32 },
	"%smid":           func(w *Warp, _ int) uint64 { return w.sm() },
	"%nsmid":          func(w *Warp, _ int) uint64 { return uint64(w.b.run.Multiprocessors) },
	"%gridid":         func(*Warp, int) uint64 { return 1 },
	"%lanemask_eq":    func(_ *Warp, i int) uint64 { return 1 << i },
	"%lanemask_lt":    func(_ *Warp, i int) uint64 { return 1<<i - 1 },
	"%lanemask_le":    func(_ *Warp, i int) uint64 { return 1<<(i+1) - 1 },
	"%lanemask_gt":    func(_ *Warp, i int) uint64 { return 0xffffffff &^ (1<<(i+1) - 1) },
	"%lanemask_ge":    func(_ *Warp, i int) uint64 { return 0xffffffff &^ (1<<i - 1) },
	"%clock":          func(w *Warp, _ int) uint64 { return uint64(uint32(w.now())) },
	"%clock_hi":       func(w *Warp, _ int) uint64 { return w.now() >> 32 },
	"%clock64":        func(w *Warp, _ int) uint64 { return w.now() },
	"%globaltimer":    func(w *Warp, _ int) uint64 { w.poll(); return uint64(time.Since(started)) + 1<<60 },
	"%globaltimer_lo": func(w *Warp, _ int) uint64 { w.poll(); return uint64(uint32(time.Since(started))) },
	"%globaltimer_hi": func(*Warp, int) uint64 { return 1 << 28 },

	"%dynamic_smem_size":   func(w *Warp, _ int) uint64 { return uint64(w.b.run.Launch.Shared) },
	"%total_smem_size":     func(w *Warp, _ int) uint64 { return w.b.shared.Size },
	"%is_explicit_cluster": func(*Warp, int) uint64 { return 0 },
	"%cluster_ctarank":     func(*Warp, int) uint64 { return 0 },
	"%cluster_nctarank":    func(*Warp, int) uint64 { return 1 },
}

// now returns the number of instructions that the warp has run, which stands for a clock.
func (w *Warp) now() uint64 { return w.b.steps + w.steps }

func init() {
	for i, axis := range []string{".x", ".y", ".z"} {
		specials["%tid"+axis] = func(w *Warp, lane int) uint64 { return uint64(w.thread(lane)[i]) }
		specials["%ntid"+axis] = func(w *Warp, _ int) uint64 { return uint64(w.b.run.Block[i]) }
		specials["%ctaid"+axis] = func(w *Warp, _ int) uint64 { return uint64(w.b.id[i]) }
		specials["%nctaid"+axis] = func(w *Warp, _ int) uint64 { return uint64(w.b.run.Grid[i]) }
		specials["%cluster_ctaid"+axis] = func(*Warp, int) uint64 { return 0 }
		specials["%cluster_nctaid"+axis] = func(*Warp, int) uint64 { return 1 }
		specials["%clusterid"+axis] = specials["%ctaid"+axis]
		specials["%nclusterid"+axis] = specials["%nctaid"+axis]
	}
}
