package cudasim

import (
	"math"
	"math/bits"
)

const never = int32(math.MaxInt32)

// A spinning group of lanes gives way to the others of its warp after spinLimit instructions, for turnLength instructions.
const (
	spinLimit  = 1024
	turnLength = 512
	pollCost   = 64 // instructions that an access to memory others change counts for, so that polling gives way soon
)

// waitKind is why a group of lanes does not run.
type waitKind uint8

const (
	waitNone   waitKind = iota
	waitGather          // for lanes of the warp to arrive at the same instruction
	waitBar             // at a barrier of the block
)

// group is lanes of one warp that are at the same instruction.
type group struct {
	pc   int32
	mask uint32
	wait waitKind
	bar  uint8
}

// warp is 32 threads. The group that runs is pc and mask; the others wait in groups.
type warp struct {
	b        *block
	regs     []lanes
	preds    []uint32
	code     []inst
	index    uint32 // in the block
	alive    uint32 // lanes that have not exited
	pc       int32
	mask     uint32
	watch    int32 // the nearest instruction ahead where another group is
	turn     int   // instructions left in which a group need not give way to one that is behind
	spun     int   // instructions since groups last changed
	groups   []group
	last     *allocation // found last
	ofs      [32]uint64  // scratch: where in an allocation each lane's access is
	tmp      lanes
	cp       copies
	bulkOpen [32]uint32 // each lane's group of bulk copies that is open
	budget   int
	pollN    int
	steps    uint64
	checkState
}

// reset readies the warp for lanes of a new block.
func (w *warp) reset(b *block, index, alive uint32) {
	k := b.run.kernel
	if w.regs == nil {
		w.regs = make([]lanes, k.slots)
		w.preds = make([]uint32, k.predSlots)
		for i, v := range k.consts {
			for l := range w.regs[firstConst+i] {
				w.regs[firstConst+i][l] = v
			}
		}
		w.preds[predTrue] = ^uint32(0)
	}
	w.b, w.code, w.index, w.alive = b, k.code, index, alive
	w.pc, w.mask, w.watch, w.turn, w.spun, w.steps = 0, alive, never, 0, 0, 0
	w.groups = w.groups[:0]
	w.cp.reset()
	clear(w.bulkOpen[:])
	w.last = nil
	w.pollN = 0
}

// run executes until no lane can go on, the budget is used up, or another warp should have a turn.
func (w *warp) run(budget int) status {
	w.budget = budget
	if w.mask == 0 && !w.pick() {
		return w.stuck()
	}
	st := w.loop()
	w.steps += uint64(budget - w.budget)
	return st
}

func (w *warp) loop() status {
	code, regs, preds := w.code, w.regs, w.preds
	count := w.b.counts
	for w.budget > 0 {
		w.budget--
		in := &code[w.pc]
		exec := w.mask & (preds[in.guard] ^ in.gx)
		if count != nil {
			count.instruction(in, exec)
		}
		switch in.kind {
		case kindALU:
			if exec == w.alive {
				in.alu(&regs[in.d], &regs[in.a], &regs[in.b], &regs[in.c])
			} else if exec != 0 {
				in.alu(&w.tmp, &regs[in.a], &regs[in.b], &regs[in.c])
				blend(&regs[in.d], &w.tmp, exec)
			}
			w.pc++
		case kindSet:
			v := in.cmp(&regs[in.a], &regs[in.b])
			p, q := v, ^v
			if in.logic != nil {
				t := preds[in.pa] ^ in.ax
				p, q = in.logic(p, t), in.logic(q, t)
			}
			preds[in.pd] = preds[in.pd]&^exec | p&exec
			preds[in.pq] = preds[in.pq]&^exec | q&exec
			w.pc++
		case kindSel:
			p := preds[in.pa] ^ in.ax
			a, b, d := &regs[in.a], &regs[in.b], &regs[in.d]
			if exec != w.alive {
				d = &w.tmp
			}
			for i := range d {
				m := -uint64(p & 1)
				d[i] = a[i]&m | b[i]&^m
				p >>= 1
			}
			if exec != w.alive {
				blend(&regs[in.d], &w.tmp, exec)
			}
			w.pc++
		case kindPred:
			v := in.logic(preds[in.pa]^in.ax, preds[in.pb]^in.bx)
			preds[in.pd] = preds[in.pd]&^exec | v&exec
			w.pc++
		case kindBra:
			switch {
			case exec == 0:
				w.pc++
			case exec == w.mask:
				w.pc = in.target
			default:
				w.branch(in.target, exec)
			}
			if len(w.groups) > 0 {
				w.settle()
			}
			continue
		case kindExit:
			if exec == 0 {
				w.pc++
				break
			}
			w.exit(exec)
			if w.mask == 0 && !w.pick() {
				return w.stuck()
			}
			continue
		case kindFn:
			if exec == 0 {
				w.pc++
				break
			}
			switch st := in.fn(w, in, exec); st {
			case statusNext:
				w.pc++
			case statusStay:
				if w.mask == 0 && !w.pick() {
					return w.stuck()
				}
				if len(w.groups) > 0 {
					w.settle()
				}
				continue
			case statusYield:
				w.pc++
				if w.pc >= w.watch {
					w.settle()
				}
				return st
			default:
				return st
			}
		}
		if w.pc >= w.watch {
			w.settle()
		}
	}
	return statusYield
}

