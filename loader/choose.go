package loader

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// chosen are the episodes and streams that a plan takes.
type chosen struct {
	from   episodes
	plan   align.Plan
	opt    *Options
	report *Report
	keep   bool // the rows, to be packed; else they are read again when they are needed

	preparer align.Preparer // of the plan

	numbers         []int // of the episodes, in the store
	known           []known
	windows, begins []int64
	parts           []part
	rows            [][]row // of each part, an episode each, if they are kept
	seen            []seen  // of each episode

	filming *filming // nil without cameras
	films   []*filmed
	noted   dataset.EpisodeNotes // of the episodes that are drawn
}

// episodes is what a plan chooses from: a store, or a dataset whose episodes are packed one by one. Its methods may be called from any goroutine.
type episodes interface {
	Len() int
	// read returns an episode as a store has it, and what is known of it besides.
	read(ctx context.Context, i int) (*dataset.Episode, *Episode, error)
	// guard calls do, which reads an episode and its samples, and returns its error, or that of a file that is not whole any more: see Store.Guard.
	guard(i int, do func() error) error
	// media returns an episode's media streams.
	media(ctx context.Context, i int) ([]dataset.Media, error)
	Format() string
	// place returns of which of several datasets an episode is, and its number there.
	place(i int) (dataset, number int)
}

// row is what an episode has of a stream.
type row struct{ values, times *tensor.Tensor }

// known is what an episode is called, and its number in the dataset.
type known struct {
	name   string
	number int
}

// seen is what shows whether an episode that is read again is what it was, and how it is read.
type seen struct {
	whole bool   // see looked.columns
	times uint64 // a hash of all timestamps
}

// looked is what the first look at an episode found.
type looked struct {
	about    *Episode
	filtered bool
	unwanted bool // nobody asked for it
	err      error
	prepared *align.Prepared
	clocks   []int // of each stream, the first that has its timestamps
	// columns is where each stream's columns begin in the recording's; nil unless all streams are taken as they were recorded: all samples, of columns
	// that follow each other. Such an episode need not be prepared again.
	columns []int
	times   uint64 // see seen
	film    *filmed
	lacking []Lacking
	notes   dataset.Notes // of the recording, that bear on the streams
	// unfinite are, of each stream, the samples that are not finite; nil where they were not looked at.
	unfinite []int
}

// manyAhead is how many of what is in memory, and quickly done, are done ahead.
const manyAhead = 64

