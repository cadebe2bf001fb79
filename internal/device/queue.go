package device

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Queue is a CUDA stream, with the plans whose faults its next synchronisation reads.
type Queue struct {
	d       *Device
	queue   *cudadrv.Stream
	mu      sync.Mutex
	pending []Work
	capture *graph // the capture in progress, nil if there is none
	closed  bool
}

// NewQueue creates a queue with a new stream.
func (d *Device) NewQueue() (*Queue, error) {
	q, err := d.Ctx.NewStream(cudadrv.StreamOptions{})
	if err != nil {
		return nil, err
	}
	return &Queue{d: d, queue: q}, nil
}

// ClosedError returns a *backend.ArgError for the use of a closed plan, queue or graph.
func ClosedError(op, arg string) error {
	return &backend.ArgError{Op: op, Arg: arg, Kind: backend.ErrClosed}
}

// of returns s as a *Queue if it belongs to this device, else a *backend.ArgError.
func (d *Device) of(s backend.Queue) (*Queue, error) {
	q, ok := s.(interface{ base() *Queue })
	if !ok {
		return nil, &backend.ArgError{Op: "Run", Arg: "queue", Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", s), Want: "a queue of " + d.name}
	}
	st := q.base()
	if st.d != d {
		return nil, &backend.ArgError{Op: "Run", Arg: "queue", Kind: backend.ErrWrongDevice, Got: "a queue of " + st.d.name, Want: "one of the same open " + d.name}
	}
	return st, nil
}

// give launches a plan on the queue, or records it during a capture.
func (s *Queue) give(p Work) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ClosedError("Run", "queue")
	}
	err := p.Launch(s.queue, s.capture != nil)
	switch {
	case s.capture == nil:
		s.await(p) // also after an error, because the first of several kernels may be running
	case err == nil:
		s.capture.plans = append(s.capture.plans, p)
	}
	return err
}

// await adds a plan to those whose faults the next synchronisation reads.
func (s *Queue) await(p Work) {
	if at := p.awaiting(); at.Load() != s && at.Swap(s) != s {
		s.pending = append(s.pending, p)
	}
}

// Synchronize implements [backend.Queue].
func (s *Queue) Synchronize(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ClosedError("Synchronize", "queue")
	}
	if s.capture != nil {
		return &backend.ArgError{Op: "Synchronize", Arg: "queue", Kind: backend.ErrOption, Got: "a queue that is being captured", Want: "Synchronize after Capture"}
	}
	if err := s.queue.Synchronize(ctx); err != nil {
		return err
	}
	return s.collect()
}

// collect returns the faults of the plans that ran since the last synchronisation, joined.
func (s *Queue) collect() error {
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

// Capture implements [backend.Queue].
func (s *Queue) Capture(fn func() error, with ...backend.Queue) (_ backend.Graph, err error) {
	g := &graph{d: s.d}
	if g.joint, err = s.join(with); err != nil {
		return nil, err
	}
	recorded, err := s.record(g, fn)
	if err = errors.Join(err, g.joint.close()); err != nil {
		if recorded != nil {
			err = errors.Join(err, recorded.Close())
		}
		return nil, err
	}
	g.exec, err = recorded.Instantiate()
	if err = errors.Join(err, recorded.Close()); err != nil {
		if g.exec != nil {
			err = errors.Join(err, g.exec.Close())
		}
		return nil, err
	}
	return g, nil
}

// record runs fn during a stream capture, and returns the captured graph.
func (s *Queue) record(g *graph, fn func() error) (*cudadrv.Graph, error) {
	queues := []*Queue{s}
	if g.joint != nil {
		queues = g.joint.queues
	}
	for i, q := range queues {
		if err := q.begin(g, i); err != nil {
			return nil, err
		}
		defer q.end()
	}
	return s.queue.Capture(func(*cudadrv.Stream) error {
		if err := g.joint.fork(); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
		return g.joint.meet()
	})
}

// begin puts the queue into recording, as number i in the capture.
func (s *Queue) begin(g *graph, i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.capture != nil {
		return &backend.ArgError{Op: "Capture", Arg: backend.CaptureArg(i), Kind: backend.ErrOption, Got: "a queue that is closed or being captured", Want: "an open queue"}
	}
	s.capture = g
	return nil
}

func (s *Queue) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capture = nil
}

// Close implements [backend.Queue].
func (s *Queue) Close() error {
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

// graph is an executable CUDA graph with the plans in it.
type graph struct {
	d      *Device
	joint  *joint // nil for a capture of one queue
	exec   *cudadrv.GraphExec
	plans  []Work
	copies [][2]*tensor.Tensor // dst and src
	closed atomic.Bool
}

func (g *graph) Launch(s backend.Queue) error {
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
	if err := g.copiesOpen(); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return ClosedError("Launch", "queue")
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

// base returns the queue, also for a type that embeds it.
func (s *Queue) base() *Queue { return s }

// Stream returns the queue's CUDA stream.
func (s *Queue) Stream() *cudadrv.Stream { return s.queue }
