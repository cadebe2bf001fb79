package cudasim

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// What is modelled of a multiprocessor: it limits how many blocks are resident at once.
const (
	defaultMultiprocessors = 132
	threadsPerSM           = 2048
	blocksPerSM            = 32
	sharedPerSM            = 228 << 10

	warpTurn        = 8192    // instructions after which another warp of the block runs
	blockTurn       = 1 << 20 // instructions after which another resident block runs
	mostTogether    = 48      // blocks that a seed lets begin before one has ended
	defaultMaxSteps = 1 << 31
)

// launchSpec is one launch. grid and block have no zero; params is the parameter block, as long as kernel.paramBytes.
// The caller has checked block against kernel.maxThreads and shared memory against the device's limit.
type launchSpec struct {
	kernel *kernel
	grid   [3]uint32
	block  [3]uint32
	shared uint32 // dynamic shared bytes
	params []byte
	early  bool    // it may begin before the end of the kernel ahead of it, so somebody in it must wait for that
	config *Config // nil is the zero Config
	device *Device // whose memory the kernel reaches; nil reaches all
}

// launchRun is a launch that is running.
type launchRun struct {
	*launchSpec
	sp       *space
	cfg      Config
	checks   Check
	maxSteps uint64
	threads  uint32 // of a block
	warps    uint32 // of a block
	blocks   uint64
	drawn    drawn
	order    []uint32 // of blocks, nil for first to last

	next  atomic.Uint64 // the next block to start
	stop  atomic.Bool
	waits atomic.Bool // a thread executed griddepcontrol.wait
	mu    sync.Mutex
	fault *Fault
	first uint64 // block of fault
	total *Counters

	syncs      map[uint64]seen // what was released through each address of global memory
	shadows    map[*allocation]*shadow
	lastOf     *allocation
	lastShadow *shadow
}

// run executes a launch and returns when it has ended. After a fault the memory holds what was written before it.
// Counters are nil unless the configuration asks for them.
func run(sp *space, l *launchSpec) (*Counters, *Fault) {
	r := &launchRun{launchSpec: l, sp: sp}
	if l.config != nil {
		r.cfg = *l.config
	}
	r.checks = CheckAll &^ r.cfg.Skip
	r.maxSteps = r.cfg.MaxSteps
	if r.maxSteps == 0 {
		r.maxSteps = defaultMaxSteps
	}
	r.threads = l.block[0] * l.block[1] * l.block[2]
	r.warps = (r.threads + 31) / 32
	r.blocks = uint64(l.grid[0]) * uint64(l.grid[1]) * uint64(l.grid[2])
	workers := r.cfg.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if r.checks&CheckRaces != 0 || r.cfg.Seed != 0 {
		workers = 1
	}
	workers = int(min(uint64(workers), r.blocks))
	if r.cfg.Counters {
		r.total = newCounters(r.cfg.Lines)
	}
	if r.cfg.Seed != 0 {
		r.drawn = draw(r.cfg.Seed, l.params, r.blocks)
		r.order = shuffled(r.drawn.seed, r.blocks)
	}
	capacity := (r.occupancy()*uint64(r.multiprocessors()) + uint64(workers) - 1) / uint64(workers)
	if workers == 1 {
		r.work(capacity)
	} else {
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { r.work(capacity) })
		}
		wg.Wait()
	}
	sp.cells.ended()
	if r.early && r.fault == nil && !r.waits.Load() {
		r.fault = r.neverWaited()
	}
	return r.total, r.fault
}

// neverWaited is the fault of a launch that may begin early and in which no thread waited for what is ahead of it.
func (r *launchRun) neverWaited() *Fault {
	line := int(r.kernel.code[len(r.kernel.code)-1].line)
	return &Fault{Kind: NeverWaited, Kernel: r.kernel.name, Line: line, Text: trimmedLine(r.kernel.source, line),
		Detail: "no thread executed griddepcontrol.wait, so that what comes after this launch may run ahead of what came before it"}
}

func (r *launchRun) multiprocessors() int {
	if r.cfg.Multiprocessors > 0 {
		return r.cfg.Multiprocessors
	}
	return defaultMultiprocessors
}

// occupancy is how many blocks of the launch are resident on one multiprocessor.
func (r *launchRun) occupancy() uint64 {
	n := min(blocksPerSM, threadsPerSM/(32*r.warps))
	if s := r.kernel.shared + r.shared; s > 0 {
		n = min(n, sharedPerSM/(s+1024))
	}
	return uint64(max(n, 1))
}

func (r *launchRun) sharedBytes() uint64 {
	return uint64(r.kernel.shared) + uint64(r.launchSpec.shared)
}

// drawn is what a seed makes of a launch: a number of its own, not 0, how long the turns of its blocks are, about, and how many
// begin before one has ended. So blocks of some launches do the same step at about the same time, and others run far ahead.
type drawn struct {
	seed     uint64
	turn     uint64
	together int
}

