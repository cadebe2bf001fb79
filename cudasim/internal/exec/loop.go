package exec

import "math/bits"

// reset prepares the warp for the lanes of a new block.
func (w *Warp) reset(b *block, index, alive uint32) {
	k := b.run.Kernel
	if w.Regs == nil {
		w.Regs = make([]Lanes, k.Slots)
		w.Preds = make([]uint32, k.PredSlots)
		for i, v := range k.Consts {
			for l := range w.Regs[FirstConst+i] {
				w.Regs[FirstConst+i][l] = v
			}
		}
		w.Preds[PredTrue] = ^uint32(0)
	}
	w.b, w.code, w.index, w.Alive = b, k.Code, index, alive
	w.pc, w.mask, w.watch, w.turn, w.spun, w.steps = 0, alive, never, 0, 0, 0
	w.groups = w.groups[:0]
	w.cp.reset()
	clear(w.bulkOpen[:])
	w.last = nil
	w.pollN = 0
}

// run executes until no lane can run, the budget is used up, or another warp should have a turn.
func (w *Warp) run(budget int) Status {
	w.budget = budget
	if w.mask == 0 && !w.pick() {
		return w.stuck()
	}
	st := w.loop()
	w.steps += uint64(budget - w.budget)
	return st
}

func (w *Warp) loop() Status {
	code, regs, preds := w.code, w.Regs, w.Preds
	count := w.b.counts
	for w.budget > 0 {
		w.budget--
		in := &code[w.pc]
		exec := w.mask & (preds[in.Guard] ^ in.GX)
		if count != nil {
			count.instruction(in, exec)
		}
		switch in.Kind {
		case KindALU:
			if exec == w.Alive {
				in.ALU(&regs[in.D], &regs[in.A], &regs[in.B], &regs[in.C])
			} else if exec != 0 {
				in.ALU(&w.tmp, &regs[in.A], &regs[in.B], &regs[in.C])
				Blend(&regs[in.D], &w.tmp, exec)
			}
			w.pc++
		case KindSet:
			v := in.Cmp(&regs[in.A], &regs[in.B])
			p, q := v, ^v
			if in.Logic != nil {
				t := preds[in.PA] ^ in.AX
				p, q = in.Logic(p, t), in.Logic(q, t)
			}
			preds[in.PD] = preds[in.PD]&^exec | p&exec
			preds[in.PQ] = preds[in.PQ]&^exec | q&exec
			w.pc++
		case KindSel:
			p := preds[in.PA] ^ in.AX
			a, b, d := &regs[in.A], &regs[in.B], &regs[in.D]
			if exec != w.Alive {
				d = &w.tmp
			}
			for i := range d {
				m := -uint64(p & 1)
				d[i] = a[i]&m | b[i]&^m
				p >>= 1
			}
			if exec != w.Alive {
				Blend(&regs[in.D], &w.tmp, exec)
			}
			w.pc++
		case KindPred:
			v := in.Logic(preds[in.PA]^in.AX, preds[in.PB]^in.BX)
			preds[in.PD] = preds[in.PD]&^exec | v&exec
			w.pc++
		case KindBra:
			switch {
			case exec == 0:
				w.pc++
			case exec == w.mask:
				w.pc = in.Target
			default:
				w.branch(in.Target, exec)
			}
			if len(w.groups) > 0 {
				w.settle()
			}
			continue
		case KindExit:
			if exec == 0 {
				w.pc++
				break
			}
			w.exit(exec)
			if w.mask == 0 && !w.pick() {
				return w.stuck()
			}
			continue
		case KindFn:
			if exec == 0 {
				w.pc++
				break
			}
			switch st := in.Fn(w, in, exec); st {
			case StatusNext:
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

// exit ends lanes. Groups that wait for lanes of the warp check again, because fewer are left.
func (w *Warp) exit(exec uint32) {
	w.Alive &^= exec
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

// left counts threads that have exited, and completes a barrier if it waited for no other threads.
func (b *block) left(w *Warp, exec uint32) {
	b.alive -= uint32(bits.OnesCount32(exec))
	for i := range b.bars {
		b.bars[i].check(b)
	}
}
