package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// BatchOptions say how a batch runs. The zero value is fine. AtOnce, an int, is how many plans of the batch a GPU may run beside each other; 8 unless
// given. More keep it busier where each is small, and make the graph dearer to launch. The CPU takes as many as it has threads.
type BatchOptions = backend.BatchOptions

const batchAtOnce = 8

// PlanBatch makes one plan of many small ones that do not depend on each other, each with shapes, options and tensors of its own. Its
// Run gives all of them to the queue in one call, which on a GPU is the launch of one graph; there is no order among them, and
// they run beside each other. Captured in a graph they follow each other. [BatchErrors] finds the errors of single plans.
//
// Running the batch is running its plans: they and their tensors stay open as long, what they were planned with holds, and one of
// them may run by itself too, in between. Errors, in values too, are *BatchErrors with the plan's index. No plan may write what
// another reads or writes; that is checked here, by the ranges from a tensor's first to its last element. Closing the batch leaves
// the plans open. A batch holds no batches.
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
