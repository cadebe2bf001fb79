package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// looked is what the first look at an episode found.
type looked struct {
	about    *store.Episode
	filtered bool
	unwanted bool // nobody asked for it
	err      error
	prepared *prepared.Recording
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
			if err := c.from.GuardEpisode(i, func() error { return nil }); err != nil { // and so it is of others
				return err
			}
			c.report.Notes = append(c.report.Notes, store.RefusedNote(l.about.Name, err))
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

// look reads an episode and prepares it.
func (c *chosen) look(ctx context.Context, i int) (l looked) {
	l.about = &store.Episode{Name: fmt.Sprint(i)}
	if l.unwanted = !c.wants(i); l.unwanted {
		return l
	}
	l.err = c.from.GuardEpisode(i, func() error { return c.lookAt(ctx, i, &l) })
	return l
}

func (c *chosen) lookAt(ctx context.Context, i int, l *looked) (err error) {
	var e *dataset.Episode
	if e, l.about, err = c.from.Read(ctx, i); err != nil {
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
		l.clocks[m] = slices.IndexFunc(streams[:m+1], func(o prepared.Stream) bool { return sameTimes(o.Times, streams[m].Times) })
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
		if s.Len() > 0 && !s.OnChange && q.options.Edge == ops.EdgeHold && c.unsaid(m) { // it speaks more often here
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
			c.rows[m] = append(c.rows[m], store.Samples{Values: s.Values, Times: s.Times})
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
