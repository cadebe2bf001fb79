package record

import (
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Work is the result of a [Session]'s function: plans and their memory on a device.
type Work struct {
	// Run enqueues the work on a queue: only plans, and the same ones each time. The exported plan replays it.
	Run func(q *ops.Queue) error
	// Arguments are tensors that become arguments of the plan, so that each run may write to other memory. Each
	// tensor's whole buffer becomes the argument. Nothing was uploaded to it, and no two tensors share a buffer.
	Arguments []Output
	// Close releases the work.
	Close func() error
}

// Output is a tensor with a name.
type Output struct {
	Name   string
	Tensor *tensor.Tensor
}

// Session records everything that a function makes on a device: allocations, uploads, plans, and one run. Its methods
// may be called from any goroutine.
//
// A resident loader's run can be replayed among other programs' kernels, with new output memory each time. This is safe
// for three reasons. Its Draw may begin while the earlier kernel runs, but then reads only the cursor and the tables,
// which no other kernel writes. The Draw before it wrote them, and a Fuse in between has waited for that. The Draw
// waits for the end of all earlier work before it writes. The first Fuse waits for the Draw, and so for all work before
// it. Only then may the second Fuse begin, in the mode "ready"; at most the first Fuse still runs beside it, and writes
// other tensors. So when the run writes to memory, earlier kernels on the stream no longer use that memory.
type Session struct {
	mu      sync.Mutex
	target  Target
	side    *side
	work    *Work
	numbers map[*memory]int // buffer numbers in the plan
	slabs   []*memory
	cells   map[int]int // cells by the buffer number of their fault
}

// NewSession calls setup on a recording device, exports its work as a plan, and returns both. The session keeps the
// work until Close. setup is called a second time on another device, and must do the same in the same order; that work
// is closed before NewSession returns.
//
// In the first call, uploads larger than 64 KiB go to the sink. They are not kept in the plan, and must not contain
// addresses. The sink may be slow. If it returns an error, setup fails. In the second call their bytes are ignored.
// Smaller uploads are part of the plan.
func NewSession(t Target, op string, sink Sink, setup func(dev *ops.Device) (*Work, error)) (s *Session, p *Plan, err error) {
	if err := t.check(); err != nil {
		return nil, nil, err
	}
	s = &Session{target: t}
	var both [2]*recording
	var works [2]*Work
	var sides [2]*side
	defer func() {
		for i := len(sides) - 1; i >= 0; i-- {
			if i > 0 || err != nil {
				err = errors.Join(err, release(sides[i], works[i]))
			}
		}
		if err != nil {
			s, p = nil, nil
		}
	}()
	sinks := [2]Sink{sink, func(int, int64, int64, []byte) error { return nil }}
	for i := range sides {
		if sides[i], err = newSide(&s.target, placements[i]); err != nil {
			return nil, nil, err
		}
		if works[i], both[i], err = sides[i].work(sinks[i], setup); err != nil {
			return nil, nil, err
		}
	}
	s.side, s.work = sides[0], works[0]
	x := newExporter(op, both)
	var arguments []*memory
	for _, o := range s.work.Arguments {
		m, err := s.side.output(o)
		if err != nil {
			return nil, nil, err
		}
		arguments = append(arguments, m)
		x.Arguments = append(x.Arguments, Argument{Name: o.Name, Bytes: m.bytes, Written: true})
	}
	if err := x.pair(arguments); err != nil {
		return nil, nil, err
	}
	for m, n := range x.numbers {
		if at := n - len(arguments); at >= 0 {
			id := m.number
			x.Buffers[at].ID = &id
		}
	}
	if p, err = x.finish(); err != nil {
		return nil, nil, err
	}
	for i, b := range p.Buffers {
		for _, r := range b.Relocations {
			if r[1] < int64(len(arguments)) {
				return nil, nil, fmt.Errorf("record: the argument %s: buffer %d holds its address", p.Arguments[r[1]].Name, i)
			}
		}
	}
	s.numbers, s.slabs, s.cells = x.numbers, both[0].slabs, map[int]int{}
	for cell, n := range x.faults {
		s.cells[n] = cell
	}
	return s, p, nil
}

// work calls setup and records one run of the result.
func (s *side) work(sink Sink, setup func(dev *ops.Device) (*Work, error)) (*Work, *recording, error) {
	s.begin()
	s.sink = sink
	w, err := setup(s.device)
	s.sink = nil
	if err != nil {
		return nil, nil, s.first(err)
	}
	s.markSlabs()
	if err := s.run(w.Run); err != nil {
		return w, nil, s.first(err)
	}
	r := &recording{}
	s.collect(r)
	return w, r, s.err
}

// output returns the memory of a tensor that becomes an argument.
func (s *side) output(o Output) (*memory, error) {
	addr, ok := o.Tensor.Addr()
	m, _ := s.find(addr, 0)
	switch {
	case !ok || m == nil || o.Tensor.Device() != home:
		return nil, fmt.Errorf("record: the argument %s: a tensor that is not on the session's device", o.Name)
	case m.fill != nil || m.init != nil || m.sunk != nil:
		return nil, fmt.Errorf("record: the argument %s: its memory was written, which an argument's is not", o.Name)
	case m.argument:
		return nil, fmt.Errorf("record: the argument %s: it lies in the another argument's memory", o.Name)
	}
	m.argument = true
	return m, nil
}

func release(s *side, w *Work) (err error) {
	if w != nil {
		err = w.Close()
	}
	if s != nil {
		err = errors.Join(err, s.device.Close())
	}
	return err
}

// Find returns the place of a tensor in the work: the number of a buffer in the plan, and the offset in it. If the
// tensor is in no buffer, ok is false.
func (s *Session) Find(t *tensor.Tensor) (buffer int, offset int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	addr, on := t.Addr()
	m, at := s.side.find(addr, 0)
	if !on || m == nil {
		return 0, 0, false
	}
	buffer, ok = s.numbers[m]
	return buffer, at, ok
}

// Explain returns the error for faults, given by the numbers of the buffers that they were read from. It returns nil if
// there was no error.
func (s *Session) Explain(faults map[int]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cells := map[int]uint64{}
	for n, fault := range faults {
		cell, ok := s.cells[n]
		if !ok {
			return fmt.Errorf("record: buffer %d of the plan is no fault", n)
		}
		cells[cell] = fault
	}
	s.side.begin()
	defer s.side.end()
	return s.side.first(s.side.explain(s.work.Run, s.slabs, cells, nil))
}

// Close closes the work.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return release(s.side, s.work)
}
