package exec

import "math/bits"

// Lanes is one register of a warp: 32 lanes, each zero-extended from the register's width.
type Lanes [32]uint64

// ALU computes every lane of d from a, b and c. d may alias them.
type ALU func(d, a, b, c *Lanes)

// Class is the class of an instruction in the counters.
type Class uint8

const (
	ClassInt Class = iota
	ClassFloat
	ClassDouble
	ClassHalf
	ClassConvert
	ClassMove
	ClassPredicate
	ClassBranch
	ClassMemory
	ClassAtomic
	ClassSync
	ClassTensor
	ClassOther
	classes
)

var classNames = [classes]string{"int", "float", "double", "half", "convert", "move", "predicate", "branch", "memory",
	"atomic", "sync", "tensor", "other"}

// Register slots and predicate slots of every warp. Constants follow FirstConst.
const (
	SlotZero   = 0 // reads as zero
	SlotSink   = 1 // written, never read
	FirstConst = 2

	PredTrue  = 0 // all ones, so that an instruction without a guard has a guard
	PredSink  = 1
	FirstPred = 2
)

// SpaceKind is a state space of PTX. The value of a generic address determines its space.
type SpaceKind uint8

const (
	SpaceGeneric SpaceKind = iota
	SpaceGlobal
	SpaceShared
	SpaceLocal
	SpaceParam
)

var spaceNames = [...]string{"generic", "global", "shared", "local", "param"}

// Status is the state of a warp after an instruction.
type Status uint8

const (
	StatusNext   Status = iota // on to the next instruction
	statusStay                 // Fn has moved the lanes
	statusYield                // next instruction, after the others had a turn
	statusFault                // block.fault holds the reason
	statusIdle                 // no lane can run
	statusExited               // no lane is left
)

// Blend copies the lanes of exec from v to d.
func Blend(d, v *Lanes, exec uint32) {
	for ; exec != 0; exec &= exec - 1 {
		i := bits.TrailingZeros32(exec) & 31
		d[i] = v[i]
	}
}
