package backend

import (
	"context"
	"slices"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// Backend is one device. Its methods may be called from any goroutine.
type Backend interface {
	// Name is the device's name, as tensors on it report it: "cpu", "cuda:0".
	Name() string
	// Describe says what the device is and how it was chosen.
	Describe() Info
	// Alloc returns a contiguous tensor whose contents are unspecified, or a *MemoryError if there is not the memory.
	Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// AllocHost is Alloc for a host tensor whose memory Queue.Copy takes.
	AllocHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// Copy copies between contiguous tensors of one dtype and shape, each on the host or on this device, and returns
	// when it is done.
	Copy(dst, src *tensor.Tensor) error
	// NewQueue returns a queue of work.
	NewQueue() (Queue, error)
	// NewMark returns a mark.
	NewMark() (Mark, error)
	// Close releases the device. Queues and plans must have been closed.
	Close() error
}

// The operations that a backend may have. Each prepares a validated job.
type (
	// Resampler has Resample.
	Resampler interface {
		Resample(job *ResampleJob) (Plan, error)
	}
	// Fuser has Fuse.
	Fuser interface {
		Fuse(job *FuseJob) (Plan, error)
	}
	// Differentiator has the gradients of Resample and Fuse.
	Differentiator interface {
		Backward(job *BackwardJob) (Plan, error)
	}
	// Voxelizer has Voxelize.
	Voxelizer interface {
		Voxelize(job *VoxelizeJob) (VoxelizePlan, error)
	}
	// Drawer has Draw.
	Drawer interface {
		Draw(job *DrawJob) (Plan, error)
	}
	// Tallier has Tally.
	Tallier interface {
		Tally(job *TallyJob) (Plan, error)
	}
	// Connector opens its memory to other devices of its kind: their plans and copies may name it, their queues wait for its marks, and a capture of
	// one takes queues of the other. It refuses devices that cannot be connected.
	Connector interface {
		Connect(others []Backend) error
	}
	// Summer adds up contiguous f32 tensors of one size, each on the device of a queue, by a library.
	Summer interface {
		Sum(queues []Queue, tensors []*tensor.Tensor) (Sum, error)
	}
	// Batcher makes one plan of plans of this backend that were checked not to depend on each other. It refuses those of another.
	Batcher interface {
		Batch(plans []Plan, opts BatchOptions) (Plan, error)
	}
)

// Queue is a queue of work that runs in order. Its methods may be called from any goroutine.
type Queue interface {
	// Synchronize waits until the work given so far is done, or the context ends, and returns the errors found in values
	// since the last call, joined if there are several.
	Synchronize(ctx context.Context) error
	// Capture records the work that fn gives to this queue, without running it. Nothing else may use the queue
	// meanwhile, and fn must not synchronise it. It records that of other queues too, of this device or of connected ones, which begin where this one
	// does and end before it; these may mark and wait for each other meanwhile.
	Capture(fn func() error, with ...Queue) (Graph, error)
	// Copy copies between contiguous tensors of one dtype and shape that share no memory, one at least on the device, and allocates nothing. A host
	// tensor whose memory the device does not copy from by itself is an *ArgError that is ErrPageable.
	Copy(dst, src *tensor.Tensor) error
	// Mark makes a mark of the same device stand for the work given so far. It allocates nothing.
	Mark(m Mark) error
	// After makes work given from now on wait for what a mark of the same device, or of a connected one, stands for. It allocates nothing.
	After(m Mark) error
	// Close waits for the work, releases the queue, and returns what Synchronize would have. Close twice is fine.
	Close() error
}

// Sum writes the sum of tensors of several devices to all of them.
type Sum interface {
	// Run gives the queues the work, and returns before it is done.
	Run() error
	// Close releases what it holds. The queues must have been synchronised. Close twice is fine.
	Close() error
}

// Mark is a point in a queue's work; one that no queue was given stands for no work. Its methods may be called from any goroutine.
type Mark interface {
	// Wait returns when the work is done, or the context ends.
	Wait(ctx context.Context) error
	// Close releases the mark. Queues that were told to wait for it still do. Close twice is fine.
	Close() error
}

// Plan is an operation bound to its tensors, or a batch of them. A plan of one operation also has the method Tensors() *[Bound].
type Plan interface {
	// Run gives the operation to a queue of the same device. It allocates nothing. A plan that ran on one queue may run on
	// another once the first has been synchronised; before, either could report its errors.
	Run(q Queue) error
	// Close releases what the plan holds; its tensors stay. The queues it ran on must have been synchronised.
	Close() error
}

// VoxelizePlan is a plan of Voxelize.
type VoxelizePlan interface {
	Plan
	// Counts returns what became of the points in the latest run, whose queue must have been synchronised.
	Counts() (VoxelCounts, error)
}

// Graph is captured work that is given to a queue in one call. It refers to the tensors and plans it was captured with,
// which must stay open as long as it is launched.
type Graph interface {
	// Launch gives the work to a queue of the same device. It allocates nothing.
	Launch(q Queue) error
	// Close releases the graph. The queues it was launched on must have been synchronised.
	Close() error
}

// Info describes a device. Package ops documents it.
type Info struct {
	Backend string // "cpu", "cuda" or "sim"
	Name    string // the device's name: "cuda:0"
	Product string // what it is: "NVIDIA H200", or the processor's architecture and threads
	Driver  string // the driver's version; empty for the CPU
	Kernels string // the kernel image chosen and why; empty for the CPU
	Shapes  string // where the shapes of launches come from: a tuned table, or the heuristic and why; empty for the CPU
	Why     string // why this backend was taken
}

// Opener opens the devices of one kind of backend.
type Opener struct {
	// Name is what ops.Open's argument begins with: "cuda" for "cuda" and "cuda:1".
	Name string
	// Auto orders the kinds that ops.Open("auto") tries, greatest first. 0 leaves the kind out.
	Auto int
	// Open opens the device named by what follows the colon, "" for the default one. The error says why there is none.
	Open func(arg string) (Backend, error)
	// Count returns how many devices there are, numbered from 0. It is nil of a kind that has one, without a number.
	Count func() (int, error)
}

var openers struct {
	sync.Mutex
	list []Opener
}

// Register adds a kind of backend. Its package calls it from init. It panics if the name is taken.
func Register(o Opener) {
	openers.Lock()
	defer openers.Unlock()
	if slices.ContainsFunc(openers.list, func(other Opener) bool { return other.Name == o.Name }) {
		panic("backend: Register called twice for " + o.Name)
	}
	openers.list = append(openers.list, o)
	slices.SortStableFunc(openers.list, func(a, b Opener) int { return b.Auto - a.Auto })
}

// Openers returns the registered kinds, the one that "auto" tries first in front.
func Openers() []Opener {
	openers.Lock()
	defer openers.Unlock()
	return slices.Clone(openers.list)
}
