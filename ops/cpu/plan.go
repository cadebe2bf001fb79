package cpu

import (
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
)

// boundPlan is what a plan looks at before it runs.
type boundPlan struct {
	bound  backend.Bound
	closed atomic.Bool
}

// usable returns the stream as one of this backend, if the plan and its tensors are open.
func (p *boundPlan) usable(s backend.Queue) (*queue, error) {
	st, err := queueOf(s)
	if err != nil {
		return nil, err
	}
	return st, p.stillOpen("Run")
}

// stillOpen says why the plan cannot run, if it cannot.
func (p *boundPlan) stillOpen(op string) error {
	if p.closed.Load() {
		return &backend.ArgError{Op: op, Arg: "plan", Kind: backend.ErrClosed}
	}
	return p.bound.CheckOpen()
}

// Tensors are those of the plan.
func (p *boundPlan) Tensors() *backend.Bound { return &p.bound }

func (p *boundPlan) Close() error {
	p.closed.Store(true)
	return nil
}
