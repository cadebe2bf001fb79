package record

import (
	"context"
	"errors"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// side is one of the two recordings: a world with package ops/cuda on it.
type side struct {
	*world
	backend backend.Backend
	device  *ops.Device
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

// JobFunc is like [PlanFunc], but makes a plan directly on a backend, from a validated job in package ops/backend.
type JobFunc func(b backend.Backend, t []*tensor.Tensor) (backend.Plan, error)

// with makes a plan on a side, calls use with it, and closes it. An error from the world takes precedence, because the driver's error
// is only its consequence.
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

// first returns the world's own error if it has one, or else err.
func (s *side) first(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}

// begin starts a recording.
func (w *world) begin() {
	w.made, w.launches, w.err, w.read, w.sink = 0, nil, nil, nil, nil
	for _, f := range w.functions {
		f.carveout = nil
	}
}

func (w *world) end() { w.read, w.sink, w.recording = nil, nil, false }

// markSlabs marks the memory that contains plans' cells.
func (s *side) markSlabs() {
	for _, slab := range s.backend.(interface{ Slabs() []device.Slab }).Slabs() {
		for _, m := range s.memories {
			m.slab = m.slab || m.base == slab.At || m.base == slab.Flag
		}
	}
}

// recording holds the data recorded for a plan.
type recording struct {
	memories []*memory // all open memory, arguments first
	slabs    []*memory // memory for cells, separate because it belongs to the device and may be older on one side
	launches []launch
	written  map[int]bool // arguments that are written, by number
	counts   *countsAt
}

type countsAt struct {
	memory *memory
	at     int64
	bytes  int
}

// record runs a plan and records it.
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

// run records the launches that fn submits to the queue.
func (s *side) run(fn func(q *ops.Queue) error) error {
	s.recording = true
	defer func() { s.recording = false }()
	q := s.device.Queue()
	return errors.Join(fn(q), q.Synchronize(context.Background()))
}

// explain returns the error from running fn while cells hold the given faults. Other device reads are served by read.
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

// cellOf returns the number of the cell at an offset in a slab. Slabs come in pairs of faults and flags.
func cellOf(slabs []*memory, m *memory, at int64) int {
	size := int64(device.CellBytes)
	if m.host != nil {
		size = device.FlagBytes
	}
	for i, s := range slabs {
		if s == m {
			return i/2*device.SlabCells + int(at/size)
		}
	}
	return -1
}
