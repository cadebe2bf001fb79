package exec

import (
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// The limits of a multiprocessor, which bound the number of resident blocks.
const (
	ThreadsPerSM   = 2048
	BlocksPerSM    = 32
	SharedPerSM    = 228 << 10 // bytes
	RegistersPerSM = 64 << 10  // 32-bit registers
	ReservedShared = 1 << 10   // bytes of each block's shared memory that the system reserves

	DefaultMultiprocessors = 132
)

// Launch is one launch. Grid and Block are not zero; Params is the parameter block of Kernel.ParamBytes bytes.
// The caller has checked Block against Kernel.MaxThreads, and shared memory against the device's limit.
type Launch struct {
	Kernel *Kernel
	Grid   [3]uint32
	Block  [3]uint32
	Shared uint32 // dynamic shared bytes
	Params []byte
	Early  bool          // it may begin before the previous kernel has ended, so that a thread must wait for that kernel
	Owner  *memory.Owner // the device whose memory the kernel may access; nil allows all
	Options
}

// Options configure a launch. The zero value runs every check, with blocks and warps in order.
type Options struct {
	Seed            uint64       // if not 0, it determines a random order of blocks and warps
	Workers         int          // goroutines that run blocks, 0 for GOMAXPROCS; the race check runs on one
	Skip            report.Check // checks to leave out
	Counters        bool         // count instructions and memory traffic
	Lines           bool         // with Counters: count instructions for each line of the module's text
	Multiprocessors int          // 0 is 132
	MaxSteps        uint64       // instructions that a block's warps may run before it counts as hung, 0 for 2^31
}

// Machine runs the kernels of a space, one at a time.
type Machine struct {
	Space *memory.Space
	cells cellPool
}

// launchRun is a running launch.
type launchRun struct {
	*Launch
	sp       *memory.Space
	cells    *cellPool
	checks   report.Check
	threads  uint32 // threads in a block
	warps    uint32 // warps in a block
	blocks   uint64
	schedule schedule
	order    []uint32 // order of the blocks; nil for ascending

	next  atomic.Uint64 // the next block to start
	stop  atomic.Bool
	waits atomic.Bool // a thread executed griddepcontrol.wait
	mu    sync.Mutex
	fault *report.Fault
	first uint64 // block of fault
	total *tally

	syncs      map[uint64]clockSet // the clocks that were released through each address of global memory
	shadows    map[*memory.Allocation]*shadow
	lastOf     *memory.Allocation
	lastShadow *shadow
}

// occupancy returns the number of blocks that one multiprocessor can hold at the same time.
func (r *launchRun) occupancy() uint64 {
	n := min(BlocksPerSM, ThreadsPerSM/(32*r.warps))
	if s := r.Kernel.Shared + r.Shared; s > 0 {
		n = min(n, SharedPerSM/(s+ReservedShared))
	}
	return uint64(max(n, 1))
}

func (r *launchRun) sharedBytes() uint64 {
	return uint64(r.Kernel.Shared) + uint64(r.Launch.Shared)
}

func (r *launchRun) blockAt(i uint64) [3]uint32 {
	x, y := uint64(r.Grid[0]), uint64(r.Grid[1])
	return [3]uint32{uint32(i % x), uint32(i / x % y), uint32(i / x / y)}
}

func (r *launchRun) threadAt(t uint32) [3]uint32 {
	return [3]uint32{t % r.Block[0], t / r.Block[0] % r.Block[1], t / r.Block[0] / r.Block[1]}
}

// schedule holds the random choices of a launch: its own seed (not 0), the mean length of a block's turn, and the number of blocks that
// begin before one has ended. So some launches run their blocks nearly in step, and in others some blocks run far ahead.
type schedule struct {
	seed     uint64
	turn     uint64
	together int
}
