package cudasim

import "math/bits"

// Counters is what a launch did. Instructions are of threads: a warp instruction counts once for each thread that ran it.
type Counters struct {
	Warps             uint64            // warp instructions
	Instructions      map[string]uint64 // of threads, by class: int, float, double, half, convert, move, predicate, branch, memory, atomic, sync, other
	GlobalRead        Traffic
	GlobalWrite       Traffic
	BankConflicts     uint64 // extra passes over shared memory that its accesses took
	Atomics           uint64 // of threads, on global and shared memory
	AtomicsOnOne      uint64 // the most on one address of global memory
	AtomicAddress     uint64 // that address
	Barriers          uint64 // barriers that a block completed
	Branches          uint64 // branches of warps
	DivergentBranches uint64 // those that split a warp

	classes [classes]uint64
}

// Traffic is what the requests of warps to global memory moved.
type Traffic struct {
	Requests uint64 // instructions of warps
	Bytes    uint64 // that threads asked for
	Sectors  uint64 // of 32 bytes, each counted once a request
}

func newCounters() *Counters { return &Counters{Instructions: map[string]uint64{}} }

func (c *Counters) instruction(in *inst, exec uint32) {
	c.Warps++
	c.classes[in.class] += uint64(bits.OnesCount32(exec))
	if in.kind == kindBra && exec != 0 {
		c.Branches++
	}
}

func (t *Traffic) add(o Traffic) {
	t.Requests += o.Requests
	t.Bytes += o.Bytes
	t.Sectors += o.Sectors
}

// add adds what one worker counted.
func (c *Counters) add(o *Counters) {
	c.Warps += o.Warps
	for i, n := range o.classes {
		if n > 0 {
			c.Instructions[classNames[i]] += n
		}
	}
	c.GlobalRead.add(o.GlobalRead)
	c.GlobalWrite.add(o.GlobalWrite)
	c.BankConflicts += o.BankConflicts
	c.Atomics += o.Atomics
	c.Barriers += o.Barriers
	c.Branches += o.Branches
	c.DivergentBranches += o.DivergentBranches
}
