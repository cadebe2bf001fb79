package device

import (
	"context"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Copy implements [backend.Queue].
func (s *Queue) Copy(dst, src *tensor.Tensor) error {
	if err := s.d.reaches("dst", dst); err != nil {
		return err
	}
	if err := s.d.reaches("src", src); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ClosedError("Copy", "queue")
	}
	if err := s.copy(dst, src); err != nil {
		return err
	}
	if s.capture != nil {
		s.capture.copies = append(s.capture.copies, [2]*tensor.Tensor{dst, src})
	}
	return nil
}

// reaches checks that the device can access a tensor's memory directly.
func (d *Device) reaches(arg string, t *tensor.Tensor) error {
	if !t.OnHost() {
		return nil
	}
	if p, ok := t.Owner().(*pinned); !ok || p.device != d.name {
		return &backend.ArgError{Op: "Copy", Arg: arg, Kind: backend.ErrPageable, Got: t.String(), Want: "a host tensor of AllocHost of " + d.name}
	}
	return nil
}

// copy queues a copy.
func (s *Queue) copy(dst, src *tensor.Tensor) error {
	n := int64(dst.Len()) * int64(dst.DType().Size())
	if n == 0 {
		return nil
	}
	to, toDevice := dst.Addr()
	from, fromDevice := src.Addr()
	switch {
	case toDevice && fromDevice:
		return s.queue.CopyDevice(cudadrv.DevicePtr(to), cudadrv.DevicePtr(from), n)
	case toDevice:
		_, at, _ := src.Extent()
		return s.queue.CopyToDevice(cudadrv.DevicePtr(to), src.Owner().(*pinned).mem, int64(at), n)
	}
	_, at, _ := dst.Extent()
	return s.queue.CopyToHost(dst.Owner().(*pinned).mem, int64(at), cudadrv.DevicePtr(from), n)
}

// copiesOpen returns a *backend.ArgError if a tensor in a captured copy is closed.
func (g *graph) copiesOpen() error {
	for _, c := range g.copies {
		for i, arg := range [...]string{"dst", "src"} {
			if c[i].Closed() {
				return &backend.ArgError{Op: "Copy", Arg: arg, Kind: backend.ErrClosed, Got: "a closed tensor", Want: "tensors that stay open as long as the graph is launched"}
			}
		}
	}
	return nil
}

// mark is a CUDA event.
type mark struct {
	d      *Device
	event  *cudadrv.Event
	closed atomic.Bool
	in     atomic.Pointer[graph] // the last capture in which it was recorded, nil if the last record was outside a capture
}

// NewMark implements [backend.Backend].
func (d *Device) NewMark() (backend.Mark, error) {
	e, err := d.Ctx.NewEvent(cudadrv.EventOptions{NoTiming: true})
	if err != nil {
		return nil, err
	}
	return &mark{d: d, event: e}, nil
}

// Wait implements [backend.Mark].
func (m *mark) Wait(ctx context.Context) error {
	if m.closed.Load() {
		return ClosedError("Wait", "mark")
	}
	if m.in.Load() != nil {
		return backend.CapturedMark("Wait")
	}
	return m.event.Synchronize(ctx)
}

// Close implements [backend.Mark].
func (m *mark) Close() error {
	m.closed.Store(true)
	return m.event.Close()
}

// Mark implements [backend.Queue].
func (s *Queue) Mark(m backend.Mark) error { return s.with("Mark", m, s.queue.Record) }

// After implements [backend.Queue].
func (s *Queue) After(m backend.Mark) error { return s.with("After", m, s.queue.WaitEvent) }

// with calls fn with the mark's event.
func (s *Queue) with(op string, of backend.Mark, fn func(*cudadrv.Event) error) error {
	m, ok := of.(*mark)
	if !ok || m.d != s.d && (op == "Mark" || !s.d.connected(m.d)) {
		return &backend.ArgError{Op: op, Arg: "mark", Kind: backend.ErrWrongDevice, Got: "one of another device", Want: "one of the same open " + s.d.name}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ClosedError(op, "queue")
	case m.closed.Load():
		return ClosedError(op, "mark")
	case s.capture != nil && s.capture.joint == nil:
		return &backend.ArgError{Op: op, Arg: "queue", Kind: backend.ErrOption, Got: "a queue that is being captured", Want: op + " outside Capture"}
	case op == "Mark":
		m.in.Store(s.capture)
	case m.in.Load() != s.capture:
		return backend.CapturedMark(op)
	}
	return fn(m.event)
}
