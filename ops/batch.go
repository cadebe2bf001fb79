package ops

import (
	"errors"
	"fmt"
	"slices"
)

// BatchOptions say how a batch runs. The zero value is fine.
type BatchOptions struct {
	// AtOnce is how many plans of the batch a GPU may run beside each other; 8 unless given. More keep it busier where each is
	// small, and make the graph dearer to launch. The CPU takes as many as it has threads.
	AtOnce int
}

const batchAtOnce = 8

// BatchError is an error of one plan of a batch. errors.As finds what is in it.
type BatchError struct {
	Index int // of the plan, as PlanBatch was given them
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("ops: plan %d of a batch: %v", e.Index, e.Err)
}

// Unwrap returns the plan's own error.
func (e *BatchError) Unwrap() error { return e.Err }

// BatchErrors returns the errors of plans of batches that err holds, however they are joined, in order.
func BatchErrors(err error) []*BatchError {
	switch e := err.(type) {
	case *BatchError:
		return []*BatchError{e}
	case interface{ Unwrap() []error }:
		var all []*BatchError
		for _, x := range e.Unwrap() {
			all = append(all, BatchErrors(x)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return BatchErrors(inner)
	}
	return nil
}

// PlanBatch makes one plan of many small ones that do not depend on each other, each with shapes, options and tensors of its own. Its
// Run gives all of them to the stream in one call, which on a GPU is the launch of one graph; there is no order among them, and
// they run beside each other. Captured in a graph they follow each other. [BatchErrors] finds the errors of single plans.
//
// Running the batch is running its plans: they and their tensors stay open as long, what they were planned with holds, and one of
// them may run by itself too, in between. Errors, in values too, are *BatchErrors with the plan's index. No plan may write what
// another reads or writes; that is checked here, by the ranges from a tensor's first to its last element. Closing the batch leaves
// the plans open. A batch holds no batches.
func (d *Device) PlanBatch(plans []Plan, opts BatchOptions) (Plan, error) {
	if err := d.open("PlanBatch"); err != nil {
		return nil, err
	}
	c := &checker{op: "PlanBatch", device: d.home()}
	if opts.AtOnce < 0 {
		return nil, c.fail("Options.AtOnce", ErrOption, fmt.Sprint(opts.AtOnce), "1 or more, or 0 for 8")
	}
	var all []span
	for i, p := range plans {
		arg := fmt.Sprintf("plans[%d]", i)
		if p == nil {
			return nil, c.fail(arg, ErrMissing, "nil", "a plan")
		}
		b, ok := p.(interface{ Tensors() *Bound })
		if !ok {
			return nil, c.fail(arg, ErrOption, fmt.Sprintf("%T", p), "a plan of one operation")
		}
		all = b.Tensors().spans(all, i)
	}
	if a, b := clash(all); a != nil {
		return nil, c.fail(fmt.Sprintf("plans[%d]", b.plan), ErrOverlap, fmt.Sprintf("its %s and %s of plans[%d] share memory", b.name, a.name, a.plan), "no plan writes what another reads or writes")
	}
	if opts.AtOnce == 0 {
		opts.AtOnce = batchAtOnce
	}
	return d.backend.Batch(slices.Clone(plans), opts)
}

// span is where a tensor of a plan lies.
type span struct {
	memory  any
	lo, hi  int
	plan    int
	name    string
	written bool
}

// spans adds the tensors of a plan to a list.
func (b *Bound) spans(list []span, plan int) []span {
	for i, t := range b.ts {
		if memory, lo, hi := t.Extent(); lo < hi {
			list = append(list, span{memory, lo, hi, plan, b.names[i], i < b.written})
		}
	}
	return list
}

// clash returns two spans that meet, one of them written; the first of the two belongs to the earlier plan. Those of one plan do not
// meet: it was checked when it was made.
func clash(all []span) (a, b *span) {
	in := map[any][]span{}
	for _, s := range all {
		in[s.memory] = append(in[s.memory], s)
	}
	for _, list := range in {
		slices.SortFunc(list, func(x, y span) int { return x.lo - y.lo })
		var far, farWritten *span // those that reach furthest, of all and of the written ones
		for i := range list {
			s := &list[i]
			other := farWritten
			if s.written {
				other = far
			}
			if other != nil && other.hi > s.lo {
				if other.plan > s.plan {
					return s, other
				}
				return other, s
			}
			if far == nil || s.hi > far.hi {
				far = s
			}
			if s.written && (farWritten == nil || s.hi > farWritten.hi) {
				farWritten = s
			}
		}
	}
	return nil, nil
}

// joinErrors is errors.Join, but that one error stays as it is, and nothing is allocated for none.
func joinErrors(errs []error) error {
	var first error
	n := 0
	for _, err := range errs {
		if err != nil {
			if n++; first == nil {
				first = err
			}
		}
	}
	if n < 2 {
		return first
	}
	return errors.Join(errs...)
}
