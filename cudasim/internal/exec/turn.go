package exec

import (
	"slices"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

func (b *block) reset(index uint64) {
	r := b.run
	b.index = index
	b.id = r.blockAt(index)
	b.alive, b.steps, b.fault = r.threads, 0, nil
	b.bars = [16]barrier{}
	b.bulk = b.bulk[:0]
	size := r.sharedBytes()
	if b.shared == nil {
		b.shared = &memory.Allocation{Size: size, Kind: "shared", Data: memory.AlignedBytes(size), Init: make([]uint64, (size+63)/64)}
		b.local = &memory.Allocation{Kind: "local", Data: memory.AlignedBytes(uint64(r.Kernel.Local) * uint64(r.warps) * 32)}
		b.warps = make([]Warp, r.warps)
		b.order = make([]int, r.warps)
		for i := range b.order {
			b.order[i] = i
		}
	} else {
		clear(b.shared.Data)
		clear(b.shared.Init)
		b.shared.Whole.Store(false)
		clear(b.local.Data)
	}
	b.checkBlock.reset(b)
	if b.seed != 0 { // set by the previous launch that used the block, on this device or another
		b.seed = 0
		slices.Sort(b.order)
	}
	for i := range b.warps {
		n := min(32, r.threads-uint32(i)*32)
		b.warps[i].reset(b, uint32(i), ^uint32(0)>>(32-n))
	}
	if r.schedule.seed != 0 {
		b.seed = Mix(r.schedule.seed ^ index<<20)
	}
}

// turn runs the block's warps until all have exited, or each waits for another block.
func (b *block) turn() Status {
	used, turn := 0, blockTurn
	if b.seed != 0 {
		b.seed = Mix(b.seed)
		turn = 1 + int(b.seed%(2*b.run.schedule.turn))
	}
	for used < turn {
		idle, polled := true, true
		if b.seed != 0 {
			b.seed = Mix(b.seed)
			shuffle(b.seed, b.order)
		}
		for _, i := range b.order {
			w := &b.warps[i]
			if w.Alive == 0 {
				continue
			}
			budget := warpTurn
			if b.seed != 0 {
				budget = 1 + int(Mix(b.seed+uint64(i))%256)
			}
			before := w.steps
			st := w.run(budget)
			n := w.steps - before
			b.steps += n
			used += int(n) + 1
			switch {
			case st == statusFault:
				return st
			case st == statusIdle && n == 0:
				continue
			}
			idle = false
			polled = w.polls(n) && st == statusYield && polled
		}
		switch {
		case b.alive == 0:
			b.finish()
			return statusExited
		case idle:
			return b.deadlock()
		case b.steps > b.run.MaxSteps:
			return b.hung()
		case polled:
			return statusYield
		}
	}
	return statusYield
}

// finish completes the block's copies that no thread waited for.
func (b *block) finish() {
	for i := range b.bulk {
		b.bulk[i].land(b)
	}
	b.bulk = b.bulk[:0]
}

// hung sets the fault for a block that has run more than MaxSteps instructions, and returns the status of a fault.
func (b *block) hung() Status {
	w := &b.warps[slices.IndexFunc(b.warps, func(w Warp) bool { return w.Alive != 0 })]
	if w.mask == 0 && !w.pick() {
		w.pc, w.mask = w.groups[0].pc, w.groups[0].mask
	}
	return w.Fail(report.Timeout, &w.code[w.pc], w.mask, "the block ran for longer than MaxSteps")
}

func (c *checkBlock) reset(b *block) {
	c.watching = b.run.checks != 0 || b.counts != nil
	c.racing = b.run.checks&report.CheckRaces != 0
	if !c.racing {
		return
	}
	if c.shadow == nil {
		c.shadow, c.syncs = newShadow(b.shared.Size, nil), map[uint64]clockSet{}
	}
	for _, p := range c.shadow.pages {
		clear(p.cells)
	}
	clear(c.syncs)
	for i := range b.warps {
		b.warps[i].checkState = checkState{clock: 1}
	}
}
