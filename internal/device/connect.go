package device

import (
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// peers records the devices that may access this device's memory.
type peers struct {
	mu   sync.Mutex
	open map[*Device]bool
}

// self returns the device, also for a type that embeds it.
func (d *Device) self() *Device { return d }

// Connect implements [backend.Connector]. It opens the device's whole memory pool, so allocations before and after the call are accessible.
func (d *Device) Connect(others []backend.Backend) error {
	var list []*Device
	var to []*cudadrv.Device
	for _, b := range others {
		o, ok := b.(interface{ self() *Device })
		if !ok || o.self().Ctx.Device().Driver() != d.Ctx.Device().Driver() {
			return &backend.ArgError{Op: "Connect", Arg: "devices", Kind: backend.ErrWrongDevice, Got: d.name + " and " + b.Name(), Want: "devices of one driver"}
		}
		list = append(list, o.self())
		if dev := o.self().Ctx.Device(); dev != d.Ctx.Device() { // a GPU may be open twice
			to = append(to, dev)
		}
	}
	if len(to) > 0 {
		err := d.Ctx.OpenPool(to...)
		if errors.Is(err, cudadrv.ErrUnsupported) {
			return &backend.ArgError{Op: "Connect", Arg: "devices", Kind: backend.ErrUnsupported, Got: err.Error(), Want: "devices that reach each other's memory"}
		}
		if err != nil {
			return err
		}
	}
	d.peers.mu.Lock()
	defer d.peers.mu.Unlock()
	if d.peers.open == nil {
		d.peers.open = map[*Device]bool{}
	}
	for _, o := range list {
		d.peers.open[o] = true
	}
	return nil
}

// connected reports whether d may access o's memory. Each device may access its own.
func (d *Device) connected(o *Device) bool {
	if d == o {
		return true
	}
	o.peers.mu.Lock()
	defer o.peers.mu.Unlock()
	return o.peers.open[d]
}

// joint holds the queues of a capture over several queues, and the events that order them.
type joint struct {
	queues []*Queue // the capturing queue first
	marks  []*mark  // one per queue
}

// join checks the queues of a capture and creates their marks. For a capture of one queue it returns nil.
func (s *Queue) join(with []backend.Queue) (*joint, error) {
	if len(with) == 0 {
		return nil, nil
	}
	j := &joint{queues: []*Queue{s}}
	for i, b := range with {
		q, ok := b.(interface{ base() *Queue })
		if !ok || !s.d.connected(q.base().d) {
			return nil, &backend.ArgError{Op: "Capture", Arg: backend.CaptureArg(i + 1), Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T of another device", b),
				Want: "a queue of " + s.d.name + " or of a device that is connected to it"}
		}
		j.queues = append(j.queues, q.base())
	}
	for _, q := range j.queues {
		m, err := q.d.NewMark()
		if err != nil {
			return nil, errors.Join(err, j.close())
		}
		j.marks = append(j.marks, m.(*mark))
	}
	return j, nil
}

// fork makes the other queues wait for the work that is on the first one.
func (j *joint) fork() error {
	if j == nil {
		return nil
	}
	first := j.queues[0].queue.Record(j.marks[0].event)
	for _, q := range j.queues[1:] {
		first = errors.Join(first, q.queue.WaitEvent(j.marks[0].event))
	}
	return first
}

// meet makes the first queue wait for the work on the others.
func (j *joint) meet() error {
	if j == nil {
		return nil
	}
	var err error
	for i, q := range j.queues[1:] {
		err = errors.Join(err, q.queue.Record(j.marks[i+1].event), j.queues[0].queue.WaitEvent(j.marks[i+1].event))
	}
	return err
}

func (j *joint) close() (err error) {
	if j == nil {
		return nil
	}
	for _, m := range j.marks {
		err = errors.Join(err, m.Close())
	}
	return err
}
