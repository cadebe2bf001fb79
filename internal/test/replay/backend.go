package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
)

// Backend is a device that runs every plan from its exported form.
type Backend struct {
	*device.Device
	dev      *cudadrv.Device
	recorder *record.Recorder
	images   *Images
}

// New opens a device. kernels is the kind of kernel image for the plans, as in [record.Target].
func New(drv *cudadrv.Driver, ordinal int, kernels string) (_ *Backend, err error) {
	dev, err := drv.Device(ordinal)
	if err != nil {
		return nil, err
	}
	target, err := record.TargetOf(dev)
	if err != nil {
		return nil, err
	}
	target.Kernels = kernels
	recorder, err := record.New(target)
	if err != nil {
		return nil, err
	}
	ctx, err := dev.Primary()
	if err != nil {
		return nil, errors.Join(err, recorder.Close())
	}
	return &Backend{device.New(ctx, fmt.Sprintf("replay:%d", ordinal)), dev, recorder, NewImages(ctx)}, nil
}

// Describe implements [backend.Backend].
func (b *Backend) Describe() backend.Info {
	i := b.recorder.Info()
	i.Backend, i.Name = "replay", b.Name()
	i.Driver = fmt.Sprintf("CUDA %s, %s", cudadrv.FormatVersion(b.dev.Driver().Version()), b.dev.Driver().Path())
	return i
}

// NewQueue implements [backend.Backend].
func (b *Backend) NewQueue() (backend.Queue, error) {
	q, err := b.Device.NewQueue()
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Close implements [backend.Backend].
func (b *Backend) Close() error {
	return errors.Join(b.Device.Close(), b.images.Close(), b.recorder.Close(), b.Ctx.Close())
}

// plan is an instance of an exported plan, with the job that it was made from.
type plan struct {
	device.Base
	b        *Backend
	job      *job
	exported *record.Plan
	instance *Instance
	broken   atomic.Bool // set if a run failed midway, because the instance's memory may then have other content than at its set-up
}

// plan exports a job, encodes and decodes the plan, and creates an instance of the decoded plan.
func (b *Backend) plan(j *job, bound backend.Bound) (*plan, error) {
	made, err := b.recorder.PlanJob(j.op, j.tensors, j.plan)
	if err != nil {
		return nil, err
	}
	p := &plan{Base: b.Base(bound), b: b, job: j}
	if p.exported, err = record.Decode(made.Encode()); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.exported.Buffers, func(b record.Buffer) bool { return b.Kind == record.Fault }) {
		if err := p.TakeCell(); err != nil {
			return nil, err
		}
	}
	if p.instance, err = NewInstance(b.Device, b.images, p.exported, j.at, []*device.Cell{p.Cell}, nil); err != nil {
		return nil, errors.Join(err, p.Release(nil))
	}
	if p.Launches, err = p.instance.Bind(j.at); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *plan) Launch(q *cudadrv.Stream, recording bool) error {
	err := p.Base.Launch(q, recording)
	if err != nil && !recording {
		p.broken.Store(true)
	}
	return err
}

func (p *plan) Usable(op string) error {
	if p.broken.Load() {
		return fmt.Errorf("%s: the plan cannot be used any more: a run of it failed half way", op)
	}
	return p.Base.Usable(op)
}

func (p *plan) Run(q backend.Queue) error { return device.Run(p, q) }

func (p *plan) Close() error { return errors.Join(p.Release(nil), p.instance.Close()) }

func (p *plan) Fault() error {
	f, err := p.Take()
	if err != nil || f == backend.NoFault {
		return err
	}
	return p.b.recorder.ExplainJob(p.job.tensors, p.job.plan, uint64(f), func(t int, at int64, dst []byte) error {
		return p.b.Ctx.CopyToHost(context.Background(), dst, cudadrv.DevicePtr(p.job.at[t]+uint64(at)))
	})
}

// voxelPlan is a plan of Voxelize that counts points and voxels.
type voxelPlan struct{ *plan }

func (p voxelPlan) Counts() (c backend.VoxelCounts, err error) {
	if err := p.Open("Counts"); err != nil {
		return c, err
	}
	r := p.exported.Counts
	state := make([]byte, r.Bytes)
	if err := p.b.Ctx.CopyToHost(context.Background(), state, cudadrv.DevicePtr(p.instance.Address(r.Buffer)+uint64(r.Offset))); err != nil {
		return c, err
	}
	return p.b.recorder.CountsJob(p.job.tensors, p.job.plan, state)
}
