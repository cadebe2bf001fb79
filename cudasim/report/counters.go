package report

// Counters counts a launch's work. Instructions are counted per thread: a warp instruction counts once for each thread
// that ran it.
type Counters struct {
	Warps uint64 // warp instructions
	// Instructions counts instructions per thread by class: int, float, double, half, convert, move, predicate, branch,
	// memory, atomic, sync, tensor, other.
	Instructions      map[string]uint64
	GlobalRead        Traffic
	GlobalWrite       Traffic
	Prefetched        uint64   // prefetched lines in global memory, 128 bytes each, each counted once
	BankConflicts     uint64   // extra passes for accesses to shared memory
	Atomics           uint64   // per thread, on global and shared memory
	AtomicsOnOne      uint64   // the most on one address in global memory
	AtomicAddress     uint64   // that address
	Barriers          uint64   // barriers that a block completed
	Branches          uint64   // branches by warps
	DivergentBranches uint64   // branches that split a warp
	Lines             []uint64 // instructions per thread by line in the module's text, counted from 1; nil unless Config.Lines
}

// Traffic is the traffic between warps and global memory.
type Traffic struct {
	Requests uint64 // instructions by warps
	Bytes    uint64 // requested by threads
	Sectors  uint64 // sectors, 32 bytes each, each counted once per request
}

// Add adds the counts in o to t.
func (t *Traffic) Add(o Traffic) {
	t.Requests += o.Requests
	t.Bytes += o.Bytes
	t.Sectors += o.Sectors
}
