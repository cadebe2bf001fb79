package ops

import (
	"context"
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// Mark is a point in a queue's work. [Queue.Mark] sets it, as often as one likes; until then it stands for no work. A host that fills a buffer for a queue
// again and again sets a mark behind each copy out of the buffer, and waits for it before it writes the buffer again. Its methods may be called from any
// goroutine.
type Mark struct{ mark backend.Mark }

// Point is what a queue can wait for: a *[Mark], or a *[Queue], which stands for all work given to it so far.
type Point interface {
	// at returns a mark that stands for the work.
	at() (backend.Mark, error)
}

// NewMark returns a mark. The caller closes it.
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

// Wait returns when the work that the mark stands for is done, without waiting for what was given to the queue behind it, or when the context ends. Errors
// found in values stay with the queue's Synchronize.
func (m *Mark) Wait(ctx context.Context) error { return m.mark.Wait(ctx) }

// Close releases the mark. Queues that were told to wait for it still do. Close twice is fine.
func (m *Mark) Close() error { return m.mark.Close() }

func (m *Mark) at() (backend.Mark, error) {
	if m == nil {
		return nil, noPoint()
	}
	return m.mark, nil
}

// Mark makes m, of the same device, stand for all work given to the queue so far. It allocates nothing. It is no part of a graph: during Capture it is an
// *ArgError that is ErrOption, unless the capture is of several queues.
func (q *Queue) Mark(m *Mark) error {
	if m == nil {
		return &ArgError{Op: "Mark", Arg: "m", Kind: ErrMissing, Got: "nil", Want: "a mark of the queue's device"}
	}
	return q.queue.Mark(m.mark)
}

// After makes work that is given to the queue from now on wait, on the device, for what p stands for now; the host does not wait. p is of the same device,
// or of one that [Connect] connected to it. It allocates nothing after the first time. It is no part of a graph: during Capture of q, or of p, it is an
// *ArgError that is ErrOption, unless the capture is of several queues, both among them.
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
	err = errors.Join(err, q.mark.Close()) // the queue may be closed, and would not close it again
	q.mark = nil
	return nil, err
}

func noPoint() error {
	return &ArgError{Op: "After", Arg: "p", Kind: ErrMissing, Got: "nil", Want: "a mark, or a queue, of the queue's device"}
}
