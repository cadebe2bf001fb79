package cpu

import (
	"fmt"
	"github.com/robocache/robocache/ops/backend"
	"sync/atomic"
)

// batchPlan runs several plans. Plans with one piece of work run concurrently, one per thread. Larger plans run one after the other,
// each on all threads.
type batchPlan struct {
	backend *Backend
	plans   []runnable
	large   []int
	small   []int
	errs    []error // the errors of the last run, one per plan
	work    task
	closed  atomic.Bool
}

// smallPlan is a plan that can run on one thread while other threads run other plans.
type smallPlan interface {
	small() bool
	alone() error
}

// oneByOne runs a task on the calling thread.
func oneByOne(t *task) {
	for i := range t.pieces {
		t.do(i, 0)
	}
}

// Batch combines plans on this backend into one plan. The plans are independent: small ones run concurrently, one per
// thread, and large ones one after another.
func (b *Backend) Batch(plans []backend.Plan, _ backend.BatchOptions) (backend.Plan, error) {
	m := &batchPlan{backend: b, errs: make([]error, len(plans))}
	for i, p := range plans {
		plan, ok := p.(runnable)
		if !ok {
			return nil, &backend.ArgError{Op: "PlanBatch", Arg: fmt.Sprintf("plans[%d]", i), Kind: backend.ErrWrongDevice, Got: fmt.Sprintf("%T", p), Want: "a plan of this device"}
		}
		if err := plan.stillOpen("PlanBatch"); err != nil {
			return nil, &backend.BatchError{Index: i, Err: err}
		}
		m.plans = append(m.plans, plan)
		if s, ok := p.(smallPlan); ok && s.small() {
			m.small = append(m.small, i)
		} else {
			m.large = append(m.large, i)
		}
	}
	m.work = task{pieces: len(m.small), do: func(piece, _ int) {
		i := m.small[piece]
		m.note(i, m.plans[i].(smallPlan).alone())
	}}
	return m, nil
}

func (m *batchPlan) note(i int, err error) {
	if m.errs[i] = nil; err != nil {
		m.errs[i] = &backend.BatchError{Index: i, Err: err}
	}
}

func (m *batchPlan) execute() error {
	if len(m.small) > 0 {
		m.backend.parallel(&m.work)
	}
	for _, i := range m.large {
		m.note(i, m.plans[i].execute())
	}
	return backend.JoinErrors(m.errs)
}

func (m *batchPlan) stillOpen(op string) error {
	if m.closed.Load() {
		return &backend.ArgError{Op: op, Arg: "plan", Kind: backend.ErrClosed}
	}
	for i, p := range m.plans {
		if err := p.stillOpen(op); err != nil {
			return &backend.BatchError{Index: i, Err: err}
		}
	}
	return nil
}

func (m *batchPlan) Run(s backend.Queue) error {
	st, err := queueOf(s)
	if err == nil {
		err = m.stillOpen("Run")
	}
	if err != nil {
		return err
	}
	return st.give(m)
}

func (m *batchPlan) Close() error {
	m.closed.Store(true)
	return nil
}