func (c *chosen) choose(ctx context.Context) error {
	c.preparer.Plan, c.windows = c.plan, []int64{0}
	without := EmptyError{Episodes: c.from.Len(), Filter: c.plan.Filter}
	ahead := c.opt.Workers
	if c.keep { // of episodes that are in memory
		ahead = manyAhead
	}
	for i, l := range inorder.Each(ctx, c.from.Len(), c.opt.Workers, ahead, func(looked) int { return ahead }, c.look) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if l.unwanted {
			without.Episodes--
			continue
		}
		if l.filtered {
			c.report.Filtered++
			without.has(l.about)
			continue
		}
		err := l.err
		if err == nil {
			err = c.take(i, &l)
		}
		if err != nil {
			if c.opt.Strict || fatal(err) {
				return err
			}
			if err := c.from.guard(i, func() error { return nil }); err != nil { // and so it is of others
				return err
			}
			c.report.Notes = append(c.report.Notes, refusedNote(l.about.Name, err))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.windows[len(c.windows)-1] == 0 {
		without.Filtered, without.Notes = c.report.Filtered, c.report.Notes
		return &without
	}
	for i := range c.report.Streams {
		if s := &c.report.Streams[i]; s.Samples == 0 {
			k := slices.IndexFunc(c.report.Lacking, func(l Lacking) bool { return l.Stream == s.Name })
			return &LackingError{c.report.Lacking[k], true}
		}
	}
	return nil
}

// whole reports whether all samples are read anyway, and not only when a shard of a store is.
func (c *chosen) whole() bool {
	_, decoded := c.from.(*unpacked)
	return c.keep || decoded
}

// look reads an episode and prepares it.
func (c *chosen) look(ctx context.Context, i int) (l looked) {
	l.about = &Episode{Name: fmt.Sprint(i)}
	if l.unwanted = !c.wants(i); l.unwanted {
		return l
	}
	l.err = c.from.guard(i, func() error { return c.lookAt(ctx, i, &l) })
	return l
}

func (c *chosen) lookAt(ctx context.Context, i int, l *looked) (err error) {
	var e *dataset.Episode
	if e, l.about, err = c.from.read(ctx, i); err != nil {
		return err
	}
	if l.filtered = !l.about.Passes(&c.plan.Filter); l.filtered {
		return nil
	}
	l.notes = c.notes(e)
	if l.prepared, err = c.preparer.Prepare(e); err != nil {
		return err
	}
	if c.filming != nil {
		if l.film, err = c.filming.film(e, c.opt.Strict); err != nil {
			return err
		}
	}
	streams := l.prepared.Streams
	if l.lacking = c.lacking(i, e, l.about, l.prepared); c.opt.Strict && len(l.lacking) > 0 {
		return &LackingError{Lacking: l.lacking[0]}
	}
	if c.whole() {
		l.unfinite = make([]int, len(streams))
		for m := range streams {
			if l.unfinite[m], err = plausible.Unfinite(streams[m].Values); err != nil {
				return err
			}
		}
	}
	l.clocks, l.columns = make([]int, len(streams)), make([]int, len(streams))
	for m := range streams {
		if l.times, err = hashed(l.times, streams[m].Times); err != nil {
			return err
		}
		l.clocks[m] = slices.IndexFunc(streams[:m+1], func(o align.PreparedStream) bool { return sameTimes(o.Times, streams[m].Times) })
		if l.columns != nil {
			if at := columnOf(recordedAs(e, streams[m].From), &streams[m].Stream); at >= 0 {
				l.columns[m] = at
			} else {
				l.columns = nil
			}
		}
	}
	return nil
}

// sameTimes reports whether two streams have the same timestamps.
func sameTimes(a, b *tensor.Tensor) bool {
	if a == b || a.Len() != b.Len() {
		return a == b
	}
	mine, err := tensor.Data[int64](a)
	theirs, failed := tensor.Data[int64](b)
	return err == nil && failed == nil && slices.Equal(mine, theirs)
}

// hashed takes timestamps into a hash.
func hashed(h uint64, t *tensor.Tensor) (uint64, error) {
	times, err := tensor.Data[int64](t)
	for _, x := range times {
		h = bits.RotateLeft64((h^uint64(x))*0x9e3779b97f4a7c15, 29)
	}
	return h + uint64(len(times)), err
}

// columnOf returns where in the columns of a recorded stream those of a prepared one begin, -1 if that is not a part of it with all of its samples.
// Of a stream without samples it is 0.
func columnOf(recorded *dataset.Stream, prepared *dataset.Stream) int {
	switch {
	case recorded.Len() != prepared.Len():
		return -1
	case prepared.Len() == 0:
		return 0
	}
	memory, lo, hi := recorded.Times.Extent()
	if m, l, h := prepared.Times.Extent(); m != memory || l != lo || h != hi {
		return -1
	}
	memory, lo, _ = recorded.Values.Extent()
	m, l, _ := prepared.Values.Extent()
	if m != memory || prepared.Values.Stride(0) != recorded.Values.Stride(0) || prepared.Values.Stride(1) != 1 {
		return -1
	}
	return (l - lo) / recorded.Values.DType().Size()
}

// recordedAs returns the stream of a recording that has that name, one without samples where there is none.
func recordedAs(e *dataset.Episode, name string) *dataset.Stream {
	if s := e.Stream(name); s != nil {
		return s
	}
	return &dataset.Stream{}
}

// fatal tells a mistake in the plan or the options, or a stream that no episode can have, from an episode that is not as the others.
func fatal(err error) bool {
	var option *OptionError
	if errors.As(err, &option) {
		return true
	}
	var plan *align.PlanError
	var missing *align.MissingError
	return errors.As(err, &plan) || errors.As(err, &missing)
}

// Passes reports whether a plan's filter takes the episode.
func (e *Episode) Passes(f *dataset.Filter) bool {
	return f.Refuses(e.Splits, e.Task, e.Success) == dataset.NoField
}

// fits reports in what a prepared episode is not as the first.
func fits(p *align.Prepared, parts []part) error {
	if len(p.Streams) != len(parts) {
		return fmt.Errorf("%d streams, where the first episode has %d", len(p.Streams), len(parts))
	}
	for m := range p.Streams {
		s, q := &p.Streams[m], &parts[m]
		switch {
		case s.Name != q.name:
			return fmt.Errorf("stream %s, where the first episode has %s", s.Name, q.name)
		case !slices.EqualFunc(s.Options.Channels, q.options.Channels, func(a, b ops.Channel) bool { return a == b }):
			return fmt.Errorf("stream %s has columns of other kinds than in the first episode", s.Name)
		}
	}
	return nil
}

// take adds an episode to those that are chosen.
func (c *chosen) take(i int, l *looked) error {
	p := l.prepared
	if c.parts == nil {
		if err := c.begin(p); err != nil {
			return err
		}
	}
	if err := fits(p, c.parts); err != nil {
		return err
	}
	whole := l.columns != nil
	clocks := make([]int, len(p.Streams))
	for m := range p.Streams {
		s, q := &p.Streams[m], &c.parts[m]
		if s.Len() > 0 && !s.OnChange && q.how.Edge == "hold" && c.unsaid(m) { // it speaks more often here
			q.options.Edge = ops.EdgeClamp
		}
		r := &c.report.Streams[m]
		r.Samples += s.Len()
		r.Stray += s.Stray
		if l.unfinite != nil {
			if r.NotFinite == nil {
				r.NotFinite = new(int)
			}
			*r.NotFinite += l.unfinite[m]
		}
		if s.Len() == 0 {
			r.Empty++
		} else if whole {
			if q.column < 0 {
				q.column = l.columns[m]
			}
			whole = q.column == l.columns[m]
		}
		for clocks[m] = 0; c.parts[clocks[m]].clock != q.clock || l.clocks[clocks[m]] != l.clocks[m]; clocks[m]++ { // up to m, at most
		}
		if c.keep {
			c.rows[m] = append(c.rows[m], row{s.Values, s.Times})
		}
		q.offsets = append(q.offsets, q.offsets[len(q.offsets)-1]+int64(s.Len()))
	}
	for m, first := range clocks {
		c.parts[m].clock = first
	}
	c.seen = append(c.seen, seen{whole, l.times})
	if c.filming != nil {
		c.films = append(c.films, l.film)
		c.filming.tell(l.about.Name, l.film)
		c.report.Notes = append(c.report.Notes, l.film.leftOut...)
	}
	c.noted.Add(l.about.Number, l.about.Name, l.notes)
	c.report.EpisodeNotes = c.noted.List
	c.numbers, c.known = append(c.numbers, i), append(c.known, known{l.about.Name, l.about.Number})
	c.begins = append(c.begins, p.Clock.Start)
	anchors := c.anchors(p.Clock.Count)
	c.report.Unanchored += p.Clock.Count - anchors
	for _, k := range l.lacking {
		k.Windows = anchors
		c.report.Lacking = append(c.report.Lacking, k)
	}
	c.windows = append(c.windows, c.windows[len(c.windows)-1]+int64(anchors))
	return nil
}

// anchors is how many of an episode's ticks have a window, of all windows there are.
func (c *chosen) anchors(ticks int) int {
	if c.filming != nil {
		return c.filming.whole.Anchors(ticks)
	}
	return c.plan.Anchors(ticks)
}

// unsaid reports whether the plan leaves a stream's edge open.
func (c *chosen) unsaid(m int) bool {
	return (m >= len(c.plan.Streams) || c.plan.Streams[m].Edge == "") && c.plan.Defaults.Edge == ""
}

// begin makes the parts of the batches after the first episode.
func (c *chosen) begin(p *align.Prepared) error {
	for m := range p.Streams {
		s := &p.Streams[m]
		deltas, err := deltasOf(&c.plan, s.Name)
		if err != nil {
			return err
		}
		q := part{name: s.Name, from: s.From, column: -1, columns: s.Columns, packed: s.Values.DType(), options: s.Options, how: s.How, width: len(s.Columns), offsets: []int64{0}, deltas: deltas}
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

// deltasOf returns the targets of a stream's window, ns from the anchor: the anchor itself where the plan has no window of it.
func deltasOf(plan *align.Plan, name string) ([]int64, error) {
	w, given := plan.Windows[name]
	if !given {
		return []int64{0}, nil
	}
	deltas := w.Ticks(plan.Rate)
	if len(deltas) == 0 {
		return nil, refuse("plan.windows."+name, fmt.Sprintf("%v to %v, between two ticks of %g Hz", w.From, w.To, plan.Rate), "a window with a tick in it")
	}
	return deltas, nil
}

// pack joins the rows of a stream that were kept: the store's own tensors where all of these are taken as they are.
func (c *chosen) pack(m int, from stores) (err error) {
	p := &c.parts[m]
	s := from.whole(p.from)
	n := int(p.offsets[len(p.offsets)-1])
	if s != nil && s.Values != nil && n == s.Samples() && p.width == s.Values.Dim(1) && len(c.numbers) == from.Len() && c.untouched(m, s) {
		p.values, p.times = s.Values, s.Times
		return nil
	}
	p.values, p.times, err = joined(c.rows[m], p.width, n, p.packed)
	return err
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
