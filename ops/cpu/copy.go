package cpu

import (
	"context"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// copying is a recorded copy in a graph.
type copying struct{ dst, src *tensor.Tensor }

func (c *copying) execute() error { return copyTensor(c.dst, c.src) }

func (c *copying) stillOpen(string) error {
	for i, t := range [...]*tensor.Tensor{c.dst, c.src} {
		if t.Closed() {
			return &backend.ArgError{Op: "Copy", Arg: [...]string{"dst", "src"}[i], Kind: backend.ErrClosed, Got: "a closed tensor", Want: "tensors that stay open as long as the graph is launched"}
		}
	}
	return nil
}

// Copy copies immediately, or records the copy during a capture.
func (s *queue) Copy(dst, src *tensor.Tensor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return &backend.ArgError{Op: "Copy", Arg: "queue", Kind: backend.ErrClosed}
	case s.captured != nil:
		s.captured.work = append(s.captured.work, &copying{dst, src})
		return nil
	}
	return copyTensor(dst, src)
}

// mark is a position in a queue's work. Because work is done when its call returns, a mark is complete when Mark returns.
type mark struct {
	closed atomic.Bool
	in     atomic.Pointer[graph] // the last capture in which it was set, nil if it was set outside a capture
}

// NewMark returns a mark.
func (b *Backend) NewMark() (backend.Mark, error) { return &mark{}, nil }

func (m *mark) Wait(ctx context.Context) error {
	switch {
	case m.closed.Load():
		return &backend.ArgError{Op: "Wait", Arg: "mark", Kind: backend.ErrClosed}
	case m.in.Load() != nil:
		return backend.CapturedMark("Wait")
	}
	return ctx.Err()
}

func (m *mark) Close() error {
	m.closed.Store(true)
	return nil
}

// Mark waits for a concurrent call that runs work on the queue.
func (s *queue) Mark(m backend.Mark) error { return s.with("Mark", m) }

// After returns immediately, because Mark already waited.
func (s *queue) After(m backend.Mark) error { return s.with("After", m) }

// with checks the queue and the mark.
func (s *queue) with(op string, of backend.Mark) error {
	m, ok := of.(*mark)
	if !ok {
		return &backend.ArgError{Op: op, Arg: "mark", Kind: backend.ErrWrongDevice, Got: "one of another device", Want: "one of this device"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return &backend.ArgError{Op: op, Arg: "queue", Kind: backend.ErrClosed}
	case m.closed.Load():
		return &backend.ArgError{Op: op, Arg: "mark", Kind: backend.ErrClosed}
	case s.captured != nil && !s.captured.joint:
		return &backend.ArgError{Op: op, Arg: "queue", Kind: backend.ErrOption, Got: "a queue that is being captured", Want: op + " outside Capture"}
	case op == "Mark":
		m.in.Store(s.captured)
	case m.in.Load() != s.captured:
		return backend.CapturedMark(op)
	}
	return nil
}
