package record

import (
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Recorder makes plans for one target. Its methods may be called from any goroutine, but it makes one plan at a time.
type Recorder struct {
	mu     sync.Mutex
	target Target
	sides  [2]*side
}

// New returns a recorder for a target. If the target is incomplete or invalid, the error is a *[TargetError]. If no
// kernel image fits the target, the error is the same as from opening such a device.
func New(t Target) (*Recorder, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	r := &Recorder{target: t}
	for i := range r.sides {
		s, err := newSide(&r.target, placements[i])
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.sides[i] = s
	}
	return r, nil
}

// Info describes the device, with the selected images and the source of launch configurations.
func (r *Recorder) Info() ops.Info { return r.sides[0].device.Info() }

// Close releases the recorder.
func (r *Recorder) Close() (err error) {
	for _, s := range r.sides {
		if s != nil {
			err = errors.Join(err, s.device.Close())
		}
	}
	return err
}

// PlanFunc plans an operation with the described tensors, in their order, for example with [ops.Device.PlanResample].
// It is called twice, and must return the same plan each time.
type PlanFunc func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error)

// job converts a PlanFunc to a JobFunc on a side.
func (f PlanFunc) job(s *side) JobFunc {
	return func(_ backend.Backend, t []*tensor.Tensor) (backend.Plan, error) {
		p, err := f(s.device, t)
		return p.Backend(), err
	}
}

// Plan records the plan that fn makes. The error comes from fn, or reports the part of the plan that cannot be
// exported.
func (r *Recorder) Plan(op string, tensors []Tensor, fn PlanFunc) (*Plan, error) {
	return r.plan(op, tensors, fn.job)
}

// PlanJob is like [Recorder.Plan] for a function that plans a job in package ops/backend.
func (r *Recorder) PlanJob(op string, tensors []Tensor, fn JobFunc) (*Plan, error) {
	return r.plan(op, tensors, func(*side) JobFunc { return fn })
}

func (r *Recorder) plan(op string, tensors []Tensor, fn func(*side) JobFunc) (*Plan, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var both [2]*recording
	for i, s := range r.sides {
		err := s.with(tensors, fn(s), func(p backend.Plan) (err error) {
			both[i], err = s.record(p)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return export(op, tensors, both)
}

// Explain returns the error for a fault that a run wrote. tensors and fn are the same as for Plan. If the error depends
// on values, such as row offsets, Explain calls read, which must fill dst with bytes from a tensor, given by its
// number, beginning at byte at.
func (r *Recorder) Explain(tensors []Tensor, fn PlanFunc, fault uint64, read func(tensor int, at int64, dst []byte) error) error {
	return r.explain(tensors, fn.job(r.sides[0]), fault, read)
}

// ExplainJob is like [Recorder.Explain] for a function that plans a job in package ops/backend.
func (r *Recorder) ExplainJob(tensors []Tensor, fn JobFunc, fault uint64, read func(tensor int, at int64, dst []byte) error) error {
	return r.explain(tensors, fn, fault, read)
}

func (r *Recorder) explain(tensors []Tensor, fn JobFunc, fault uint64, read func(int, int64, []byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sides[0]
	return s.with(tensors, fn, func(p backend.Plan) error {
		own, ok := p.(interface{ CellAt() uint64 })
		if !ok {
			return errors.New("record: the plan has no faults")
		}
		m, at := s.find(own.CellAt(), device.CellBytes)
		if m == nil {
			return errors.New("record: the plan has nothing to launch, and no faults")
		}
		r := &recording{}
		s.collect(r)
		return s.explain(func(q *ops.Queue) error { return p.Run(q.Backend()) }, r.slabs, map[int]uint64{cellOf(r.slabs, m, at): fault}, func(m *memory, at int64, dst []byte) error {
			if !m.argument || read == nil {
				return errors.New("record: what the fault says is in a tensor whose content was not given")
			}
			return read(m.number, at, dst)
		})
	})
}

// Counts returns the number of points and voxels in a run of Voxelize. state is a copy of the plan's Counts range after
// the run.
func (r *Recorder) Counts(tensors []Tensor, fn PlanFunc, state []byte) (ops.VoxelCounts, error) {
	return r.CountsJob(tensors, fn.job(r.sides[0]), state)
}

// CountsJob is like [Recorder.Counts] for a function that plans a job in package ops/backend.
func (r *Recorder) CountsJob(tensors []Tensor, fn JobFunc, state []byte) (counts ops.VoxelCounts, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sides[0]
	err = s.with(tensors, fn, func(p backend.Plan) error {
		v, ok := p.(backend.VoxelizePlan)
		if !ok {
			return errors.New("record: the plan is not one of Voxelize, and has no counts")
		}
		s.read = func(_ *memory, _ int64, dst []byte) error {
			if len(dst) != len(state) {
				return fmt.Errorf("record: the state of the counts: got %d bytes, want %d", len(state), len(dst))
			}
			copy(dst, state)
			return nil
		}
		counts, err = v.Counts()
		return err
	})
	return counts, err
}
