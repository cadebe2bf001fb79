package backend

import (
	"context"
	"slices"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// Backend is one device. Its methods may be called from any goroutine.
type Backend interface {
	// Name is the device's name, for example "cpu" or "cuda:0".
	Name() string
	// Describe returns a description of the device, with the reason why it was selected.
	Describe() Info
	// Alloc returns a contiguous tensor with unspecified contents, or a *MemoryError if memory runs out.
	Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// AllocHost returns a host tensor in memory that Queue.Copy accepts.
	AllocHost(dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// Copy copies between contiguous tensors with the same dtype and shape, each on the host or on this device, and
	// returns when it is done.
	Copy(dst, src *tensor.Tensor) error
	// NewQueue returns a new queue.
	NewQueue() (Queue, error)
	// NewMark returns a new mark.
	NewMark() (Mark, error)
	// Close releases the device. Queues and plans must have been closed.
	Close() error
}

// Optional operations. Each method turns a validated job into a plan.
type (
	// Resampler implements ops.Resample.
	Resampler interface {
		Resample(job *ResampleJob) (Plan, error)
	}
	// Fuser implements ops.Fuse.
	Fuser interface {
		Fuse(job *FuseJob) (Plan, error)
	}
	// Differentiator implements the gradients of Resample and Fuse.
	Differentiator interface {
		Backward(job *BackwardJob) (Plan, error)
	}
	// Voxelizer implements ops.Voxelize.
	Voxelizer interface {
		Voxelize(job *VoxelizeJob) (VoxelizePlan, error)
	}
	// Drawer implements ops.Draw.
	Drawer interface {
		Draw(job *DrawJob) (Plan, error)
	}
	// Tallier implements ops.Tally.
	Tallier interface {
		Tally(job *TallyJob) (Plan, error)
	}
	// Framer implements ops.Frames.
	Framer interface {
		Frames(job *FramesJob) (Plan, error)
	}
	// Deprojector implements ops.Deproject.
	Deprojector interface {
		Deproject(job *DeprojectJob) (Plan, error)
	}
	// Integrator implements ops.Integrate.
	Integrator interface {
		Integrate(job *IntegrateJob) (Plan, error)
	}
	// FarthestChooser implements ops.FarthestPoints.
	FarthestChooser interface {
		FarthestPoints(job *FarthestJob) (Plan, error)
	}
	// Memory is a device with memory of its own. Free returns how many of its bytes can still be allocated.
	Memory interface {
		Free() (int64, error)
	}
	// Connector connects this device to others with the same kind. Their plans and copies may then use its memory,
	// their queues can wait for its marks, and one capture can include queues on both. If devices cannot be connected,
	// it returns an error.
	Connector interface {
		Connect(others []Backend) error
	}
	// Summer adds contiguous f32 tensors with equal lengths, each on its queue's device, with a library such as NCCL.
	Summer interface {
		Sum(queues []Queue, tensors []*tensor.Tensor) (Sum, error)
	}
	// Batcher combines plans into one. The plans belong to this backend and are already checked to be independent. A
	// plan from another backend is refused.
	Batcher interface {
		Batch(plans []Plan, opts BatchOptions) (Plan, error)
	}
)

// Queue runs work in order. Its methods may be called from any goroutine.
type Queue interface {
	// Synchronize waits until the work so far is done, or the context ends. It returns the errors in values since the
	// last call, joined if there are several.
	Synchronize(ctx context.Context) error
	// Capture records the work that fn enqueues on this queue, without running it. Nothing else may use the queue
	// during the capture, and fn must not synchronise it. Work on the queues in with is recorded too. They are on this
	// device or connected ones, begin after this queue begins and end before it ends, and may mark and wait for each
	// other in between.
	Capture(fn func() error, with ...Queue) (Graph, error)
	// Copy copies between contiguous tensors with the same dtype and shape that share no memory. At least one is on the
	// device. It allocates nothing. If a host tensor's memory is not accessible to the device, the error is an
	// *ArgError with the kind ErrPageable.
	Copy(dst, src *tensor.Tensor) error
	// Mark sets a mark on the same device to stand for the work so far. It allocates nothing.
	Mark(m Mark) error
	// After makes later work wait for the work that a mark stands for. The mark is on the same device or a connected
	// one. It allocates nothing.
	After(m Mark) error
	// Close waits for the work, releases the queue, and returns the errors that Synchronize would have returned. Close
	// twice is fine.
	Close() error
}

// Sum replaces tensors on several devices by their sum.
type Sum interface {
	// Run enqueues the sum on all queues, and returns before it is done.
	Run() error
	// Close releases the library's resources. The queues must have been synchronised. Close twice is fine.
	Close() error
}

// Mark is a point in a queue's work. Before Queue.Mark sets it, it stands for no work. Its methods may be called from
// any goroutine.
type Mark interface {
	// Wait returns when the work is done, or the context ends.
	Wait(ctx context.Context) error
	// Close releases the mark. If a queue already waits for it, that wait stays valid. Close twice is fine.
	Close() error
}

// Plan is an operation with fixed tensors and options, or a batch of such operations. If it is one operation, it also
// has the method Tensors() *[Bound].
type Plan interface {
	// Run enqueues the operation on a queue for the same device. It allocates nothing. Synchronize the queue before the
	// plan runs on another one, because otherwise either queue could report the plan's errors.
	Run(q Queue) error
	// Close releases the plan's memory, but not its tensors. Its queues must have been synchronised.
	Close() error
}

// VoxelizePlan is a plan for Voxelize that also counts points.
type VoxelizePlan interface {
	Plan
	// Counts returns the number of points and voxels in the latest run. That run's queue must have been synchronised.
	Counts() (VoxelCounts, error)
}

// Graph is captured work that one call enqueues. It keeps references to its tensors and plans, which must stay open as
// long as it is launched.
type Graph interface {
	// Launch enqueues the work on a queue for the same device. It allocates nothing.
	Launch(q Queue) error
	// Close releases the graph. Its queues must have been synchronised.
	Close() error
}

// Info describes a device. Package ops documents it.
type Info struct {
	Backend string // "cpu", "cuda" or "sim"
	Name    string // the device's name: "cuda:0"
	Product string // the hardware: "NVIDIA H200", or the processor's architecture and threads
	Driver  string // the driver's version; empty for the CPU
	Kernels string // the selected kernel image and the reason; empty for the CPU
	Shapes  string // the source of launch configurations: a tuned table, or the heuristic and the reason; empty for the CPU
	Why     string // the reason why this backend was selected
}

// Opener opens devices for one kind of backend.
type Opener struct {
	// Name is the part before the colon in ops.Open's argument: "cuda" for "cuda" and "cuda:1".
	Name string
	// Auto is the priority for ops.Open("auto"), which tries the greatest first. 0 excludes the kind.
	Auto int
	// Open opens a device. arg is the text after the colon, for example "1"; "" means the default device. The error
	// gives the reason if there is no such device.
	Open func(arg string) (Backend, error)
	// Count returns the number of devices, which are numbered from 0. It is nil if the kind has exactly one device,
	// without a number.
	Count func() (int, error)
}

var openers struct {
	sync.Mutex
	list []Opener
}

// Register adds a kind of backend. Call it from the backend package's init. It panics if the name is already
// registered.
func Register(o Opener) {
	openers.Lock()
	defer openers.Unlock()
	if slices.ContainsFunc(openers.list, func(other Opener) bool { return other.Name == o.Name }) {
		panic("backend: Register called twice for " + o.Name)
	}
	openers.list = append(openers.list, o)
	slices.SortStableFunc(openers.list, func(a, b Opener) int { return b.Auto - a.Auto })
}

// Openers returns the registered kinds, in the order in which "auto" tries them.
func Openers() []Opener {
	openers.Lock()
	defer openers.Unlock()
	return slices.Clone(openers.list)
}
