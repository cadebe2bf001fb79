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
	BankConflicts     uint64   // extra passes over shared memory, because a warp's threads accessed different words in one bank
	Atomics           uint64   // atomic operations by threads, on global and shared memory
	AtomicsOnOne      uint64   // the most atomic operations on one address in global memory
	AtomicAddress     uint64   // the address with AtomicsOnOne
	Barriers          uint64   // barriers that a block completed
	Branches          uint64   // branches by warps
	DivergentBranches uint64   // branches that split a warp
	Lines             []uint64 // instructions per thread by line in the module's text, counted from 1; nil unless Config.Lines
}

// Traffic is the traffic between warps and global memory.
type Traffic struct {
	Requests uint64 // memory instructions by warps
	Bytes    uint64 // bytes that threads requested
	Sectors  uint64 // sectors, 32 bytes each, each counted once per request
}

// Add adds the counts in o to t.
func (t *Traffic) Add(o Traffic) {
	t.Requests += o.Requests
	t.Bytes += o.Bytes
	t.Sectors += o.Sectors
}
