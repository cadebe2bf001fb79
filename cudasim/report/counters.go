package report

// Counters counts the work of a launch. Instructions are of threads: a warp instruction counts once for each thread that ran it.
type Counters struct {
	Warps uint64 // warp instructions
	// Instructions are those of threads by class: int, float, double, half, convert, move, predicate, branch, memory, atomic, sync,
	// tensor, other.
	Instructions      map[string]uint64
	GlobalRead        Traffic
	GlobalWrite       Traffic
	Prefetched        uint64   // prefetched lines of 128 bytes of global memory, each counted once
	BankConflicts     uint64   // extra passes for accesses to shared memory
	Atomics           uint64   // of threads, on global and shared memory
	AtomicsOnOne      uint64   // the most on one address of global memory
	AtomicAddress     uint64   // that address
	Barriers          uint64   // barriers that a block completed
	Branches          uint64   // branches of warps
	DivergentBranches uint64   // branches that split a warp
	Lines             []uint64 // instructions of threads by line of the module's text, counted from 1; nil unless Config.Lines
}

// Traffic is the traffic of warps to global memory.
type Traffic struct {
	Requests uint64 // instructions of warps
	Bytes    uint64 // requested by threads
	Sectors  uint64 // sectors of 32 bytes, each counted once a request
}

// Add adds the traffic of other requests.
func (t *Traffic) Add(o Traffic) {
	t.Requests += o.Requests
	t.Bytes += o.Bytes
	t.Sectors += o.Sectors
}
