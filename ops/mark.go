package ops

import (
	"context"
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// Mark is a point in a queue's work. [Queue.Mark] sets it, as often as needed; a new mark stands for no work. Example:
// a host refills one buffer again and again. After each copy from the buffer it sets a mark, and before it refills the
// buffer it waits for the mark. The methods may be called from any goroutine.
type Mark struct{ mark backend.Mark }

// Point is something that a queue can wait for. A *[Mark] stands for the work before it, and a *[Queue] for all work
// that has been enqueued on it so far.
type Point interface {
	// at returns a mark that stands for the work.
	at() (backend.Mark, error)
}

// NewMark returns a mark for queues on this device. The caller closes it.
func (d *Device) NewMark() (*Mark, error) {
	if err := d.open("NewMark"); err != nil {
		return nil, err
	}
	m, err := d.backend.NewMark()
	if err != nil {
		return nil, err
	}
	return &Mark{m}, nil
}

// Wait returns when the work before the mark is done, or when the context ends. It does not wait for work that was
// enqueued later. Errors in values are not returned here, but by the queue's Synchronize.
func (m *Mark) Wait(ctx context.Context) error { return m.mark.Wait(ctx) }

// Close releases the mark. If a queue already waits for it, that wait stays valid. Close twice is fine.
func (m *Mark) Close() error { return m.mark.Close() }

func (m *Mark) at() (backend.Mark, error) {
	if m == nil {
		return nil, noPoint()
	}
	return m.mark, nil
}

// Mark sets m, a mark for the same device, to stand for all work that has been enqueued so far. It allocates nothing. A
// graph cannot contain it: during Capture the error is an *ArgError with the kind ErrOption, unless several queues are
// captured together.
func (q *Queue) Mark(m *Mark) error {
	if m == nil {
		return &ArgError{Op: "Mark", Arg: "m", Kind: ErrMissing, Got: "nil", Want: "a mark of the queue's device"}
	}
	return q.queue.Mark(m.mark)
}

// After makes later work on this queue wait, on the device, for the work that p stands for now. The host does not wait.
// p belongs to the same device, or to a device that [Connect] connected to it. Only the first call allocates. A graph
// cannot contain it: during Capture on q or p the error is an *ArgError with the kind ErrOption, unless both queues are
// captured together.
func (q *Queue) After(p Point) error {
	if p == nil {
		return noPoint()
	}
	m, err := p.at()
	if err == nil {
		err = q.queue.After(m)
	}
	return err
}

func (q *Queue) at() (backend.Mark, error) {
	if q == nil {
		return nil, noPoint()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mark == nil {
		m, err := q.device.backend.NewMark()
		if err != nil {
			return nil, err
		}
		q.mark = m
	}
	err := q.queue.Mark(q.mark)
	if err == nil {
		return q.mark, nil
	}
	var arg *ArgError
	if errors.As(err, &arg) {
		arg.Op, arg.Arg = "After", "p"
	}
	err = errors.Join(err, q.mark.Close()) // the queue may be closed already, and then nothing else closes the mark
	q.mark = nil
	return nil, err
}

func noPoint() error {
	return &ArgError{Op: "After", Arg: "p", Kind: ErrMissing, Got: "nil", Want: "a mark, or a queue, of the queue's device"}
}
