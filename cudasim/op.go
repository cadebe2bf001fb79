package cudasim

// lanes is one register of a warp: 32 lanes, each zero-extended from the register's width.
type lanes [32]uint64

// alu computes every lane of d from a, b and c. d may be any of them.
type alu func(d, a, b, c *lanes)

// opKind is how the warp's loop treats an instruction.
type opKind uint8

const (
	kindALU  opKind = iota // d = alu(a, b, c)
	kindSet                // pd, pq = cmp(a, b) combined with pa
	kindSel                // d = pa ? a : b
	kindPred               // pd = logic(pa, pb)
	kindBra                // to target
	kindExit
	kindFn // fn does all of it
)

// status is what the warp does after an instruction.
type status uint8

const (
	statusNext   status = iota // on to the next instruction
	statusStay                 // fn has moved the lanes
	statusYield                // next instruction, after the others had a turn
	statusFault                // warp.fault says why
	statusIdle                 // no lane can run
	statusExited               // no lane is left
)

// class is what an instruction counts as.
type class uint8

const (
	classInt class = iota
	classFloat
	classDouble
	classHalf
	classConvert
	classMove
	classPredicate
	classBranch
	classMemory
	classAtomic
	classSync
	classTensor
	classOther
	classes
)

var classNames = [classes]string{"int", "float", "double", "half", "convert", "move", "predicate", "branch", "memory", "atomic", "sync", "tensor", "other"}

// Register slots and predicate slots that every warp has. Constants follow firstConst.
const (
	slotZero   = 0 // reads as zero
	slotSink   = 1 // written, never read
	firstConst = 2

	predTrue  = 0 // all ones, so that an instruction without a guard has a guard
	predSink  = 1
	firstPred = 2
)

// inst is one micro-operation. Register fields name virtual registers until the slots are assigned; -1 is none.
type inst struct {
	kind  opKind
	class class
	apart bool // writes results before it has read all operands: results need slots of their own
	guard int32
	gx    uint32 // all ones for a guard that is negated

	d, a, b, c int32
	pd, pq     int32  // predicates written: the result and its complement
	pa, pb     int32  // predicates read
	ax, bx     uint32 // all ones where pa or pb is negated

	target int32
	line   int32
	alu    alu
	cmp    func(a, b *lanes) uint32
	logic  func(a, b uint32) uint32
	fn     func(w *warp, in *inst, exec uint32) status
	x      *extra
}

// extra is what few instructions have.
type extra struct {
	dd, aa   []int32 // more registers written and read
	space    spaceKind
	size     uint64 // bytes of an element
	n        int    // elements
	off      uint64
	wide     bool // the address register has 64 bits
	uniform  bool // the address is no register: every lane has the same
	signed   bool
	mask     uint64 // of the destination register's width
	strong   bool   // volatile, relaxed, acquire or release: one atomic access
	acquire  bool
	release  bool
	constant bool // the read-only path
	rmw      func(old, b, c uint64) uint64
	targets  []int32
	sreg     func(w *warp, lane int) uint64
	bar      barSpec
}

type spaceKind uint8

const (
	spaceGeneric spaceKind = iota
	spaceGlobal
	spaceShared
	spaceLocal
	spaceParam
)

var spaceNames = [...]string{"generic", "global", "shared", "local", "param"}
