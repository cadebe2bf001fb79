package policy

import (
	"context"
	"fmt"
	"math"

	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// Window is a window of a recording in host memory, before it is normalised.
type Window struct {
	Episode int   // the episode's number in the dataset
	Tick    int64 // the number of the anchor's tick
	Anchor  int64 // the anchor's time, ns
	// Last [A] is the action in the tick before the anchor. It is valid if Known is true.
	Last  []float64
	Known bool
	// Actions [C,A] are the recorded actions from the anchor on. Counts [C] is false for ticks without a recorded action.
	Actions []float64
	Counts  []bool

	inputs []float64 // [T,W], x-r; see Column
	there  []bool    // [T,W], whether the input is valid
}

// newWindow allocates a window.
func (c *Config) newWindow() *Window {
	r, a, n := &c.Recipe, len(c.Targets), c.Recipe.History*len(c.Inputs)
	return &Window{Last: make([]float64, a), Actions: make([]float64, r.Chunk*a), Counts: make([]bool, r.Chunk), inputs: make([]float64, n), there: make([]bool, n)}
}

// all calls visit with each window in an epoch of a loader. The window is reused.
func (c *Config) all(ctx context.Context, l *loader.Loader, visit func(w *Window) error) error {
	w := c.newWindow()
	for b, err := range l.Epoch(ctx) {
		if err != nil {
			return err
		}
		h, err := c.hostOf(ctx, l, b)
		if err != nil {
			return err
		}
		for row := range h.episodes {
			there, err := h.window(row, w)
			if there && err == nil {
				err = visit(w)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// each is like all, but skips windows without a last action.
func (c *Config) each(ctx context.Context, l *loader.Loader, visit func(w *Window) error) error {
	return c.all(ctx, l, func(w *Window) error {
		if !w.Known {
			return nil
		}
		return visit(w)
	})
}

// host is a batch in host memory.
type host struct {
	c        *Config
	l        *loader.Loader
	episodes []int64
	ticks    []int64
	anchors  []int64
	values   [][]float32 // the states, then the action
	valid    [][]uint8
}

func (c *Config) hostOf(ctx context.Context, l *loader.Loader, b *loader.Batch) (*host, error) {
	h := &host{c: c, l: l}
	b, err := b.Host(ctx)
	if err != nil {
		return nil, err
	}
	for _, list := range []struct {
		to   *[]int64
		from *tensor.Tensor
	}{{&h.episodes, b.Episodes}, {&h.ticks, b.Ticks}, {&h.anchors, b.Anchors}} {
		if *list.to, err = tensor.Data[int64](list.from); err != nil {
			return nil, err
		}
	}
	for i := range len(c.States) + 1 {
		name := c.Action.Name
		if i < len(c.States) {
			name = c.States[i].Name
		}
		s := b.Stream(name)
		values, err := tensor.Data[float32](s.Values)
		if err != nil {
			return nil, err
		}
		valid, err := tensor.Data[uint8](s.Valid)
		if err != nil {
			return nil, err
		}
		h.values, h.valid = append(h.values, values), append(h.valid, valid)
	}
	return h, nil
}

// window reads a row of the batch into w, and reports whether the row has a window. A value that is not finite is a *StreamError.
func (h *host) window(row int, w *Window) (bool, error) {
	c, r := h.c, &h.c.Recipe
	a, width, t := len(c.Targets), len(c.Inputs), r.History
	if h.episodes[row] < 0 {
		return false, nil
	}
	actions, valid := h.values[len(c.States)], h.valid[len(c.States)]
	ticks := t + r.Chunk // the action's ticks before the anchor, then the chunk
	actions, valid = actions[row*ticks*a:], valid[row*ticks:]
	_, w.Episode = h.l.Known(h.episodes[row])
	w.Tick, w.Anchor = h.ticks[row], h.anchors[row]
	w.take(c, actions, valid)
	clear(w.there)
	put := func(token, column int, x float32) {
		ref := 0.0
		if rel := c.Inputs[column].Relative; rel >= 0 {
			ref = w.Last[rel]
		}
		w.inputs[token*width+column], w.there[token*width+column] = float64(x)-ref, true
	}
	column := 0
	for i, s := range c.States {
		d := len(s.Columns)
		for k := range t {
			if h.valid[i][row*t+k] == 0 {
				continue
			}
			for j := range d {
				put(k, column+j, h.values[i][(row*t+k)*d+j])
			}
		}
		column += d
	}
	if !r.Differences {
		return true, c.finite(w)
	}
	for k := range t {
		if valid[k] == 0 {
			continue
		}
		for j, v := range actions[k*a : (k+1)*a] {
			put(k, column+j, v)
			if k == t-1 {
				put(k, column+a+j, v)
			}
		}
	}
	return true, c.finite(w)
}

// finite returns a *StreamError if a value in a window is not finite.
func (c *Config) finite(w *Window) error {
	bad := func(x *Column) error {
		return &StreamError{x.Stream, fmt.Sprintf("a value of column %s that is not finite, in episode %d near tick %d", x.Name, w.Episode, w.Tick), "finite ones"}
	}
	for i, v := range w.inputs {
		if w.there[i] && !finite(v) {
			return bad(&c.Inputs[i%len(c.Inputs)])
		}
	}
	for i, v := range w.Actions {
		if w.Counts[i/len(c.Targets)] && !finite(v) {
			return bad(&c.Targets[i%len(c.Targets)])
		}
	}
	return nil
}

// take reads the last action and the chunk from the action's values [T+C,A].
func (w *Window) take(c *Config, actions []float32, valid []uint8) {
	a, t := len(c.Targets), c.Recipe.History
	w.Known = valid[t-1] != 0
	for j := range a {
		w.Last[j] = float64(actions[(t-1)*a+j])
	}
	for k := range c.Recipe.Chunk {
		w.Counts[k] = valid[t+k] != 0
		for j := range a {
			w.Actions[k*a+j] = float64(actions[(t+k)*a+j])
		}
	}
}

// moments are sums for a mean, a standard deviation and a range.
type moments struct{ n, sum, squares, low, high float64 }

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.low, m.high = x, x
	}
	m.low, m.high = min(m.low, x), max(m.high, x)
	m.n++
	m.sum += x
	m.squares += x * x
}

func (m *moments) stats() (mean, std float64) {
	if m.n == 0 {
		return 0, 0
	}
	mean = m.sum / m.n
	return mean, math.Sqrt(max(m.squares/m.n-mean*mean, 0))
}

// middle returns the range's middle, and half its length.
func (m *moments) middle() (middle, half float64) { return (m.low + m.high) / 2, (m.high - m.low) / 2 }

// constant is a limit for the standard deviation, relative to the input's size. An input below it counts as constant and is not scaled.
const constant = 1e-6

// statistics sets the normalisation of inputs and targets from the windows of the training episodes.
func (c *Config) statistics(ctx context.Context, l *loader.Loader) error {
	in, out := make([]moments, len(c.Inputs)), make([]moments, len(c.Targets))
	err := c.all(ctx, l, func(w *Window) error {
		for i, x := range w.inputs {
			if w.there[i] && w.Known {
				in[i%len(in)].add(x)
			}
		}
		if w.Counts[0] {
			for j := range out {
				out[j].add(w.Actions[j])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if out[0].n == 0 {
		return &StreamError{c.Action.Name, "no tick of any episode with an action", "recorded actions"}
	}
	for i := range in {
		x := &c.Inputs[i]
		if x.Mean, x.Std = in[i].stats(); !finite(x.Mean, x.Std) {
			return &StreamError{x.Stream, "values of column " + x.Name + " that are not finite", "finite ones"}
		}
		if c.Recipe.Sampler != "" {
			x.Mean, x.Std = in[i].middle()
		}
		if x.Std <= constant*max(math.Abs(in[i].low), math.Abs(in[i].high)) {
			x.Std = 1
		}
	}
	for j := range out {
		y := &c.Targets[j]
		if y.measure(&out[j], c.Floor); !finite(y.Mean, y.Std) {
			return &StreamError{y.Stream, "values of column " + y.Name + " that are not finite", "finite ones"}
		}
		if y.Relative >= 0 {
			y.Mean = 0
		}
		if c.Recipe.Sampler != "" {
			middle, half := out[j].middle()
			if y.Mean = middle; !y.Floored || half > y.Std {
				y.Std = half
			}
		}
	}
	return nil
}

func finite(list ...float64) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// normalised writes a window's inputs as the network reads them, with 0 for inputs that are not valid.
func (c *Config) normalised(w *Window, to []float64) {
	for i := range w.inputs {
		to[i] = 0
		if w.there[i] {
			x := &c.Inputs[i%len(c.Inputs)]
			to[i] = (w.inputs[i] - x.Mean) * (1 / x.Std)
		}
	}
}
