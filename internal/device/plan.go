package device

import (
	"errors"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// Work is a plan for any operation, or a batch. A plan embeds a [Base].
type Work interface {
	// Launch launches the kernels. recording is true during a capture of the queue.
	Launch(q *cudadrv.Stream, recording bool) error
	// Idle reports whether the plan has no kernel to launch, for example because a tensor is empty.
	Idle() bool
	// Usable returns an error if the plan or one of its tensors is closed.
	Usable(op string) error
	// Fault returns an error for the first bad value that the kernels found. The caller has synchronised the queue.
	Fault() error
	// home returns the plan's device.
	home() *Device
	// awaiting holds the queue whose next synchronisation reads the plan's fault.
	awaiting() *atomic.Pointer[Queue]
}

// Run queues a plan, or records it if the queue is being captured.
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

// Base contains the parts that are common to plans of all operations.
type Base struct {
	Cell     *Cell             // nil if the plan has no kernel to launch
	Launches []*cudadrv.Launch // in order
	bound    backend.Bound
	member
}

// member contains the parts that are common to plans and batches.
type member struct {
	dev     *Device
	awaited atomic.Pointer[Queue]
	closed  atomic.Bool
}

func (m *member) home() *Device { return m.dev }

func (m *member) awaiting() *atomic.Pointer[Queue] { return &m.awaited }

// Base returns the base for a new plan on these tensors.
func (d *Device) Base(bound backend.Bound) Base { return Base{bound: bound, member: member{dev: d}} }

// TakeCell reserves the plan's Cell, in which kernels record bad values. Release returns it to the device's pool.
func (p *Base) TakeCell() (err error) {
	p.Cell, err = p.dev.cells.get()
	return err
}

// CellAt returns the device address of the plan's Cell, to which kernels write a fault. It returns 0 if the plan has no Cell.
func (p *Base) CellAt() uint64 {
	if p.Cell == nil {
		return 0
	}
	return p.Cell.At
}

// Add appends a launch if err is nil, and returns err. l and err are the results of the function that makes the launch.
func (p *Base) Add(l *cudadrv.Launch, err error) error {
	if err == nil {
		p.Launches = append(p.Launches, l)
	}
	return err
}

// Launch launches the plan's kernels in order.
func (p *Base) Launch(q *cudadrv.Stream, _ bool) error {
	for _, l := range p.Launches {
		if err := l.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// Idle reports whether the plan has no kernel to launch.
func (p *Base) Idle() bool { return len(p.Launches) == 0 }

// Kernels returns the names of the plan's kernels, in launch order.
func (p *Base) Kernels() (names []string) {
	for _, l := range p.Launches {
		names = append(names, l.Kernel().Name())
	}
	return names
}

// Tensors returns the plan's tensors.
func (p *Base) Tensors() *backend.Bound { return &p.bound }

// Usable returns an error if the plan or one of its tensors is closed.
func (p *Base) Usable(op string) error {
	if p.closed.Load() {
		return ClosedError(op, "plan")
	}
	return p.bound.CheckOpen()
}

// Open returns an error if the plan is closed. It does not check its tensors.
func (p *Base) Open(op string) error {
	if p.closed.Load() {
		return ClosedError(op, "plan")
	}
	return nil
}

// Take returns the fault that the kernels recorded, backend.NoFault if there is none. The caller has synchronised the queue.
func (p *Base) Take() (backend.Fault, error) {
	if p.closed.Load() || p.Cell == nil {
		return backend.NoFault, nil
	}
	return p.Cell.take()
}

// Release closes the plan and frees its memory. A second call does nothing.
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
