package ops

import (
	"context"
	"errors"
	"sync"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Queue is a queue of work that runs in order, on a GPU a stream of the driver's. Queues do not wait for each other, unless [Queue.After] says so.
// Its methods may be called from any goroutine.
type Queue struct {
	queue  backend.Queue
	device *Device
	mu     sync.Mutex
	mark   backend.Mark // of what other queues wait for; made when the first does
}

// Backend returns what the device's backend made, for packages that belong to a backend; nil of nil.
func (q *Queue) Backend() backend.Queue {
	if q == nil {
		return nil
	}
	return q.queue
}

// Synchronize waits until the work given so far is done, or the context ends, and returns the errors found in values
// since the last call, joined if there are several. After the context has ended work may still run: what it reads and writes stays open
// until a later call has waited for it. Who gives work to the queue meanwhile waits too: a [Mark] can be waited for without that.
func (q *Queue) Synchronize(ctx context.Context) error { return q.queue.Synchronize(ctx) }

// Capture records the work that fn gives to this queue, without running it. Nothing else may use the queue
// meanwhile, and fn must not synchronise it.
//
// With other queues, of the same device or of those that [Connect] connected to it, it is one graph of the work of all: each begins where q does, and q
// ends after all of them. Between, [Queue.Mark] and [Queue.After] order them; a mark set so stands for nothing outside the capture.
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

// Copy gives the queue a copy of src to dst and returns, on a GPU before it is done: until the queue has come past it, which Synchronize and a [Mark]
// tell, src must not be written, dst not be touched, and neither closed, except by work given to the queue later. It allocates nothing, and a graph
// captures it. The tensors are contiguous, of one dtype and shape, and share no memory; one at least is on the device, and one on the host is of the
// device's AllocHost: one in other memory is an *ArgError that is [ErrPageable], as the driver would make it wait. The CPU copies at once, from and to any
// host tensor.
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
		return c.fail("dst", ErrOverlap, "memory of src", "memory of its own")
	}
	return q.queue.Copy(dst, src)
}

// Close waits for the work, releases the queue, and returns what Synchronize would have. Close twice is fine.
func (q *Queue) Close() error {
	err := q.queue.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mark != nil {
		err = errors.Join(err, q.mark.Close())
	}
	return err
}

// Plan is an operation bound to its tensors, or a batch of them.
type Plan struct{ plan backend.Plan }

// planOf wraps a backend's plan.
func planOf(p backend.Plan, err error) (*Plan, error) {
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// bound binds an operation to tensors on a device: check makes its job, and plan is the method of backends that have the operation.
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

// Backend returns what the device's backend made, for packages that belong to a backend; nil of nil.
func (p *Plan) Backend() backend.Plan {
	if p == nil {
		return nil
	}
	return p.plan
}

// Run gives the operation to a queue of the same device. It allocates nothing, and returns before a GPU has finished: see the package's
// comment. A plan that ran on one queue may run on another once the first has been synchronised; before, either could report its errors.
func (p *Plan) Run(q *Queue) error {
	if q == nil {
		return noQueue("Run")
	}
	return p.plan.Run(q.queue)
}

// Close releases what the plan holds; its tensors stay. The queues it ran on must have been synchronised.
func (p *Plan) Close() error { return p.plan.Close() }

// VoxelizePlan is a plan of Voxelize.
type VoxelizePlan struct {
	Plan
	counter backend.VoxelizePlan
}

// Counts returns what became of the points in the latest run, whose queue must have been synchronised.
func (p *VoxelizePlan) Counts() (VoxelCounts, error) { return p.counter.Counts() }

// Graph is captured work that is given to a queue in one call. It refers to the tensors and plans it was captured with,
// which must stay open as long as it is launched.
type Graph struct{ graph backend.Graph }

// Launch gives the work to a queue of the device whose queue captured it. It allocates nothing.
func (g *Graph) Launch(q *Queue) error {
	if q == nil {
		return noQueue("Launch")
	}
	return g.graph.Launch(q.queue)
}

// Close releases the graph. The queues it was launched on must have been synchronised.
func (g *Graph) Close() error { return g.graph.Close() }

func noQueue(op string) error {
	return &ArgError{Op: op, Arg: "queue", Kind: ErrMissing, Got: "nil", Want: "a queue of the plan's device"}
}