// blend writes the lanes of exec.
func blend(d, v *lanes, exec uint32) {
	for ; exec != 0; exec &= exec - 1 {
		i := bits.TrailingZeros32(exec) & 31
		d[i] = v[i]
	}
}

// branch sends the lanes of taken to target and the others on.
func (w *warp) branch(target int32, taken uint32) {
	if w.b.counts != nil {
		w.b.counts.DivergentBranches++
	}
	w.groups = append(w.groups, group{pc: target, mask: taken})
	w.mask &^= taken
	w.pc++
}

// settle merges groups that are at one instruction and lets the group that is furthest behind run, so that it catches up.
func (w *warp) settle() {
	if len(w.groups) == 0 {
		w.watch = never
		return
	}
	w.spun++
	if w.turn > 0 {
		w.turn--
	} else if w.spun > spinLimit {
		w.rotate()
	} else {
		low := -1
		for i := range w.groups {
			g := &w.groups[i]
			if g.wait == waitNone && g.pc < w.pc && (low < 0 || g.pc < w.groups[low].pc) {
				low = i
			}
		}
		if low >= 0 {
			g := w.groups[low]
			w.groups[low] = group{pc: w.pc, mask: w.mask}
			w.pc, w.mask = g.pc, g.mask
		}
	}
	w.merge()
}

// merge joins the running group with those at its instruction that can join it, and finds the next such place.
func (w *warp) merge() {
	w.watch = never
	kept := w.groups[:0]
	for _, g := range w.groups {
		switch {
		case g.pc == w.pc && g.wait != waitBar:
			w.mask |= g.mask
			w.spun = 0
			continue
		case g.pc > w.pc && g.wait != waitBar:
			w.watch = min(w.watch, g.pc)
		}
		kept = append(kept, g)
	}
	w.groups = kept
}

// rotate lets the group that has waited longest run for a while, whatever its place: the others may wait for what it does.
func (w *warp) rotate() {
	w.spun = 0
	for i := range w.groups {
		if g := w.groups[i]; g.wait == waitNone {
			w.groups = append(w.groups[:i], w.groups[i+1:]...)
			w.groups = append(w.groups, group{pc: w.pc, mask: w.mask})
			w.pc, w.mask, w.turn = g.pc, g.mask, turnLength
			return
		}
	}
}

// pick takes a group that can run after the running one has ended or waits, and reports whether there is one.
func (w *warp) pick() bool {
	low := -1
	for i := range w.groups {
		g := &w.groups[i]
		if g.wait == waitNone && (low < 0 || g.pc < w.groups[low].pc) {
			low = i
		}
	}
	if low < 0 {
		return false
	}
	g := w.groups[low]
	w.groups = append(w.groups[:low], w.groups[low+1:]...)
	w.pc, w.mask, w.turn = g.pc, g.mask, 0
	w.merge()
	return true
}

// stuck says what it means that no group can run.
func (w *warp) stuck() status {
	if w.alive == 0 {
		return statusExited
	}
	return statusIdle
}

// park ends the running group's turn: its lanes in exec wait, the others go on behind the instruction.
func (w *warp) park(exec uint32, wait waitKind, bar uint8) status {
	if rest := w.mask &^ exec; rest != 0 {
		w.groups = append(w.groups, group{pc: w.pc + 1, mask: rest})
	}
	w.groups = append(w.groups, group{pc: w.pc, mask: exec, wait: wait, bar: bar})
	w.mask = 0
	return statusStay
}

// gather reports whether all lanes of need that have not exited are here; if not, those that are here wait for them.
func (w *warp) gather(need, exec uint32) bool {
	return need&w.alive&^exec == 0
}

// exit ends lanes. Those that wait for lanes of the warp look again who is left.
func (w *warp) exit(exec uint32) {
	w.alive &^= exec
	w.mask &^= exec
	w.b.left(w, exec)
	w.cp.leave(w, exec)
	for i := range w.groups {
		if w.groups[i].wait == waitGather {
			w.groups[i].wait = waitNone
		}
	}
	if w.mask != 0 {
		w.pc++
	}
}
