package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// chosen are the episodes and streams of a store that a plan takes.
type chosen struct {
	store  *Store
	plan   align.Plan
	opt    *Options
	report *Report

	numbers         []int // of the episodes, in the store
	windows, begins []int64
	parts           []part
	rows            [][]row // of each part, an episode each
}

// row is what an episode has of a stream.
type row struct{ values, times *tensor.Tensor }

func (c *chosen) choose(ctx context.Context) error {
	c.windows = []int64{0}
	for i := range c.store.Episodes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !c.passes(&c.store.Episodes[i]) {
			c.report.Filtered++
			continue
		}
		if err := c.episode(ctx, i); err != nil {
			if c.opt.Strict || fatal(err) {
				return err
			}
			c.report.LeftOut = append(c.report.LeftOut, LeftOut{c.store.Episodes[i].Name, err.Error()})
		}
	}
	if c.windows[len(c.windows)-1] == 0 {
		return &EmptyError{Episodes: len(c.store.Episodes), Filtered: c.report.Filtered, LeftOut: c.report.LeftOut}
	}
	for m := range c.parts {
		if err := c.pack(m); err != nil {
			return err
		}
	}
	return nil
}

// fatal tells a mistake in the plan, or a stream that no episode can have, from an episode that is not as the others.
func fatal(err error) bool {
	var plan *align.PlanError
	var missing *align.MissingError
	return errors.As(err, &plan) || errors.As(err, &missing)
}

// passes reports whether the plan's filter takes an episode.
func (c *chosen) passes(e *Episode) bool {
	f := c.plan.Filter
	return (f.Split == "" || slices.Contains(e.Splits, f.Split)) && (f.Task == "" || f.Task == e.Task) && (f.Success == nil || e.Success != nil && *e.Success == *f.Success)
}

func (c *chosen) episode(ctx context.Context, i int) error {
	e, err := c.store.Episode(ctx, i)
	if err != nil {
		return err
	}
	p, err := align.Prepare(e, c.plan)
	if err != nil {
		return err
	}
	if c.parts == nil {
		if err := c.begin(p); err != nil {
			return err
		}
	}
	if len(p.Streams) != len(c.parts) {
		return fmt.Errorf("%d streams, where the first episode has %d", len(p.Streams), len(c.parts))
	}
	for m := range p.Streams {
		s, q := &p.Streams[m], &c.parts[m]
		switch {
		case s.Name != q.name:
			return fmt.Errorf("stream %s, where the first episode has %s", s.Name, q.name)
		case !slices.EqualFunc(s.Options.Channels, q.options.Channels, func(a, b ops.Channel) bool { return a == b }):
			return fmt.Errorf("stream %s has columns of other kinds than in the first episode", s.Name)
		}
	}
	for m := range p.Streams {
		s, q := &p.Streams[m], &c.parts[m]
		if s.Len() > 0 && !s.OnChange && q.how.Edge == "hold" && c.unsaid(m) { // it speaks more often here
			q.options.Edge = ops.EdgeClamp
		}
		r := &c.report.Streams[m]
		r.Samples += s.Len()
		r.Stray += s.Stray
		if s.Len() == 0 {
			r.Empty++
		}
		c.rows[m] = append(c.rows[m], row{s.Values, s.Times})
		q.offsets = append(q.offsets, q.offsets[len(q.offsets)-1]+int64(s.Len()))
	}
	c.numbers = append(c.numbers, i)
	c.begins = append(c.begins, p.Clock.Start)
	anchors := c.plan.Anchors(p.Clock.Count)
	c.report.Unanchored += p.Clock.Count - anchors
	c.windows = append(c.windows, c.windows[len(c.windows)-1]+int64(anchors))
	return nil
}

// unsaid reports whether the plan leaves a stream's edge open.
func (c *chosen) unsaid(m int) bool {
	return (m >= len(c.plan.Streams) || c.plan.Streams[m].Edge == "") && c.plan.Defaults.Edge == ""
}

