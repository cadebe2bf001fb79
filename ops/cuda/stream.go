package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
)

// work is a plan of any operation, or a batch of them.
type work interface {
	// launch gives the kernels to the driver; recording says that the stream is being captured.
	launch(q *cudadrv.Stream, recording bool) error
	// idle reports whether there is nothing to launch.
	idle() bool
	// home is the device that the plan is of.
	home() *backend
	// usable says why the plan cannot run, if it cannot.
	usable(op string) error
	// fault reads what the kernels found. The stream has been synchronised.
	fault() error
	// awaiting is the stream that will read the faults.
	awaiting() *atomic.Pointer[stream]
}

// stream is a queue of work and the plans whose faults its next synchronisation reads.
type stream struct {
	b       *backend
	queue   *cudadrv.Stream
	mu      sync.Mutex
	pending []work
	capture *graph // where work is recorded, while it is
	closed  bool
}

func (b *backend) NewStream() (ops.Stream, error) {
	q, err := b.ctx.NewStream(cudadrv.StreamOptions{})
	if err != nil {
		return nil, err
	}
	return &stream{b: b, queue: q}, nil
}

func closedError(op, arg string) error {
	return &ops.ArgError{Op: op, Arg: arg, Kind: ops.ErrClosed}
}

// of returns the stream as one of this device.
func (b *backend) of(s ops.Stream) (*stream, error) {
	st, ok := s.(*stream)
	switch {
	case !ok:
		return nil, &ops.ArgError{Op: "Run", Arg: "stream", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a stream of " + b.name}
	case st.b != b:
		return nil, &ops.ArgError{Op: "Run", Arg: "stream", Kind: ops.ErrWrongDevice, Got: "a stream of " + st.b.name, Want: "one of the same open " + b.name}
	}
	return st, nil
}

// give runs a plan on the stream, or records it.
func (s *stream) give(p work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return closedError("Run", "stream")
	}
	err := p.launch(s.queue, s.capture != nil)
	switch {
	case s.capture == nil:
		s.await(p) // after an error too: the first of several kernels may be running
	case err == nil:
		s.capture.plans = append(s.capture.plans, p)
	}
	return err
}

// await notes that the plan's faults are to be read.
func (s *stream) await(p work) {
	if at := p.awaiting(); at.Load() != s && at.Swap(s) != s {
		s.pending = append(s.pending, p)
	}
}

func (s *stream) Synchronize(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return closedError("Synchronize", "stream")
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
func (s *stream) collect() error {
	var first error
	var all []error
	for _, p := range s.pending {
		p.awaiting().CompareAndSwap(s, nil)
		if err := p.fault(); err != nil {
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

func (s *stream) Capture(fn func() error) (ops.Graph, error) {
	s.mu.Lock()
	if s.closed || s.capture != nil {
		s.mu.Unlock()
		return nil, &ops.ArgError{Op: "Capture", Arg: "stream", Kind: ops.ErrOption, Got: "a stream that is closed or being captured", Want: "an open stream"}
	}
	g := &graph{b: s.b}
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

func (s *stream) Close() error {
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
	b      *backend
	exec   *cudadrv.GraphExec
	plans  []work
	closed atomic.Bool
}

func (g *graph) Launch(s ops.Stream) error {
	st, err := g.b.of(s)
	if err != nil {
		return err
	}
	if g.closed.Load() {
		return closedError("Launch", "graph")
	}
	for _, p := range g.plans {
		if err := p.usable("Launch"); err != nil {
			return err
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return closedError("Launch", "stream")
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

// Queue returns the driver's stream behind a stream of this backend, for programs that give it work of their own: kernels
// and copies through cudadrv, in order with the operations. It is the stream's as long as that is open; do not close it.
func Queue(s ops.Stream) (*cudadrv.Stream, error) {
	st, ok := s.(*stream)
	if !ok {
		return nil, &ops.ArgError{Op: "Queue", Arg: "stream", Kind: ops.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a stream of the CUDA backend"}
	}
	return st.queue, nil
}
