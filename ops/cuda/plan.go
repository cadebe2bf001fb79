package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// plan returns a plan without launches. explain returns the error of a fault, if the operation has faults.
func (b *gpu) plan(bound backend.Bound, explain func(backend.Fault) error) *plan {
	return &plan{Base: b.Base(bound), b: b, explain: explain}
}

func (p *plan) Run(s backend.Queue) error { return device.Run(p, s) }

func (p *plan) Close() error { return p.Release(p.table) }

func (p *plan) Fault() error {
	f, err := p.Take()
	if err != nil || f == backend.NoFault {
		return err
	}
	return p.explain(f)
}

// prepare gives the plan its fault cell and calls bind to add the launch. It closes the plan on an error.
func (p *plan) prepare(bind func() error) (backend.Plan, error) {
	if err := p.TakeCell(); err != nil {
		return nil, err
	}
	return p.checked(bind())
}

// sampling is a job that resamples streams, or computes the gradients of that.
type sampling interface {
	Bound() backend.Bound
	Idle() bool
	FaultError(f backend.Fault, offsets func(*tensor.Tensor) ([]int64, error)) error
}

// prepared returns the plan for a job, with the launches that bind adds. An idle job has none.
func (b *gpu) prepared(job sampling, bind func(p *plan) error) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	if job.Idle() {
		return p, nil
	}
	p.explain = func(f backend.Fault) error { return job.FaultError(f, b.Offsets) }
	return p.prepare(func() error { return bind(p) })
}

// checked returns the plan, or closes it if there is an error.
func (p *plan) checked(err error) (backend.Plan, error) {
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// bind chooses a variant from the list for a job and adds its launch. op names the operation in errors.
func (p *plan) bind(op string, list []*variant, j *backend.FuseJob) error {
	v, shapes := p.choose(list, j)
	blocks := blocksOf(shapes)
	if blocks > math.MaxInt32 {
		return &backend.ArgError{Op: op, Arg: "Dst", Kind: ops.ErrTooLarge, Got: fmt.Sprintf("%d blocks for %d targets of %d features", blocks, j.Rows(), j.D), Want: fmt.Sprintf("at most %d", math.MaxInt32)}
	}
	params, err := v.params(p, j, shapes)
	if err != nil {
		return err
	}
	return p.Add(p.b.bind(v.name, j.Launch, blocks, shapes[0].threads, shapes[0].shared, params))
}

// upload copies data to device memory as the plan's table, which kernels read.
func (p *plan) upload(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return p.scratch(len(data), data)
}

// scratch allocates device memory as the plan's table, and copies data to its beginning.
func (p *plan) scratch(bytes int, data []byte) (err error) {
	if p.table, err = p.b.Malloc("a plan's table", int64(bytes)); err != nil {
		return err
	}
	return p.b.Ctx.CopyToDevice(context.Background(), p.table.Ptr(), data)
}

// Candidates returns the plan's key and the launch policies that fit it, for robocache tune.
func (p *plan) Candidates() (tuned.Key, []tuned.Policy, error) {
	if err := p.Usable("Candidates"); err != nil || p.chosen == nil {
		return tuned.Key{}, nil, err
	}
	return p.chosen.key, p.chosen.candidates(p.b), nil
}
