package ops

import (
	"context"
	"errors"
	"sync"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Queue runs work in order; on a GPU it is a driver's stream. Different queues do not wait for each other, unless
// [Queue.After] makes them. The methods may be called from any goroutine.
type Queue struct {
	queue  backend.Queue
	device *Device
	mu     sync.Mutex
	mark   backend.Mark // stands for the work that other queues wait for; created by the first such wait
}

// Backend returns the backend's own queue, for packages that belong to a backend. It returns nil if q is nil.
func (q *Queue) Backend() backend.Queue {
	if q == nil {
		return nil
	}
	return q.queue
}

// Synchronize waits until the work so far is done, or the context ends. It returns the errors in values since the last
// call, joined if there are several. If the context ends first, work may still run: its tensors must stay open until a
// later call has waited for it. While Synchronize waits, other goroutines that enqueue work on this queue wait too;
// waiting for a [Mark] avoids that.
func (q *Queue) Synchronize(ctx context.Context) error { return q.queue.Synchronize(ctx) }

// Capture records the work that fn enqueues on this queue, without running it, and returns it as a graph. Nothing else
// may use the queue during the capture, and fn must not synchronise it.
//
// If other queues are passed, on the same device or on devices that [Connect] connected to it, the graph contains their
// work too. Each of them begins where q does, and q ends after all of them. In between, [Queue.Mark] and [Queue.After]
// define their order. A mark that is set during the capture has no meaning outside it.
func (q *Queue) Capture(fn func() error, with ...*Queue) (*Graph, error) {
	var others []backend.Queue
	for _, o := range with {
		if o == nil {
			return nil, noQueue("Capture")
		}
		others = append(others, o.queue)
	}
	g, err := q.queue.Capture(fn, others...)
	if err != nil {
		return nil, err
	}
	return &Graph{g}, nil
}

// Copy enqueues a copy from src to dst and returns, on a GPU before the copy is done. Until a Synchronize or a [Mark]
// shows that the copy is done, do not write src, do not touch dst and close neither, except by later work on the queue.
// Copy allocates nothing, and a graph can contain it.
//
// Both tensors are contiguous, have the same dtype and shape, and share no memory. At least one is on the device. A
// host tensor must come from the device's AllocHost. If it is in other memory, the error is an *ArgError with the kind
// [ErrPageable], because the driver would block. The CPU copies at once, from and to any host tensor.
func (q *Queue) Copy(dst, src *tensor.Tensor) error {
	c := checker{op: "Copy", device: q.device.info.Name, mixed: true}
	switch c.copies(dst, src); {
	case c.err != nil:
		return c.err
	case !src.IsContiguous():
		return c.fail("src", ErrStride, tensor.FormatShape(src.Strides()), "a contiguous tensor")
	case dst.OnHost() && src.OnHost() && q.device.home() != "host":
		return c.fail("dst", ErrWrongDevice, "dst and src on the host", "one of them on "+c.device)
	case tensor.Overlap(dst, src):
		return c.fail("dst", ErrOverlap, "memory of src", "its own memory")
	}
	return q.queue.Copy(dst, src)
}

// Close waits for the work, releases the queue, and returns the errors that Synchronize would have returned. Close
// twice is fine.
func (q *Queue) Close() error {
	err := q.queue.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mark != nil {
		err = errors.Join(err, q.mark.Close())
	}
	return err
}

// Plan is an operation with fixed tensors and options, or a batch of such operations. Methods such as
// [Device.PlanResample] return it.
type Plan struct{ plan backend.Plan }

// planOf wraps a backend's plan. It returns the error if there is one.
func planOf(p backend.Plan, err error) (*Plan, error) {
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// bound returns the plan of an operation for tensors on a device. check validates the arguments and returns the job; plan is the
// method of the backends with this operation. An error from either is returned.
func bound[B, J any](d *Device, c *checker, check func(c *checker) (J, error), plan func(b B, job J) (backend.Plan, error)) (*Plan, error) {
	c.device = d.home()
	if err := d.open("Plan" + c.op); err != nil {
		return nil, err
	}
	b, err := capable[B](d, c.op)
	if err != nil {
		return nil, err
	}
	job, err := check(c)
	if err != nil {
		return nil, err
	}
	return planOf(plan(b, job))
}

// Backend returns the backend's own plan, for packages that belong to a backend. It returns nil if p is nil.
func (p *Plan) Backend() backend.Plan {
	if p == nil {
		return nil
	}
	return p.plan
}

// Run enqueues the operation on a queue for the same device. It allocates nothing, and returns before a GPU has
// finished: see the package comment. Synchronize the queue before you run the plan on another one, because otherwise
// either queue could report the plan's errors.
func (p *Plan) Run(q *Queue) error {
	if q == nil {
		return noQueue("Run")
	}
	return p.plan.Run(q.queue)
}

// Close releases the plan's memory, but not its tensors. Synchronize its queues first.
func (p *Plan) Close() error { return p.plan.Close() }

// VoxelizePlan is a plan for Voxelize that also counts points.
type VoxelizePlan struct {
	Plan
	counter backend.VoxelizePlan
}

// Counts returns the number of points and voxels in the latest run. Synchronize the run's queue first.
func (p *VoxelizePlan) Counts() (VoxelCounts, error) { return p.counter.Counts() }

// Graph is captured work that one call enqueues. It keeps references to its tensors and plans, which must stay open as
// long as the graph is launched. [Queue.Capture] returns it.
type Graph struct{ graph backend.Graph }

// Launch enqueues the work on a queue of the device that captured it. It allocates nothing.
func (g *Graph) Launch(q *Queue) error {
	if q == nil {
		return noQueue("Launch")
	}
	return g.graph.Launch(q.queue)
}

// Close releases the graph. Synchronize its queues first.
func (g *Graph) Close() error { return g.graph.Close() }

func noQueue(op string) error {
	return &ArgError{Op: op, Arg: "queue", Kind: ErrMissing, Got: "nil", Want: "a queue of the plan's device"}
}
