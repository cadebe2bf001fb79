package backend

import (
	"slices"

	"github.com/robocache/robocache/tensor"
)

// Bound lists a plan's tensors with their names in the operation's arguments. They are checked before each run, because
// a closed tensor must not be used.
type Bound struct {
	op      string
	names   []string
	ts      []*tensor.Tensor
	written int // the number of outputs, which are first in the lists
}

// add adds a tensor unless it is nil. Outputs are added before inputs.
func (b *Bound) add(name string, t *tensor.Tensor) {
	if t != nil {
		b.names, b.ts = append(b.names, name), append(b.ts, t)
	}
}

func (b *Bound) addClock(c Clock) {
	b.add("Targets", c.Times)
	b.add("Targets.Anchors", c.Anchors)
	b.add("Targets.Deltas", c.Deltas)
}

// outputs marks the tensors added so far as outputs.
func (b *Bound) outputs() { b.written = len(b.ts) }

// Each calls fn with each tensor and its name in the operation's arguments, outputs first. written is true for outputs.
func (b *Bound) Each(fn func(name string, t *tensor.Tensor, written bool)) {
	for i, t := range b.ts {
		fn(b.names[i], t, i < b.written)
	}
}

// CheckOpen returns an *ArgError if a tensor was closed. It allocates nothing if all are open.
func (b *Bound) CheckOpen() error {
	for i, t := range b.ts {
		if t.Closed() {
			return &ArgError{Op: b.op, Arg: b.names[i], Kind: ErrClosed, Got: "a closed tensor", Want: "tensors that stay open as long as the plan runs"}
		}
	}
	return nil
}

// BatchOptions are the options for a batch. The zero value is fine.
type BatchOptions struct {
	// AtOnce is the number of plans that a GPU may run concurrently; 0 means 8. A larger number keeps the GPU busier if
	// each plan is small, but makes the graph slower to launch. The CPU ignores it and uses all its threads.
	AtOnce int
}

// Span is the memory range of one tensor in a plan.
type Span struct {
	Plan    int // the plan's index in the batch
	Name    string
	memory  any
	lo, hi  int
	written bool
}

// Spans appends the memory ranges of a plan's tensors to list.
func (b *Bound) Spans(list []Span, plan int) []Span {
	for i, t := range b.ts {
		if memory, lo, hi := t.Extent(); lo < hi {
			list = append(list, Span{plan, b.names[i], memory, lo, hi, i < b.written})
		}
	}
	return list
}

// Clash returns two spans that overlap if at least one of them is written. The first belongs to the earlier plan. If there are none,
// both results are nil. Spans of one plan do not overlap, because that was checked when the plan was made.
func Clash(all []Span) (a, b *Span) {
	in := map[any][]Span{}
	for _, s := range all {
		in[s.memory] = append(in[s.memory], s)
	}
	for _, list := range in {
		slices.SortFunc(list, func(x, y Span) int { return x.lo - y.lo })
		var far, farWritten *Span // the spans with the greatest end so far: of all, and of the written ones
		for i := range list {
			s := &list[i]
			other := farWritten
			if s.written {
				other = far
			}
			if other != nil && other.hi > s.lo {
				if other.Plan > s.Plan {
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