// begin makes the parts of the batches after the first episode.
func (c *chosen) begin(p *align.Prepared) error {
	for m := range p.Streams {
		s := &p.Streams[m]
		w, given := c.plan.Windows[s.Name]
		q := part{name: s.Name, columns: s.Columns, options: s.Options, how: s.How, width: len(s.Columns), offsets: []int64{0}, deltas: []int64{0}}
		if given {
			if q.deltas = w.Ticks(c.plan.Rate); len(q.deltas) == 0 {
				return &OptionError{"plan.windows." + s.Name, fmt.Sprintf("%v to %v, between two ticks of %g Hz", w.From, w.To, c.plan.Rate), "a window with a tick in it"}
			}
		}
		switch {
		case s.How.DType != 0:
			q.dtype = s.How.DType
		case c.opt.DType != 0:
			q.dtype = c.opt.DType
		default:
			q.dtype = s.Values.DType()
		}
		c.parts = append(c.parts, q)
		c.report.Streams = append(c.report.Streams, StreamsReport{Name: q.name, Columns: q.width, Targets: len(q.deltas), DType: q.dtype.String()})
	}
	c.rows = make([][]row, len(c.parts))
	return nil
}

// pack joins the rows of a stream: the store's own tensors where all of these are taken as they are.
func (c *chosen) pack(m int) error {
	p := &c.parts[m]
	s := c.store.Stream(c.source(m))
	n := int(p.offsets[len(p.offsets)-1])
	var err error
	if s != nil && s.Values != nil && n == s.Samples() && p.width == s.Values.Dim(1) && len(c.numbers) == c.store.Len() && c.untouched(m, s) {
		p.values, p.times = s.Values, s.Times
	} else if p.values, p.times, err = joined(c.rows[m], p.width, n, s.DType()); err != nil {
		return err
	}
	if p.how.Normalise != "" && p.how.Normalise != "none" {
		if p.stats, err = statsOf(p.values); err != nil {
			return err
		}
		p.affine = normalise(p.how.Normalise, p.stats)
	}
	return nil
}

// source is the name that a part has in the store.
func (c *chosen) source(m int) string {
	for i := range c.plan.Streams {
		if s := &c.plan.Streams[i]; s.Name == c.parts[m].name {
			if s.From != "" {
				return s.From
			}
			break
		}
	}
	return c.parts[m].name
}

// untouched reports whether the rows are those of the packed stream: the same memory, one behind the other.
func (c *chosen) untouched(m int, s *Stream) bool {
	memory, at, _ := s.Values.Extent()
	for _, r := range c.rows[m] {
		if r.values.Len() == 0 {
			continue
		}
		other, lo, hi := r.values.Extent()
		if other != memory || lo != at || r.values.Stride(0) != s.Values.Dim(1) {
			return false
		}
		at = hi
	}
	return true
}

// joined copies rows into packed tensors.
func joined(rows []row, width, n int, dtype tensor.DType) (values, times *tensor.Tensor, err error) {
	stamps := make([]int64, 0, n)
	for _, r := range rows {
		list, err := tensor.Data[int64](r.times)
		if err != nil {
			return nil, nil, err
		}
		stamps = append(stamps, list...)
	}
	if times, err = tensor.Of(stamps, n); err != nil {
		return nil, nil, err
	}
	switch dtype {
	case tensor.F64:
		values, err = join[float64](rows, width, n)
	case tensor.F16:
		values, err = join[tensor.Float16](rows, width, n)
	case tensor.BF16:
		values, err = join[tensor.BFloat16](rows, width, n)
	default:
		values, err = join[float32](rows, width, n)
	}
	return values, times, err
}

func join[T tensor.Element](rows []row, width, n int) (*tensor.Tensor, error) {
	list := make([]T, 0, n*width)
	for _, r := range rows {
		if r.values.Len() == 0 {
			continue
		}
		t, err := r.values.Contiguous()
		if err != nil {
			return nil, err
		}
		part, err := tensor.Data[T](t)
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return tensor.Of(list, n, width)
}

// EmptyError says that a plan leaves no window to draw.
type EmptyError struct {
	Episodes, Filtered int
	LeftOut            []LeftOut
}

func (e *EmptyError) Error() string {
	s := fmt.Sprintf("loader: no windows: of %d episodes the filter leaves out %d", e.Episodes, e.Filtered)
	for i, l := range e.LeftOut {
		if i == 5 {
			s += fmt.Sprintf("; and %d more", len(e.LeftOut)-i)
			break
		}
		s += "; " + l.Name + ": " + l.Reason
	}
	return s
}

// Unwrap returns ops.ErrMissing.
func (e *EmptyError) Unwrap() error { return ops.ErrMissing }
