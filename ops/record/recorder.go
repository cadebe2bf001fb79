package record

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// home is what tensors on a recording device report.
const home = "record:0"

// Recorder makes plans for one target. Its methods may be called from any goroutine; it makes one plan at a time.
type Recorder struct {
	mu     sync.Mutex
	target Target
	sides  [2]*side
}

// side is one of the two recordings: a world, and package ops/cuda on it.
type side struct {
	*world
	backend backend.Backend
	device  *ops.Device
}

// New returns a recorder for a target. A target that planning cannot work with is a *[TargetError]; one for which no kernel image fits gives the error that
// opening the device would.
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

func newSide(t *Target, p placement) (*side, error) {
	s := &side{world: newWorld(t, p)}
	drv, err := cudadrv.NewDriver(s.table())
	if err != nil {
		return nil, err
	}
	if s.backend, err = cuda.NewAs(home, drv, 0); err != nil {
		return nil, err
	}
	if s.device, err = ops.NewDevice(s.backend); err != nil {
		return nil, err
	}
	return s, nil
}

// Info describes the device: which images are taken and why, and where the shapes of launches come from.
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

// Tensor describes an argument of a plan, a tensor on the device.
type Tensor struct {
	Name    string
	DType   tensor.DType
	Shape   []int
	Strides []int // in elements; nil of a contiguous one
	Align   int   // the lowest four bits of its address
}

// PlanFunc plans an operation on a device with the tensors that were described, in their order, as [ops.Device.PlanResample] does. It is called twice, and
// gives the same plan each time.
type PlanFunc func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error)

// JobFunc is a PlanFunc for what has jobs of package ops/backend.
type JobFunc func(b backend.Backend, t []*tensor.Tensor) (backend.Plan, error)

// job is what a function of either kind makes on a side.
func (f PlanFunc) job(s *side) JobFunc {
	return func(_ backend.Backend, t []*tensor.Tensor) (backend.Plan, error) {
		p, err := f(s.device, t)
		return p.Backend(), err
	}
}

// Plan records the plan that fn makes. The error is fn's, or says what of it cannot be exported.
func (r *Recorder) Plan(op string, tensors []Tensor, fn PlanFunc) (*Plan, error) {
	return r.plan(op, tensors, fn.job)
}

// PlanJob is Plan for a job of package ops/backend.
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

// Explain returns the error that a fault stands for, which a run of the plan of the same tensors and fn wrote. Where the error needs values, such as offsets of rows, read
// serves them: len(dst) bytes of a tensor, by its number, from a byte on.
func (r *Recorder) Explain(tensors []Tensor, fn PlanFunc, fault uint64, read func(tensor int, at int64, dst []byte) error) error {
	return r.explain(tensors, fn.job(r.sides[0]), fault, read)
}

// ExplainJob is Explain for a job of package ops/backend.
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

// Counts returns what became of the points in a run of Voxelize: state is what the bytes of the plan's Counts hold after the run.
func (r *Recorder) Counts(tensors []Tensor, fn PlanFunc, state []byte) (ops.VoxelCounts, error) {
	return r.CountsJob(tensors, fn.job(r.sides[0]), state)
}

// CountsJob is Counts for a job of package ops/backend.
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

// with plans on a side, and calls use with the plan, which is then closed. What the world refused comes before what its driver made of that.
func (s *side) with(tensors []Tensor, fn JobFunc, use func(p backend.Plan) error) error {
	s.begin()
	var made []*tensor.Tensor
	defer func() {
		s.end()
		for i := len(made) - 1; i >= 0; i-- {
			addr, _ := made[i].Addr()
			s.remove(addr)
		}
	}()
	for i := range tensors {
		t, err := s.tensor(&tensors[i])
		if err != nil {
			return err
		}
		made = append(made, t)
	}
	p, err := fn(s.backend, made)
	if err != nil {
		return s.first(err)
	}
	s.markSlabs()
	err = use(p)
	return s.first(errors.Join(err, p.Close()))
}

// first is the world's own error, if it has one.
func (s *side) first(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}

// begin begins a recording.
func (w *world) begin() {
	w.made, w.launches, w.err, w.read, w.sink = 0, nil, nil, nil, nil
	for _, f := range w.functions {
		f.carveout = nil
	}
}

func (w *world) end() { w.read, w.sink, w.recording = nil, nil, false }

// markSlabs finds the memory that plans' cells are in.
func (s *side) markSlabs() {
	for _, slab := range s.backend.(interface{ Slabs() []device.Slab }).Slabs() {
		for _, m := range s.memories {
			m.slab = m.slab || m.base == slab.At || m.base == slab.Flag
		}
	}
}

// recording is what was seen of a plan.
type recording struct {
	memories []*memory // all that were open, the arguments in front
	slabs    []*memory // the cells' apart, which are of the device: one side may have made them before
	launches []launch
	written  map[int]bool // arguments, by number
	counts   *countsAt
}

type countsAt struct {
	memory *memory
	at     int64
	bytes  int
}

// record runs a plan.
func (s *side) record(p backend.Plan) (*recording, error) {
	r := &recording{written: map[int]bool{}}
	if b, ok := p.(interface{ Tensors() *backend.Bound }); ok {
		b.Tensors().Each(func(_ string, t *tensor.Tensor, written bool) {
			addr, _ := t.Addr()
			if m, _ := s.find(addr, 0); m != nil && written {
				r.written[m.number] = true
			}
		})
	}
	if err := s.run(func(q *ops.Queue) error { return p.Run(q.Backend()) }); err != nil {
		return nil, err
	}
	if v, ok := p.(backend.VoxelizePlan); ok {
		s.read = func(m *memory, at int64, dst []byte) error {
			r.counts = &countsAt{m, at, len(dst)}
			return nil
		}
		if _, err := v.Counts(); err != nil {
			return nil, err
		}
		s.read = nil
	}
	s.collect(r)
	return r, s.err
}

// collect adds the memory and the launches to a recording.
func (s *side) collect(r *recording) {
	for _, m := range s.memories {
		if m.slab {
			r.slabs = append(r.slabs, m)
		} else {
			r.memories = append(r.memories, m)
		}
	}
	r.launches = s.launches
}

// run notes the launches of what fn gives to the queue.
func (s *side) run(fn func(q *ops.Queue) error) error {
	s.recording = true
	defer func() { s.recording = false }()
	q := s.device.Queue()
	return errors.Join(fn(q), q.Synchronize(context.Background()))
}

// explain returns the error of what fn runs, where cells hold faults. All else that is read is served by read.
func (s *side) explain(fn func(q *ops.Queue) error, slabs []*memory, cells map[int]uint64, read func(m *memory, at int64, dst []byte) error) error {
	flags := func(to byte) {
		for _, m := range slabs {
			first := cellOf(slabs, m, 0)
			for cell := range cells {
				if m.host != nil && cell >= first && cell < first+device.SlabCells {
					m.host[(cell-first)*device.FlagBytes] = to
				}
			}
		}
	}
	s.read = func(m *memory, at int64, dst []byte) error {
		switch fault, ok := cells[cellOf(slabs, m, at)]; {
		case ok:
			put(dst, fault)
		case read == nil:
			return errors.New("record: what the fault says is in memory of the plan, which has no content here")
		default:
			return read(m, at, dst)
		}
		return nil
	}
	flags(1)
	defer flags(0)
	return s.run(fn)
}
