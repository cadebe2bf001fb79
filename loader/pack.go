package loader

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// packer appends episodes to packed streams.
type packer struct {
	dtype    tensor.DType
	only     []string
	at       map[string]int
	packed   []growing
	episodes []Episode
	seen     []string // streams that there are and that nobody asked for, too
}

// growing is a packed stream of which episodes are still to come.
type growing struct {
	Stream
	values values
	times  []int64
}

// values are numbers of one dtype that grow.
type values interface {
	add(list []float64) (rounded, overflowed int)
	tensor(width int) (*tensor.Tensor, error)
}

type numbers[T tensor.Element] struct {
	list   []T
	narrow func(float64) T
	widen  func(T) float64
}

func (n *numbers[T]) add(list []float64) (rounded, overflowed int) {
	n.list = slices.Grow(n.list, len(list))
	for _, v := range list {
		x := n.narrow(v)
		if w := n.widen(x); w != v && v == v {
			rounded++
			if math.IsInf(w, 0) {
				overflowed++
			}
		}
		n.list = append(n.list, x)
	}
	return rounded, overflowed
}

func (n *numbers[T]) tensor(width int) (*tensor.Tensor, error) {
	return tensor.Of(n.list, len(n.list)/max(width, 1), width)
}

func newValues(dtype tensor.DType) values {
	switch dtype {
	case tensor.F64:
		same := func(v float64) float64 { return v }
		return &numbers[float64]{narrow: same, widen: same}
	case tensor.F16:
		return &numbers[tensor.Float16]{narrow: tensor.F16FromF64, widen: func(h tensor.Float16) float64 { return float64(h.F32()) }}
	case tensor.BF16:
		return &numbers[tensor.BFloat16]{narrow: tensor.BF16FromF64, widen: func(b tensor.BFloat16) float64 { return float64(b.F32()) }}
	}
	return &numbers[float32]{narrow: func(v float64) float32 { return float32(v) }, widen: func(v float32) float64 { return float64(v) }}
}

// add appends an episode.
func (p *packer) add(number int, e *dataset.Episode, splits []string) error {
	out := Episode{Name: e.Name, Number: number, Task: e.Attributes.Task, Success: e.Attributes.Success, Splits: splits, Frames: e.Frames}
	leave := func(name, why string) { out.LeftOut = append(out.LeftOut, LeftOut{name, why}) }
	for _, l := range e.LeftOut {
		leave(l.Name, l.Reason)
	}
	for _, d := range e.Damage {
		leave("damage", d.String())
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if !slices.Contains(p.seen, s.Name) {
			p.seen = append(p.seen, s.Name)
		}
		if len(p.only) > 0 && !slices.Contains(p.only, s.Name) {
			continue
		}
		if err := s.Check(); err != nil {
			leave(s.Name, err.Error())
			continue
		}
		if e.Steps {
			leave(s.Name, "timestamps that count steps, of which nobody says how many a second there are")
			continue
		}
		if why, err := p.stream(s); err != nil {
			return err
		} else if why != "" {
			leave(s.Name, why)
		}
	}
	p.episodes = append(p.episodes, out)
	for m := range p.packed { // those that had no samples too
		g := &p.packed[m]
		for len(g.Offsets) <= len(p.episodes) {
			g.Offsets = append(g.Offsets, g.Offsets[len(g.Offsets)-1])
		}
		g.Offsets[len(p.episodes)] = int64(len(g.times))
	}
	return nil
}

// stream appends the samples of a stream, or says why not.
func (p *packer) stream(s *dataset.Stream) (why string, err error) {
	if s.Times.DType() != tensor.I64 { // a time that is none has no place among nanoseconds
		sec, err := tensor.Floats(s.Times)
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(sec, func(v float64) bool { return !(math.Abs(v) <= 1<<62/1e9) }); i >= 0 {
			return fmt.Sprintf("timestamp %v at sample %d", sec[i], i), nil
		}
	}
	at, there := p.at[s.Name]
	if !there {
		at = len(p.packed)
		p.at[s.Name] = at
		g := growing{Stream: Stream{Name: s.Name, Columns: s.Columns, Offsets: make([]int64, len(p.episodes)+1)}, values: newValues(p.dtype)}
		p.packed = append(p.packed, g)
	}
	g := &p.packed[at]
	if !slices.Equal(g.Columns, s.Columns) {
		return fmt.Sprintf("columns %s, where others have %s", listed(s.ColumnNames()), listed((&dataset.Stream{Columns: g.Columns}).ColumnNames())), nil
	}
	list, err := tensor.Floats(s.Values)
	if err != nil {
		return "", err
	}
	rounded, overflowed := g.values.add(list)
	g.times = append(g.times, s.Nanoseconds()...)
	g.Rounded += rounded
	g.Overflowed += overflowed
	g.Inexact += s.Inexact
	return "", nil
}

// streams returns the packed streams, when no more episodes come.
func (p *packer) streams() ([]Stream, error) {
	list := make([]Stream, len(p.packed))
	for m := range p.packed {
		g := &p.packed[m]
		var err error
		if g.Values, err = g.values.tensor(len(g.Columns)); err != nil {
			return nil, err
		}
		if g.Times, err = tensor.Of(g.times, len(g.times)); err != nil {
			return nil, err
		}
		list[m] = g.Stream
	}
	return list, nil
}

// listed writes a few names.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("... %d more", len(names)-most))
	}
	return "[" + strings.Join(names, ", ") + "]"
}
