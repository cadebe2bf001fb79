package device

import (
	"errors"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// Work is a plan of any operation, which embeds a [Base], or a batch of them.
type Work interface {
	// Launch gives the kernels to the driver; recording says that the queue is being captured.
	Launch(q *cudadrv.Stream, recording bool) error
	// Idle reports whether there is nothing to launch.
	Idle() bool
	// Usable says why the plan cannot run, if it cannot.
	Usable(op string) error
	// Fault reads what the kernels found. The queue has been synchronised.
	Fault() error
	// home is the device that the plan is of.
	home() *Device
	// awaiting is the queue that will read the faults.
	awaiting() *atomic.Pointer[Queue]
}

// Run gives a plan to a queue.
func Run(w Work, s backend.Queue) error {
	st, err := w.home().of(s)
	if err != nil {
		return err
	}
	if err := w.Usable("Run"); err != nil || w.Idle() {
		return err
	}
	return st.give(w)
}

// Base is what the plan of every operation has.
type Base struct {
	Cell     *Cell             // nil of a plan that has no kernels to launch
	Launches []*cudadrv.Launch // in order
	bound    backend.Bound
	member
}

// member is what every Work has.
type member struct {
	dev     *Device
	awaited atomic.Pointer[Queue]
	closed  atomic.Bool
}

func (m *member) home() *Device { return m.dev }

func (m *member) awaiting() *atomic.Pointer[Queue] { return &m.awaited }

// Base begins a plan that is bound to tensors.
func (d *Device) Base(bound backend.Bound) Base { return Base{bound: bound, member: member{dev: d}} }

// TakeCell gives the plan a cell, which Release takes back.
func (p *Base) TakeCell() (err error) {
	p.Cell, err = p.dev.cells.get()
	return err
}

// CellAt is where the kernels of the plan write a fault; 0 of a plan that has none.
func (p *Base) CellAt() uint64 {
	if p.Cell == nil {
		return 0
	}
	return p.Cell.At
}

// Add adds a launch, if it could be made.
func (p *Base) Add(l *cudadrv.Launch, err error) error {
	if err == nil {
		p.Launches = append(p.Launches, l)
	}
	return err
}

// Launch launches all, one after the other.
func (p *Base) Launch(q *cudadrv.Stream, _ bool) error {
	for _, l := range p.Launches {
		if err := l.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// Idle reports that there is nothing to launch.
func (p *Base) Idle() bool { return len(p.Launches) == 0 }

// Kernels are the names of the kernels that are launched, in order.
func (p *Base) Kernels() (names []string) {
	for _, l := range p.Launches {
		names = append(names, l.Kernel().Name())
	}
	return names
}

// Tensors are those of the plan.
func (p *Base) Tensors() *backend.Bound { return &p.bound }

// Usable says that the plan or one of its tensors is closed.
func (p *Base) Usable(op string) error {
	if p.closed.Load() {
		return ClosedError(op, "plan")
	}
	return p.bound.CheckOpen()
}

// Open says that the plan is closed; its tensors may be.
func (p *Base) Open(op string) error {
	if p.closed.Load() {
		return ClosedError(op, "plan")
	}
	return nil
}

// Take returns what the kernels found, backend.NoFault if nothing. The queue has been synchronised.
func (p *Base) Take() (backend.Fault, error) {
	if p.closed.Load() || p.Cell == nil {
		return backend.NoFault, nil
	}
	return p.Cell.take()
}

// Release closes the plan with what memory it has. Once more does nothing.
func (p *Base) Release(memory *cudadrv.DeviceMem) (err error) {
	if p.closed.Swap(true) {
		return nil
	}
	if p.Cell != nil {
		err = p.dev.cells.put(p.Cell)
	}
	if memory != nil {
		err = errors.Join(err, memory.Close())
	}
	return err
}
