package exec

import (
	"math"

	"github.com/robocache/robocache/cudasim/internal/memory"
)

// waitKind is why a group of lanes does not run.
type waitKind uint8

const (
	waitNone   waitKind = iota
	waitGather          // for lanes of the warp to arrive at the same instruction
	waitBar             // at a barrier of the block
)

// group is lanes of one warp that are at the same instruction.
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
	index    uint32 // in the block
	Alive    uint32 // lanes that have not exited
	pc       int32
	mask     uint32
	watch    int32 // the nearest instruction ahead where another group is
	turn     int   // instructions left in which a group need not give way to one that is behind
	spun     int   // instructions since groups last changed
	groups   []group
	last     *memory.Allocation // found last
	ofs      [32]uint64         // scratch: where in an allocation each lane's access is
	tmp      Lanes
	cp       copies
	bulkOpen [32]uint32 // each lane's group of bulk copies that is open
	budget   int
	pollN    int
	steps    uint64
	checkState
}

// checkState is what the race check knows of a warp.
type checkState struct {
	clock   uint32
	known   seen // of every block, its own as well
	fenced  seen // what it knew at its last fence: what a strong write passes on
	pending seen // what strong reads brought: a fence makes it known
}

// pendingCopy is one cp.async of a lane. Its size is a multiple of 16 bytes: the list is moved often, and other sizes took four times the time.
type pendingCopy struct {
	lane  uint32
	group uint32 // of the lane; those not yet committed have the group that is open
	dst   uint64 // in shared memory
	src   []byte // nil: zeros
	n     uint64 // bytes of dst; what src lacks is zero
}

// copies are the asynchronous copies that a warp's lanes have begun, the oldest first.
type copies struct {
	list []pendingCopy
	open [32]uint32 // each lane's group that is open
}

const never = int32(math.MaxInt32)
