package cpu

import (
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
)

// boundPlan holds the data that a plan checks before each run.
type boundPlan struct {
	bound  backend.Bound
	closed atomic.Bool
}

// run runs the plan's work on a queue if the plan and its tensors are open.
func (p *boundPlan) run(s backend.Queue, work runnable) error {
	st, err := p.usable(s)
	if err != nil {
		return err
	}
	return st.give(work)
}

// usable returns s as this backend's queue if the plan and its tensors are open.
func (p *boundPlan) usable(s backend.Queue) (*queue, error) {
	st, err := queueOf(s)
	if err != nil {
		return nil, err
	}
	return st, p.stillOpen("Run")
}

// stillOpen returns an error if the plan or a tensor is closed.
func (p *boundPlan) stillOpen(op string) error {
	if p.closed.Load() {
		return &backend.ArgError{Op: op, Arg: "plan", Kind: backend.ErrClosed}
	}
	return p.bound.CheckOpen()
}

// Tensors returns the plan's tensors.
func (p *boundPlan) Tensors() *backend.Bound { return &p.bound }

func (p *boundPlan) Close() error {
	p.closed.Store(true)
	return nil
}

// steppedPlan is a plan that runs checks before its work.
type steppedPlan struct {
	boundPlan
	backend      *Backend
	checks, work task
	by           func(do func(*task)) error // runs the plan: calls do for each task in turn
}

func (p *steppedPlan) Run(s backend.Queue) error { return p.run(s, p) }

func (p *steppedPlan) execute() error { return p.by(p.backend.shared) }

func (p *steppedPlan) alone() error { return p.by(oneByOne) }

func (p *steppedPlan) small() bool { return max(p.work.pieces, p.checks.pieces) <= 1 }
