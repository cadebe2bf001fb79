package ops

import (
	"context"

	"github.com/robocache/robocache/tensor"
)

// Backend runs validated operations on one device. Programs use a [Device]; this interface is for packages that
// implement a backend. Its methods may be called from any goroutine.
type Backend interface {
	// Name is the device's name, as tensors on it report it: "cpu", "cuda:0".
	Name() string
	// Describe says what the device is and how it was chosen.
	Describe() Info
	// Alloc returns a contiguous tensor whose contents are unspecified, or a *MemoryError if there is not the memory.
	Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error)
	// Copy copies between contiguous tensors of one dtype and shape, each on the host or on this device, and returns
	// when it is done.
	Copy(dst, src *tensor.Tensor) error
	// NewStream returns a queue of work.
	NewQueue() (Queue, error)
	// Resample prepares a validated job.
	Resample(job *ResampleJob) (Plan, error)
	// Fuse prepares a validated job.
	Fuse(job *FuseJob) (Plan, error)
	// Backward prepares a validated job.
	Backward(job *BackwardJob) (Plan, error)
	// Voxelize prepares a validated job.
	Voxelize(job *VoxelizeJob) (VoxelizePlan, error)
	// Draw prepares a validated job.
	Draw(job *DrawJob) (Plan, error)
	// Batch makes one plan of plans of this backend that were checked not to depend on each other. It refuses those of another.
	Batch(plans []Plan, opts BatchOptions) (Plan, error)
	// Close releases the device. Streams and plans must have been closed.
	Close() error
}

// Stream is a queue of work that runs in order. Its methods may be called from any goroutine.
type Queue interface {
	// Synchronize waits until the work given so far is done, or the context ends, and returns the errors found in values
	// since the last call, joined if there are several.
	Synchronize(ctx context.Context) error
	// Capture records the work that fn gives to this stream, without running it. Nothing else may use the stream
	// meanwhile, and fn must not synchronise it.
	Capture(fn func() error) (Graph, error)
	// Close waits for the work, releases the stream, and returns what Synchronize would have. Close twice is fine.
	Close() error
}

// Plan is an operation bound to its tensors, or a batch of them. A backend's plan of one operation also has the method
// Tensors() *[Bound].
type Plan interface {
	// Run gives the operation to a stream of the same device. It allocates nothing. A plan that ran on one stream may run on
	// another once the first has been synchronised; before, either could report its errors.
	Run(s Queue) error
	// Close releases what the plan holds; its tensors stay. The streams it ran on must have been synchronised.
	Close() error
}

// Graph is captured work that is given to a stream in one call. It refers to the tensors and plans it was captured with,
// which must stay open as long as it is launched.
type Graph interface {
	// Launch gives the work to a stream of the same device. It allocates nothing.
	Launch(s Queue) error
	// Close releases the graph. The streams it was launched on must have been synchronised.
	Close() error
}

// Info describes a device.
type Info struct {
	Backend string // "cpu", "cuda" or "sim"
	Name    string // the device's name: "cuda:0"
	Product string // what it is: "NVIDIA H200", or the processor's architecture and threads
	Driver  string // the driver's version; empty for the CPU
	Kernels string // the kernel image chosen and why; empty for the CPU
	Shapes  string // where the shapes of launches come from: a tuned table, or the model and why; empty for the CPU
	Why     string // why this backend was taken
}
