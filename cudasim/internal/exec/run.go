package exec

import (
	"runtime"
	"sync"

	"github.com/robocache/robocache/cudasim/report"
)

const (
	warpTurn        = 8192    // instructions after which another warp of the block runs
	blockTurn       = 1 << 20 // instructions after which another resident block runs
	mostTogether    = 48      // blocks that may begin under a seed before one has ended
	defaultMaxSteps = 1 << 31
)

// Run executes a launch and returns when it has ended. After a fault, memory holds all writes that came before the fault.
// The counters are nil unless the options enable them. Run replaces zero options of l by their defaults.
func (m *Machine) Run(l *Launch) (*report.Counters, *report.Fault) {
	r := &launchRun{Launch: l, sp: m.Space, cells: &m.cells}
	r.checks = report.CheckAll &^ r.Skip
	if r.MaxSteps == 0 {
		r.MaxSteps = defaultMaxSteps
	}
	if r.Multiprocessors <= 0 {
		r.Multiprocessors = DefaultMultiprocessors
	}
	r.threads = l.Block[0] * l.Block[1] * l.Block[2]
	r.warps = (r.threads + 31) / 32
	r.blocks = uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2])
	workers := r.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if r.checks&report.CheckRaces != 0 || r.Seed != 0 {
		workers = 1
	}
	workers = int(min(uint64(workers), r.blocks))
	if r.Counters {
		r.total = newTally(r.Lines)
	}
	if r.Seed != 0 {
		r.schedule = draw(r.Seed, l.Params, r.blocks)
		r.order = shuffled(r.schedule.seed, r.blocks)
	}
	capacity := (r.occupancy()*uint64(r.Multiprocessors) + uint64(workers) - 1) / uint64(workers)
	if workers == 1 {
		r.work(capacity)
	} else {
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { r.work(capacity) })
		}
		wg.Wait()
	}
	m.cells.ended()
	if r.Early && r.fault == nil && !r.waits.Load() {
		r.fault = r.neverWaited()
	}
	if r.total == nil {
		return nil, r.fault
	}
	return &r.total.Counters, r.fault
}

// neverWaited returns the fault for a launch that could begin early, but has no thread that waited for the launch before it.
func (r *launchRun) neverWaited() *report.Fault {
	line := int(r.Kernel.Code[len(r.Kernel.Code)-1].Line)
	return &report.Fault{Kind: report.NeverWaited, Kernel: r.Kernel.Name, Line: line, Text: TrimmedLine(r.Kernel.Source, line),
		Detail: "no thread executed griddepcontrol.wait, so that what comes after this launch may run ahead of what came before it"}
}

// draw returns the random choices for a launch. They depend on the seed and the parameters, so that successive launches differ and a
// run is repeatable.
func draw(seed uint64, params []byte, blocks uint64) schedule {
	for _, b := range params {
		seed = Mix(seed ^ uint64(b))
	}
	seed = max(Mix(seed^blocks), 1)
	return schedule{seed, 1 << (6 + seed%11), int(min(1<<(seed>>8%7), mostTogether))}
}

// more returns the number of blocks to start, under a seed, after all resident blocks have had a turn. Sometimes it starts a block
// although enough are resident, because they may wait for it.
func (d *schedule) more(resident int) int {
	d.seed = Mix(d.seed)
	return max(d.together-resident, int(d.seed%8/7))
}

// work runs blocks until none is left. A block keeps the worker until it ends or waits for another block; then the next
// one starts, and if as many are resident as fit, they take turns. Under a seed, turns are short, several blocks begin at once, and
// each round has another order.
func (r *launchRun) work(capacity uint64) {
	var resident, spare []*block
	var counts *tally
	if r.total != nil {
		counts = newTally(r.Lines)
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.total.add(counts)
		}()
	}
	defer func() {
		for _, b := range spare {
			b.run, b.counts = nil, nil
			r.Kernel.blocks.Put(b)
		}
	}()
	turn := 0
	for !r.stop.Load() {
		if turn >= len(resident) {
			turn = 0
			more := 1
			if r.schedule.seed != 0 {
				more = r.schedule.more(len(resident))
			}
			for ; more > 0 && uint64(len(resident)) < capacity; more-- {
				b := r.start(&spare, counts)
				if b == nil {
					break
				}
				resident = append(resident, b)
				turn = len(resident) - 1
			}
			if len(resident) == 0 {
				return
			}
			if r.schedule.seed != 0 {
				turn = 0
				shuffle(r.schedule.seed, resident)
			}
		}
		b := resident[turn]
		switch b.turn() {
		case statusExited:
			resident = append(resident[:turn], resident[turn+1:]...)
			spare = append(spare, b)
		case statusFault:
			r.report(b)
			return
		default:
			turn++
		}
	}
}

// start makes the next block resident and returns it, or returns nil if all blocks have started.
func (r *launchRun) start(spare *[]*block, counts *tally) *block {
	i := r.next.Add(1) - 1
	if i >= r.blocks {
		return nil
	}
	if r.order != nil {
		i = uint64(r.order[i])
	}
	var b *block
	if n := len(*spare); n > 0 {
		b, *spare = (*spare)[n-1], (*spare)[:n-1]
	} else if old, ok := r.Kernel.blocks.Get().(*block); ok && len(old.warps) == int(r.warps) && old.shared.Size == r.sharedBytes() {
		b = old
		b.run, b.counts = r, counts
	} else {
		b = &block{run: r, counts: counts}
	}
	b.reset(i)
	return b
}

// report records a block's fault and stops the launch. If several blocks fault, the first block's fault stays.
func (r *launchRun) report(b *block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil || b.index < r.first {
		r.fault, r.first = b.fault, b.index
	}
	r.stop.Store(true)
}
