package device

import (
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
)

// batch runs several plans as one CUDA graph. Launches on different lanes may overlap.
type batch struct {
	member
	plans []Work
	exec  *cudadrv.GraphExec // nil if there is nothing to do
}

// lanes are the device's streams for capturing batches, created on first use.
type lanes struct {
	mu      sync.Mutex // held during a capture
	streams []*cudadrv.Stream
	events  []*cudadrv.Event
}

// take creates streams until there are n.
func (l *lanes) take(c *cudadrv.Context, n int) error {
	for len(l.streams) < n {
		s, err := c.NewStream(cudadrv.StreamOptions{})
		if err != nil {
			return err
		}
		e, err := c.NewEvent(cudadrv.EventOptions{NoTiming: true})
		if err != nil {
			return errors.Join(err, s.Close())
		}
		l.streams, l.events = append(l.streams, s), append(l.events, e)
	}
	return nil
}

func (l *lanes) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for i, s := range l.streams {
		err = errors.Join(err, s.Close(), l.events[i].Close())
	}
	l.streams, l.events = nil, nil
	return err
}

// Batch implements [backend.Backend].
func (d *Device) Batch(plans []backend.Plan, opts backend.BatchOptions) (backend.Plan, error) {
	m := &batch{member: member{dev: d}}
	var busy []Work
	for i, p := range plans {
		w, ok := p.(Work)
		if !ok || w.home() != d {
			return nil, &backend.ArgError{Op: "PlanBatch", Arg: fmt.Sprintf("plans[%d]", i), Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T of another device", p), Want: "a plan of the same open " + d.name}
		}
		if err := w.Usable("PlanBatch"); err != nil {
			return nil, &backend.BatchError{Index: i, Err: err}
		}
		m.plans = append(m.plans, w)
		if !w.Idle() {
			busy = append(busy, w)
		}
	}
	if len(busy) == 0 {
		return m, nil
	}
	var err error
	if m.exec, err = d.lanes.capture(d.Ctx, busy, min(opts.AtOnce, len(busy))); err != nil {
		return nil, err
	}
	return m, nil
}

// capture records the launches of plans into one graph: plan i goes to lane i modulo n. The other lanes fork from the first and join it at the end.
func (l *lanes) capture(c *cudadrv.Context, plans []Work, n int) (*cudadrv.GraphExec, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.take(c, n); err != nil {
		return nil, err
	}
	first := l.streams[0]
	g, err := first.Capture(func(*cudadrv.Stream) error {
		if err := first.Record(l.events[0]); err != nil {
			return err
		}
		for _, s := range l.streams[1:n] {
			if err := s.WaitEvent(l.events[0]); err != nil {
				return err
			}
		}
		for i, p := range plans {
			if err := p.Launch(l.streams[i%n], true); err != nil {
				return err
			}
		}
		for i := 1; i < n; i++ {
			if err := errors.Join(l.streams[i].Record(l.events[i]), first.WaitEvent(l.events[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x, err := g.Instantiate()
	if closed := g.Close(); closed != nil && err == nil {
		return nil, errors.Join(closed, x.Close())
	}
	return x, err
}

// Launch launches the graph. During a capture it records the launches of each plan in order instead, because a graph is not nested in another.
func (m *batch) Launch(q *cudadrv.Stream, recording bool) error {
	if !recording {
		return m.exec.Launch(q)
	}
	for i, p := range m.plans {
		if p.Idle() {
			continue
		}
		if err := p.Launch(q, true); err != nil {
			return &backend.BatchError{Index: i, Err: err}
		}
	}
	return nil
}

func (m *batch) Idle() bool { return m.exec == nil }

func (m *batch) Usable(op string) error {
	if m.closed.Load() {
		return ClosedError(op, "plan")
	}
	for i, p := range m.plans {
		if err := p.Usable(op); err != nil {
			return &backend.BatchError{Index: i, Err: err}
		}
	}
	return nil
}

// Fault returns a *backend.BatchError for each plan with a bad value, joined; nil if there is none.
func (m *batch) Fault() error {
	var all []error
	for i, p := range m.plans {
		if p.Idle() {
			continue
		}
		if err := p.Fault(); err != nil {
			all = append(all, &backend.BatchError{Index: i, Err: err})
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

func (m *batch) Run(s backend.Queue) error { return Run(m, s) }

func (m *batch) Close() error {
	if m.closed.Swap(true) || m.exec == nil {
		return nil
	}
	return m.exec.Close()
}
