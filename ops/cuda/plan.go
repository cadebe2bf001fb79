package cuda

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// planBase is what the plan of every operation has.
type planBase struct {
	b       *backend
	bound   ops.Bound
	cell    *faultCell // where its kernels say what is wrong; nil if it has none to launch
	awaited atomic.Pointer[stream]
	closed  atomic.Bool
}

func (p *planBase) home() *backend { return p.b }

// Tensors are those of the plan.
func (p *planBase) Tensors() *ops.Bound { return &p.bound }

func (p *planBase) awaiting() *atomic.Pointer[stream] { return &p.awaited }

func (p *planBase) usable(op string) error {
	if p.closed.Load() {
		return closedError(op, "plan")
	}
	return p.bound.CheckOpen()
}

// take returns what the kernels found, ops.NoFault if nothing. The stream has been synchronised.
func (p *planBase) take() (ops.Fault, error) {
	if p.closed.Load() || p.cell == nil {
		return ops.NoFault, nil
	}
	return p.cell.take()
}

// release closes the plan with what memory it has, and reports whether it was open.
func (p *planBase) release(memory *cudadrv.DeviceMem) (err error) {
	if p.closed.Swap(true) {
		return nil
	}
	if p.cell != nil {
		err = p.b.faults.put(p.cell)
	}
	if memory != nil {
		err = errors.Join(err, memory.Close())
	}
	return err
}

// run gives a plan to a stream.
func run(w work, s ops.Stream) error {
	st, err := w.home().of(s)
	if err != nil {
		return err
	}
	if err := w.usable("Run"); err != nil || w.idle() {
		return err
	}
	return st.give(w)
}

// plan is a Resample or a Fuse bound to device memory: one launch.
type plan struct {
	planBase
	kernel  *cudadrv.Launch // nil if there is nothing to do
	table   *cudadrv.DeviceMem
	chosen  *decision             // on the launch; nil if it only checks
	explain func(ops.Fault) error // what a fault means
}

func (p *plan) launch(q *cudadrv.Stream, _ bool) error { return p.kernel.Run(q) }

func (p *plan) idle() bool { return p.kernel == nil }

func (p *plan) Run(s ops.Stream) error { return run(p, s) }

func (p *plan) Close() error { return p.release(p.table) }

func (p *plan) fault() error {
	f, err := p.take()
	if err != nil || f == ops.NoFault {
		return err
	}
	return p.explain(f)
}

// ready gives the plan its fault cell and its launch.
func (p *plan) ready(bind func() error) (ops.Plan, error) {
	var err error
	if p.cell, err = p.b.faults.get(); err != nil {
		return nil, err
	}
	if err := bind(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// bind chooses a variant of the list for a job of an operation, and makes its launch.
func (p *plan) bind(op string, list []*variant, j *ops.FuseJob) error {
	v, shapes := p.choose(list, j)
	blocks := blocksOf(shapes)
	if blocks > math.MaxInt32 {
		return &ops.ArgError{Op: op, Arg: "Dst", Kind: ops.ErrTooLarge, Got: fmt.Sprintf("%d blocks for %d targets of %d features", blocks, j.Rows(), j.D), Want: fmt.Sprintf("at most %d", math.MaxInt32)}
	}
	k, err := p.b.kernels.Kernel(v.name)
	if err != nil {
		return err
	}
	params, err := v.params(p, j, shapes)
	if err != nil {
		return err
	}
	config := p.b.config(v.name, j.Launch, blocks, shapes[0].threads)
	config.Shared = uint32(shapes[0].shared)
	p.kernel, err = k.Bind(config, params.Bytes())
	return err
}

// upload makes the plan's table, which the kernel reads from device memory.
func (p *plan) upload(data []byte) (err error) {
	if len(data) == 0 {
		return nil
	}
	if p.table, err = p.b.malloc("a plan's table", int64(len(data))); err != nil {
		return err
	}
	return p.b.ctx.CopyToDevice(p.table.Ptr(), data)
}

// offsets reads a tensor of offsets, which a fault is explained by.
func (b *backend) offsets(t *tensor.Tensor) ([]int64, error) {
	if t == nil {
		return nil, nil
	}
	host, err := tensor.New(t.DType(), t.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := b.Copy(host, t); err != nil {
		return nil, err
	}
	return tensor.Data[int64](host)
}

// Candidates are the plan's class and the choices that it can be made with, for robocache tune.
func (p *plan) Candidates() (tuned.Class, []tuned.Choice, error) {
	if err := p.usable("Candidates"); err != nil || p.chosen == nil {
		return tuned.Class{}, nil, err
	}
	return p.chosen.class, p.chosen.candidates(p.b), nil
}