// draw goes by the parameters, so that launches that follow each other differ and a run can be had again.
func draw(seed uint64, params []byte, blocks uint64) drawn {
	for _, b := range params {
		seed = mix(seed ^ uint64(b))
	}
	seed = max(mix(seed^blocks), 1)
	return drawn{seed, 1 << (6 + seed%11), int(min(1<<(seed>>8%7), mostTogether))}
}

// more says, under a seed, how many blocks begin when so many are resident and all have had a turn: one at times though enough are,
// as those may wait for it.
func (d *drawn) more(resident int) int {
	d.seed = mix(d.seed)
	return max(d.together-resident, int(d.seed%8/7))
}

// work runs blocks until none is left. A block keeps the worker until it ends or waits for something outside; then the next
// one starts, and when as many are resident as fit, they take turns. Under a seed turns are short, several blocks begin at once, and the
// order is another in each round.
func (r *launchRun) work(capacity uint64) {
	var resident, spare []*block
	var counts *Counters
	if r.total != nil {
		counts = newCounters(r.cfg.Lines)
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.total.add(counts)
		}()
	}
	defer func() {
		for _, b := range spare {
			b.run, b.counts = nil, nil
			r.kernel.blocks.Put(b)
		}
	}()
	turn := 0
	for !r.stop.Load() {
		if turn >= len(resident) {
			turn = 0
			more := 1
			if r.drawn.seed != 0 {
				more = r.drawn.more(len(resident))
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
			if r.drawn.seed != 0 {
				turn = 0
				shuffle(r.drawn.seed, resident)
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

// start makes the next block resident, nil if there is none.
func (r *launchRun) start(spare *[]*block, counts *Counters) *block {
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
	} else if old, ok := r.kernel.blocks.Get().(*block); ok && len(old.warps) == int(r.warps) && old.shared.size == r.sharedBytes() {
		b = old
		b.run, b.counts = r, counts
	} else {
		b = &block{run: r, counts: counts}
	}
	b.reset(i)
	return b
}

// report keeps a block's fault, the one of the first block if there are several, and stops the launch.
func (r *launchRun) report(b *block) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil || b.index < r.first {
		r.fault, r.first = b.fault, b.index
	}
	r.stop.Store(true)
}

// block is one block of threads.
type block struct {
	run    *launchRun
	index  uint64
	id     [3]uint32
	warps  []warp
	order  []int
	shared *allocation
	local  *allocation
	bars   [16]barrier
	alive  uint32 // threads that have not exited
	steps  uint64
	seed   uint64
	fault  *Fault
	counts *Counters
	bulk   []bulkCopy
	checkBlock
}

func (b *block) reset(index uint64) {
	r := b.run
	b.index = index
	b.id = r.blockAt(index)
	b.alive, b.steps, b.fault = r.threads, 0, nil
	b.bars = [16]barrier{}
	b.bulk = b.bulk[:0]
	size := r.sharedBytes()
	if b.shared == nil {
		b.shared = &allocation{size: size, kind: "shared", data: alignedBytes(size), init: make([]uint64, (size+63)/64)}
		b.local = &allocation{kind: "local", data: alignedBytes(uint64(r.kernel.local) * uint64(r.warps) * 32)}
		b.warps = make([]warp, r.warps)
		b.order = make([]int, r.warps)
		for i := range b.order {
			b.order[i] = i
		}
	} else {
		clear(b.shared.data)
		clear(b.shared.init)
		b.shared.whole.Store(false)
		clear(b.local.data)
	}
	b.checkBlock.reset(b)
	if b.seed != 0 { // of the launch that had it before, on this device or another
		b.seed = 0
		slices.Sort(b.order)
	}
	for i := range b.warps {
		n := min(32, r.threads-uint32(i)*32)
		b.warps[i].reset(b, uint32(i), ^uint32(0)>>(32-n))
	}
	if r.drawn.seed != 0 {
		b.seed = mix(r.drawn.seed ^ index<<20)
	}
}

// turn runs the block's warps until all have exited, or none can go on without another block.
func (b *block) turn() status {
	used, turn := 0, blockTurn
	if b.seed != 0 {
		b.seed = mix(b.seed)
		turn = 1 + int(b.seed%(2*b.run.drawn.turn))
	}
	for used < turn {
		idle, polled := true, true
		if b.seed != 0 {
			b.seed = mix(b.seed)
			shuffle(b.seed, b.order)
		}
		for _, i := range b.order {
			w := &b.warps[i]
			if w.alive == 0 {
				continue
			}
			budget := warpTurn
			if b.seed != 0 {
				budget = 1 + int(mix(b.seed+uint64(i))%256)
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
		case b.steps > b.run.maxSteps:
			return b.hung()
		case polled:
			return statusYield
		}
	}
	return statusYield
}

// finish ends what the block began and nobody waited for.
func (b *block) finish() {
	for i := range b.bulk {
		b.bulk[i].land(b)
	}
	b.bulk = b.bulk[:0]
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func shuffle[T any](seed uint64, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		seed = mix(seed)
		hi, _ := bits.Mul64(seed, uint64(i+1))
		list[i], list[hi] = list[hi], list[i]
	}
}

func shuffled(seed, n uint64) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	shuffle(seed, list)
	return list
}
