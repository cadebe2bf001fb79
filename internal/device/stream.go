package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

// Stream is a queue of work and the plans whose faults its next synchronisation reads.
type Stream struct {
	d       *Device
	queue   *cudadrv.Stream
	mu      sync.Mutex
	pending []Work
	capture *graph // where work is recorded, while it is
	closed  bool
}

// NewStream makes a queue.
func (d *Device) NewStream() (*Stream, error) {
	q, err := d.Ctx.NewStream(cudadrv.StreamOptions{})
	if err != nil {
		return nil, err
	}
	return &Stream{d: d, queue: q}, nil
}

// ClosedError says that a plan, a stream or a graph was used after it was closed.
func ClosedError(op, arg string) error {
	return &ops.ArgError{Op: op, Arg: arg, Kind: ops.ErrClosed}
}

// of returns the stream as one of this device.
func (d *Device) of(s ops.Stream) (*Stream, error) {
	q, ok := s.(interface{ base() *Stream })
	if !ok {
		return nil, &ops.ArgError{Op: "Run", Arg: "stream", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a stream of " + d.name}
	}
	st := q.base()
	if st.d != d {
		return nil, &ops.ArgError{Op: "Run", Arg: "stream", Kind: ops.ErrWrongDevice, Got: "a stream of " + st.d.name, Want: "one of the same open " + d.name}
	}
	return st, nil
}

// give runs a plan on the stream, or records it.
func (s *Stream) give(p Work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ClosedError("Run", "stream")
	}
	err := p.Launch(s.queue, s.capture != nil)
	switch {
	case s.capture == nil:
		s.await(p) // after an error too: the first of several kernels may be running
	case err == nil:
		s.capture.plans = append(s.capture.plans, p)
	}
	return err
}

// await notes that the plan's faults are to be read.
func (s *Stream) await(p Work) {
	if at := p.awaiting(); at.Load() != s && at.Swap(s) != s {
		s.pending = append(s.pending, p)
	}
}

// Synchronize is ops.Stream's.
func (s *Stream) Synchronize(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ClosedError("Synchronize", "stream")
	}
	if s.capture != nil {
		return &ops.ArgError{Op: "Synchronize", Arg: "stream", Kind: ops.ErrOption, Got: "a stream that is being captured", Want: "Synchronize after Capture"}
	}
	if err := s.queue.Synchronize(ctx); err != nil {
		return err
	}
	return s.collect()
}

// collect reads the faults of the plans that have run.
func (s *Stream) collect() error {
	var first error
	var all []error
	for _, p := range s.pending {
		p.awaiting().CompareAndSwap(s, nil)
		if err := p.Fault(); err != nil {
			if first == nil {
				first = err
			}
			all = append(all, err)
		}
	}
	clear(s.pending)
	s.pending = s.pending[:0]
	if len(all) > 1 {
		return errors.Join(all...)
	}
	return first
}

// Capture is ops.Stream's.
func (s *Stream) Capture(fn func() error) (ops.Graph, error) {
	s.mu.Lock()
	if s.closed || s.capture != nil {
		s.mu.Unlock()
		return nil, &ops.ArgError{Op: "Capture", Arg: "stream", Kind: ops.ErrOption, Got: "a stream that is closed or being captured", Want: "an open stream"}
	}
	g := &graph{d: s.d}
	s.capture = g
	s.mu.Unlock()
	recorded, err := s.queue.Capture(func(*cudadrv.Stream) error { return fn() })
	s.mu.Lock()
	s.capture = nil
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	g.exec, err = recorded.Instantiate()
	if err = errors.Join(err, recorded.Close()); err != nil {
		return nil, err
	}
	return g, nil
}

// Close is ops.Stream's.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.queue.Synchronize(context.Background())
	if err == nil {
		err = s.collect()
	}
	return errors.Join(err, s.queue.Close())
}

// graph is captured work.
type graph struct {
	d      *Device
	exec   *cudadrv.GraphExec
	plans  []Work
	closed atomic.Bool
}

func (g *graph) Launch(s ops.Stream) error {
	st, err := g.d.of(s)
	if err != nil {
		return err
	}
	if g.closed.Load() {
		return ClosedError("Launch", "graph")
	}
	for _, p := range g.plans {
		if err := p.Usable("Launch"); err != nil {
			return err
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return ClosedError("Launch", "stream")
	}
	if err := g.exec.Launch(st.queue); err != nil {
		return err
	}
	for _, p := range g.plans {
		st.await(p)
	}
	return nil
}

func (g *graph) Close() error {
	if g.closed.Swap(true) {
		return nil
	}
	return g.exec.Close()
}

// base is the stream itself, of what embeds it too.
func (s *Stream) base() *Stream { return s }

// Queue is the driver's stream behind it.
func (s *Stream) Queue() *cudadrv.Stream { return s.queue }
