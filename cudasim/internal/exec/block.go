package exec

import (
	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// block is one block of threads.
type block struct {
	run    *launchRun
	index  uint64
	id     [3]uint32
	warps  []Warp
	order  []int
	shared *memory.Allocation
	local  *memory.Allocation
	bars   [16]barrier
	alive  uint32 // threads that have not exited
	steps  uint64
	seed   uint64
	fault  *report.Fault
	counts *tally
	bulk   []bulkCopy
	checkBlock
}

// barrier is one of the 16 barriers of a block.
type barrier struct {
	arrived  uint32 // threads
	expected uint32 // threads; 0: all that have not exited
	waiting  bool
	votes    uint32 // threads whose predicate was set
	red      string
	known    clockSet // the clocks of the warps that arrived
	fenced   clockSet
}

// checkBlock is the state of the checks for a block.
type checkBlock struct {
	watching bool // every access must be observed
	racing   bool
	shadow   *shadow
	syncs    map[uint64]clockSet // released clocks, by address in shared memory
}

// bulkCopy is a cp.async.bulk. The block waits for it through an mbarrier or a bulk group.
type bulkCopy struct {
	dst, src []byte
	to       *memory.Allocation
	off      uint64
	bar      uint64 // mbarrier in shared memory, ^0 for none
	warp     uint32
	lane     int
	group    uint32
}
