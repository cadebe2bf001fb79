package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// PipelineJob moves batches from the host to the device and back. Each of Workers goroutines has its own stream and tensors. It copies
// a batch to the device, resamples it, copies the result back, and repeats. A call is one batch. The limit is the copies alone, by as
// many goroutines.
type PipelineJob struct {
	B, S, T, D int
	Workers    int `json:"workers"`
}

var pipelineSuite = suite{
	name: "pipeline", about: "batches to the device, resampled, and back, by several goroutines",
	jobs: func() []Job {
		var out []Job
		for _, workers := range []int{1, 4} {
			out = append(out, &PipelineJob{64, 1000, 500, 128, workers}, &PipelineJob{8, 250, 128, 128, workers})
		}
		return out
	},
	empty: func() Job { return &PipelineJob{} },
}

func (j *PipelineJob) Suite() string { return "pipeline" }

// Name returns the resample job's name and the worker count.
func (j *PipelineJob) Name() string { return fmt.Sprintf("%s by %d", j.shape().Name(), j.Workers) }

func (j *PipelineJob) Keys() []Key { return append(j.shape().Keys(), keysOf("workers", j.Workers)...) }

func (j *PipelineJob) shape() *ResampleJob { return &ResampleJob{B: j.B, S: j.S, T: j.T, D: j.D} }

func (j *PipelineJob) check() error {
	return errors.Join(j.shape().check(), within("workers", j.Workers, 1, 256))
}

// pipe is one worker.
type pipe struct {
	stream    *ops.Queue
	plan      *ops.Plan
	host, dev [4]*tensor.Tensor // values, timestamps, targets, output
}

func (j *PipelineJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	w := &work{sets: 1, own: true}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	var pipes []*pipe
	for i := range j.Workers {
		p, err := j.pipe(r, w, i)
		if err != nil {
			return fail(err)
		}
		pipes = append(pipes, p)
	}
	size := func(i int) int64 { return int64(pipes[0].host[i].Len() * pipes[0].host[i].DType().Size()) }
	w.read, w.written = size(0)+size(1)+size(2), size(3)
	// In one run each worker processes one batch, so a call's time is the run's time divided by the workers.
	together := func(resample bool) func(int) error {
		return func(int) error {
			errs := make(chan error, len(pipes))
			for _, p := range pipes {
				go func() { errs <- p.batch(r.dev, resample) }()
			}
			var err error
			for range pipes {
				err = errors.Join(err, <-errs)
			}
			return err
		}
	}
	w.per = j.Workers
	w.run = together(true)
	w.floor, w.how = &work{sets: 1, own: true, per: j.Workers, run: together(false)}, "the copies alone"
	return w, nil
}

func (j *PipelineJob) pipe(r *rig, w *work, number int) (*pipe, error) {
	p := &pipe{}
	rng := rand.New(rand.NewPCG(seed, uint64(number)+3))
	var errs [4]error
	p.host[0], errs[0] = values(rng, tensor.BF16, j.B, j.S, j.D)
	p.host[1], errs[1] = timestamps(rng, tensor.F32, j.B, j.S)
	p.host[2], errs[2] = timestamps(nil, tensor.F32, j.B, j.T)
	p.host[3], errs[3] = tensor.New(tensor.BF16, j.B, j.T, j.D)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for i, h := range p.host {
		var err error
		if p.dev[i], err = r.alloc(w, h.DType(), h.Shape()...); err != nil {
			return nil, err
		}
	}
	var err error
	if p.stream, err = r.dev.NewQueue(); err != nil {
		return nil, err
	}
	w.later(p.stream.Close)
	args := ops.ResampleArgs{Dst: p.dev[3], Src: p.dev[0], SrcTimes: p.dev[1], Targets: ops.At(p.dev[2])}
	p.plan, err = r.dev.PlanResample(args, ops.ResampleOptions{})
	if err == nil {
		w.later(p.plan.Close)
	}
	return p, err
}

// batch copies one batch to the device, and the result back.
func (p *pipe) batch(dev *ops.Device, resample bool) error {
	for i := range 3 {
		if err := dev.Copy(context.Background(), p.dev[i], p.host[i]); err != nil {
			return err
		}
	}
	if resample {
		if err := p.plan.Run(p.stream); err != nil {
			return err
		}
		if err := p.stream.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	return dev.Copy(context.Background(), p.host[3], p.dev[3])
}
