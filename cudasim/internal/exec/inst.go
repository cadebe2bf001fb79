package exec

// OpKind is how the loop of a warp executes an instruction.
type OpKind uint8

const (
	KindALU  OpKind = iota // D = ALU(A, B, C)
	KindSet                // PD, PQ = Cmp(A, B), combined with PA by Logic
	KindSel                // D = PA ? A : B
	KindPred               // PD = Logic(PA, PB)
	KindBra                // branch to Target
	KindExit
	KindFn // Fn does the whole instruction
)

// Inst is one micro-operation. Register fields name virtual registers until the slots are assigned; -1 is none.
type Inst struct {
	Kind  OpKind
	Class Class
	Apart bool // writes results before it has read all operands, so that results need slots of their own
	Guard int32
	GX    uint32 // all ones if the guard is negated

	D, A, B, C int32
	PD, PQ     int32  // predicates written: the result and its complement
	PA, PB     int32  // predicates read
	AX, BX     uint32 // all ones if PA or PB is negated

	Target int32 // index of a branch's target in the code
	Line   int32 // line in the module's text
	ALU    ALU
	Cmp    func(a, b *Lanes) uint32
	Logic  func(a, b uint32) uint32
	Fn     Step
	X      *Extra
}

// Step executes an instruction for the lanes of exec, at least one.
type Step func(w *Warp, in *Inst, exec uint32) Status

// Extra holds operands that only few instructions have.
type Extra struct {
	DD, AA   []int32 // more registers written and read
	Space    SpaceKind
	Size     uint64 // bytes of an element
	N        int    // elements
	Off      uint64 // added to the address
	Wide     bool   // the address register has 64 bits
	Uniform  bool   // the address does not depend on a register, so that every lane has the same
	Signed   bool
	Mask     uint64 // all bits of the destination register's width
	Strong   bool   // volatile, relaxed, acquire or release: one atomic access
	Acquire  bool
	Release  bool
	Constant bool                          // the read-only path
	MayMiss  bool                          // an atomic that may leave memory unchanged, if the old value is not B
	RMW      func(old, b, c uint64) uint64 // the new value of an atomic
	Targets  []int32                       // targets of brx, as indices in the code
	Bar      BarSpec
}

// BarSpec describes a barrier instruction.
type BarSpec struct {
	Aligned bool   // all lanes of the warp run it together
	Arrive  bool   // counts and goes on
	Red     string // how the threads' predicates are combined: popc, and, or
	Counted bool   // in.B holds the number of threads
}
