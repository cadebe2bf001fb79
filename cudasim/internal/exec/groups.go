package exec

// A spinning group of lanes gives way to the others of its warp after spinLimit instructions, for turnLength instructions.
const (
	spinLimit  = 1024
	turnLength = 512
	pollCost   = 64 // instructions that one read of shared state counts for, so that a polling group gives way soon
)

// branch sends the lanes of taken to target and the others on.
func (w *Warp) branch(target int32, taken uint32) {
	if w.b.counts != nil {
		w.b.counts.DivergentBranches++
	}
	w.groups = append(w.groups, group{pc: target, mask: taken})
	w.mask &^= taken
	w.pc++
}

// settle merges groups at one instruction, and then runs the group at the earliest instruction so that it catches up.
func (w *Warp) settle() {
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

// merge joins the running group with groups at the same instruction if they may run, and finds the next such instruction.
func (w *Warp) merge() {
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

// rotate runs the group that has waited longest, at any instruction, because the others may wait for it.
func (w *Warp) rotate() {
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

// pick selects another group after the running one has ended or waits. It returns false if no group can run.
func (w *Warp) pick() bool {
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

// stuck returns the status of a warp in which no group can run.
func (w *Warp) stuck() Status {
	if w.Alive == 0 {
		return statusExited
	}
	return statusIdle
}

// park ends the running group's turn: its lanes in exec wait, the others go on after the instruction.
func (w *Warp) park(exec uint32, wait waitKind, bar uint8) Status {
	if rest := w.mask &^ exec; rest != 0 {
		w.groups = append(w.groups, group{pc: w.pc + 1, mask: rest})
	}
	w.groups = append(w.groups, group{pc: w.pc, mask: exec, wait: wait, bar: bar})
	w.mask = 0
	return statusStay
}

// gather reports whether all lanes of need are here, apart from lanes that have exited. If not, the present lanes wait for them.
func (w *Warp) gather(need, exec uint32) bool {
	return need&w.Alive&^exec == 0
}

// poll records that the warp read state that other threads change.
func (w *Warp) poll() {
	w.pollN++
	w.budget -= pollCost
	w.spun += pollCost
}

// polls reports whether most of the last n instructions polled.
func (w *Warp) polls(n uint64) bool {
	p := w.pollN
	w.pollN = 0
	return p*pollCost >= int(n)/2 && p > 0
}
