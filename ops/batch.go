package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// BatchOptions are the options for [Device.PlanBatch]. The zero value is fine. AtOnce, an int, is the number of plans
// that a GPU may run concurrently; 0 means 8. A larger number keeps the GPU busier if each plan is small, but makes the
// graph slower to launch. The CPU ignores it and uses all its threads.
type BatchOptions = backend.BatchOptions

const batchAtOnce = 8

// PlanBatch combines many small, independent plans into one. Each has its own shapes, options and tensors. Run enqueues
// all of them in one call; on a GPU that is one graph launch. The plans run concurrently, in no particular order. If
// the batch is captured in a graph, they run one after the other. [BatchErrors] extracts the errors of single plans.
//
// The batch refers to its plans: they and their tensors must stay open as long as the batch is run, and the rules for
// their tensors still hold. A plan may also run by itself between runs of the batch. If a plan fails, the error is a
// *BatchError with the plan's index, also for an error in values. If one plan writes memory that another plan reads or
// writes, PlanBatch returns an error; it compares the ranges from each tensor's first to its last element. Closing the
// batch leaves the plans open. A batch cannot contain another batch.
func (d *Device) PlanBatch(plans []*Plan, opts BatchOptions) (*Plan, error) {
	if err := d.open("PlanBatch"); err != nil {
		return nil, err
	}
	c := &checker{op: "PlanBatch", device: d.home()}
	if opts.AtOnce < 0 {
		return nil, c.fail("Options.AtOnce", ErrOption, fmt.Sprint(opts.AtOnce), "1 or more, or 0 for 8")
	}
	batcher, err := capable[backend.Batcher](d, "PlanBatch")
	if err != nil {
		return nil, err
	}
	var all []backend.Span
	inner := make([]backend.Plan, len(plans))
	for i, p := range plans {
		arg := fmt.Sprintf("plans[%d]", i)
		if p == nil || p.plan == nil {
			return nil, c.fail(arg, ErrMissing, "nil", "a plan")
		}
		b, ok := p.plan.(interface{ Tensors() *backend.Bound })
		if !ok {
			return nil, c.fail(arg, ErrOption, fmt.Sprintf("%T", p.plan), "a plan of one operation")
		}
		all = b.Tensors().Spans(all, i)
		inner[i] = p.plan
	}
	if a, b := backend.Clash(all); a != nil {
		return nil, c.fail(fmt.Sprintf("plans[%d]", b.Plan), ErrOverlap, fmt.Sprintf("its %s and %s of plans[%d] share memory", b.Name, a.Name, a.Plan), "no plan writes what another reads or writes")
	}
	if opts.AtOnce == 0 {
		opts.AtOnce = batchAtOnce
	}
	return planOf(batcher.Batch(inner, opts))
}
