package exec

import (
	"math"

	"github.com/robocache/robocache/cudasim/internal/memory"
)

// waitKind is the reason why a group of lanes does not run.
type waitKind uint8

const (
	waitNone   waitKind = iota
	waitGather          // for lanes of the warp to arrive at the same instruction
	waitBar             // at a barrier of the block
)

// group is the lanes of one warp that are at the same instruction.
type group struct {
	pc   int32
	mask uint32
	wait waitKind
	bar  uint8
}

// Warp is 32 threads. The group that runs is pc and mask; the others wait in groups.
type Warp struct {
	b        *block
	Regs     []Lanes
	Preds    []uint32
	code     []Inst
	index    uint32 // index in the block
	Alive    uint32 // lanes that have not exited
	pc       int32
	mask     uint32
	watch    int32 // the nearest later instruction at which another group waits
	turn     int   // instructions left in which a group need not give way to one at an earlier instruction
	spun     int   // instructions since groups last changed
	groups   []group
	last     *memory.Allocation // the allocation of the last access
	ofs      [32]uint64         // scratch: the offset of each lane's access in an allocation
	tmp      Lanes
	cp       copies
	bulkOpen [32]uint32 // each lane's open group of bulk copies
	budget   int
	pollN    int
	steps    uint64
	checkState
}

// checkState is the state of the race check for a warp.
type checkState struct {
	clock   uint32
	known   clockSet // for every block, its own included
	fenced  clockSet // the clocks at the last fence, which a strong write publishes
	pending clockSet // the clocks from strong reads, which a fence adds to known
}

// pendingCopy is one cp.async of a lane. Its size is a multiple of 16 bytes because the list moves often: other sizes took 4 times as long.
type pendingCopy struct {
	lane  uint32
	group uint32 // number of the lane's group; a copy that is not committed is in the open group
	dst   uint64 // offset in shared memory
	src   []byte // nil: zeros
	n     uint64 // bytes of dst; those beyond len(src) are zero
}

// copies are the asynchronous copies of a warp's lanes, the oldest first.
type copies struct {
	list []pendingCopy
	open [32]uint32 // each lane's open group
}

const never = int32(math.MaxInt32)
