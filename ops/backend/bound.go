package backend

import (
	"slices"

	"github.com/robocache/robocache/tensor"
)

// Bound lists the tensors of a plan, to be checked before each run.
type Bound struct {
	op      string
	names   []string
	ts      []*tensor.Tensor
	written int // the first so many are outputs
}

// add adds a tensor that is there; outputs come before inputs.
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

// outputs says that what was added so far is written.
func (b *Bound) outputs() { b.written = len(b.ts) }

// Each calls fn with each tensor, by its name in the operation's arguments; outputs come first.
func (b *Bound) Each(fn func(name string, t *tensor.Tensor, written bool)) {
	for i, t := range b.ts {
		fn(b.names[i], t, i < b.written)
	}
}

// CheckOpen returns an *ArgError if a tensor was closed. It allocates nothing if none was.
func (b *Bound) CheckOpen() error {
	for i, t := range b.ts {
		if t.Closed() {
			return &ArgError{Op: b.op, Arg: b.names[i], Kind: ErrClosed, Got: "a closed tensor", Want: "tensors that stay open as long as the plan runs"}
		}
	}
	return nil
}

// BatchOptions say how a batch runs. The zero value is fine.
type BatchOptions struct {
	// AtOnce is how many plans of the batch a GPU may run beside each other; 8 unless given. More keep it busier where each is
	// small, and make the graph dearer to launch. The CPU takes as many as it has threads.
	AtOnce int
}

// Span is where a tensor of a plan lies.
type Span struct {
	Plan    int // its number among the plans
	Name    string
	memory  any
	lo, hi  int
	written bool
}

// Spans adds the tensors of a plan to a list.
func (b *Bound) Spans(list []Span, plan int) []Span {
	for i, t := range b.ts {
		if memory, lo, hi := t.Extent(); lo < hi {
			list = append(list, Span{plan, b.names[i], memory, lo, hi, i < b.written})
		}
	}
	return list
}

// Clash returns two spans that meet, one of them written; the first of the two belongs to the earlier plan. Those of one plan do not
// meet: it was checked when it was made.
func Clash(all []Span) (a, b *Span) {
	in := map[any][]Span{}
	for _, s := range all {
		in[s.memory] = append(in[s.memory], s)
	}
	for _, list := range in {
		slices.SortFunc(list, func(x, y Span) int { return x.lo - y.lo })
		var far, farWritten *Span // those that reach furthest, of all and of the written ones
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
