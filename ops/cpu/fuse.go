package cpu

import (
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// fused holds a Fuse stream's settings besides its Resample. The zero value changes nothing.
type fused[C clock] struct {
	on           bool // part of a Fuse, so rows may have no samples
	stream       int
	offset       C
	shift, scale []float32 // nil, or length D
	least, most  []float32 // bounds for clipping, like shift and scale
}

func (f *fused[C]) affine() bool { return f.shift != nil }

// apply normalises a row of features in place. Each step rounds separately.
func (f *fused[C]) apply(row []float32) []float32 {
	for d := range row {
		x := float32(row[d]-f.shift[d]) * f.scale[d]
		switch {
		case x < f.least[d]:
			x = f.least[d]
		case x > f.most[d]:
			x = f.most[d]
		}
		row[d] = x
	}
	return row
}

// fusePlan is a Fuse bound to host memory. Its streams are Resample plans, and their pieces are divided among the workers
// together.
type fusePlan[C clockElement] struct {
	steppedPlan
	job     *backend.FuseJob
	streams []*resamplePlan[C]
	fault   atomic.Uint64
}

// Fuse plans several streams on one clock, joined along the feature axis.
func (b *Backend) Fuse(job *backend.FuseJob) (backend.Plan, error) {
	switch job.Clock {
	case tensor.I64:
		return newCPUFuse[int64](b, job)
	case tensor.F64:
		return newCPUFuse[float64](b, job)
	}
	return newCPUFuse[float32](b, job)
}

func newCPUFuse[C clockElement](b *Backend, job *backend.FuseJob) (backend.Plan, error) {
	p := &fusePlan[C]{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, job: job}
	p.by = p.steps
	var checks, work []*task
	for m := range job.Parts {
		part := &job.Parts[m]
		s, err := newCPUResample[C](b, part.ResampleJob)
		if err != nil {
			return nil, err
		}
		s.fault = &p.fault
		s.fused = fused[C]{on: true, stream: m, offset: lengthIn[C](part.Offset)}
		if part.Normalised() {
			s.fused.shift, s.fused.scale, s.fused.least, s.fused.most = part.Affine()
		}
		p.streams = append(p.streams, s)
		checks, work = append(checks, &s.checks), append(work, &s.work)
	}
	p.checks.all(checks)
	p.work.all(work)
	return p, nil
}

// all sets t to the concatenation of tasks. Pieces are numbered one task after the other.
func (t *task) all(tasks []*task) {
	for _, one := range tasks {
		t.pieces += one.pieces
	}
	t.do = func(piece, worker int) {
		for _, one := range tasks {
			if piece < one.pieces {
				one.do(piece, worker)
				return
			}
			piece -= one.pieces
		}
	}
}

func (p *fusePlan[C]) small() bool {
	return !slices.ContainsFunc(p.streams, func(s *resamplePlan[C]) bool { return !s.small() })
}

// steps runs the checks and then, if they find no fault, the work. It passes each task to do.
func (p *fusePlan[C]) steps(do func(*task)) error {
	p.fault.Store(uint64(backend.NoFault))
	if p.job.Check {
		do(&p.checks)
	}
	if p.fault.Load() == uint64(backend.NoFault) {
		do(&p.work)
	}
	return p.job.FaultError(backend.Fault(p.fault.Load()), tensor.Elements[int64])
}
