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

// firstPass is the result of the first read of an episode.
type firstPass struct {
	about      *store.Episode
	isFiltered bool
	isExcluded bool // by Options.Episodes
	err        error
	prepared   *prepared.Recording
	clocks     []int // for each stream: the index of the first stream with the same timestamps
	// columns are the indexes, in the recorded streams, of each stream's first column. They are nil unless each stream takes all
	// samples, of consecutive columns, as recorded. If they are set, the episode need not be prepared again when it is read again.
	columns []int
	times   uint64 // see entry
	frames  *frameStreams
	lacking []Lacking
	notes   dataset.Notes // of the recording, about the streams
	inGaps  []int         // for each stream: the anchors in gaps of its samples
	// unfinite counts, for each stream, the samples that are not finite; nil if they are not counted.
	unfinite []int
}

// manyAhead is how many episodes or pieces are handled in advance if they are in memory, because each takes little time.
const manyAhead = 64

func (c *selection) selectEpisodes(ctx context.Context) error {
	c.preparer.Plan, c.windows = c.plan, []int64{0}
	without := EmptyError{Episodes: c.from.Len(), Filter: c.plan.Filter}
	ahead := c.opt.Workers
	if c.keepsRows { // because the episodes are in memory
		ahead = manyAhead
	}
	order, err := c.places()
	if err != nil {
		return err
	}
	inspect := func(ctx context.Context, place int) firstPass { return c.inspect(ctx, order[place]) }
	for place, l := range inorder.Each(ctx, len(order), c.opt.Workers, ahead, func(firstPass) int { return ahead }, inspect) {
		i := order[place]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if l.isExcluded {
			without.Episodes--
			continue
		}
		if l.isFiltered {
			c.report.Filtered++
			without.record(l.about)
			continue
		}
		err := l.err
		if err == nil {
			err = c.add(i, &l)
		}
		if err != nil {
			if c.opt.Strict || isFatal(err) {
				return err
			}
			if err := c.from.GuardEpisode(i, func() error { return nil }); err != nil { // the file is closed or cut short
				return err
			}
			c.report.Notes = append(c.report.Notes, store.RefusedNote(l.about.Name, err))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for m := range c.report.Streams {
		c.report.Streams[m].Unlimited = unlimited(&c.parts[m].options)
	}
	if c.windows[len(c.windows)-1] == 0 {
		without.Filtered, without.Notes, without.Trimmed = c.report.Filtered, c.report.Notes, c.report.Trimmed
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

// inspect reads an episode and prepares it.
func (c *selection) inspect(ctx context.Context, i int) (l firstPass) {
	l.about = &store.Episode{Name: fmt.Sprint(i)}
	if l.isExcluded = !c.includes(i); l.isExcluded {
		return l
	}
	l.err = c.from.GuardEpisode(i, func() error { return c.inspectEpisode(ctx, i, &l) })
	return l
}

func (c *selection) inspectEpisode(ctx context.Context, i int, l *firstPass) (err error) {
	var e *dataset.Episode
	if e, l.about, err = c.from.Read(ctx, i); err != nil {
		return err
	}
	if l.isFiltered = !l.about.Passes(&c.plan.Filter); l.isFiltered {
		return nil
	}
	l.notes = c.notes(e)
	if l.prepared, err = c.preparer.Prepare(e); err != nil {
		return err
	}
	if c.cameras != nil {
		which, _ := c.from.Place(i)
		if err = c.cameras.checkResized(e, which); err != nil {
			return err
		}
		if l.frames, err = c.cameras.findFrames(e, which, c.opt.Strict); err != nil {
			return err
		}
	}
	streams := l.prepared.Streams
	if l.lacking = c.lacking(i, e, l.about, l.prepared); c.opt.Strict && len(l.lacking) > 0 {
		return &LackingError{Lacking: l.lacking[0]}
	}
	if c.readsAll() {
		l.unfinite = make([]int, len(streams))
		for m := range streams {
			if l.unfinite[m], err = plausible.Unfinite(streams[m].Values); err != nil {
				return err
			}
		}
	}
	l.clocks, l.columns = make([]int, len(streams)), make([]int, len(streams))
	hashes := make([]uint64, len(streams))
	l.inGaps = make([]int, len(streams))
	drawn := c.drawn(l.prepared.Clock)
	for m := range streams {
		l.inGaps[m] = inGaps(&streams[m], drawn, drawn.Count)
		l.clocks[m] = slices.IndexFunc(streams[:m+1], func(o prepared.Stream) bool { return sameTimes(o.Times, streams[m].Times) })
		if c.keepsRows { // such an episode is not read again
			continue
		}
		if l.clocks[m] == m {
			if hashes[m], err = hashTimes(streams[m].Times); err != nil {
				return err
			}
		}
		hashes[m] = hashes[l.clocks[m]]
		l.times = mixHash(l.times, hashes[m])
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

// add adds episode i to the selection, with the result of its first pass. If its streams do not fit the first episode's, it returns an
// error and adds nothing.
func (c *selection) add(i int, l *firstPass) error {
	p := l.prepared
	if c.parts == nil {
		if err := c.newParts(p); err != nil {
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
		if s.Len() > 0 && !s.OnChange && q.options.Edge == ops.EdgeHold && c.hasOpenEdge(m) { // in this episode the stream is not on change
			q.options.Edge = ops.EdgeClamp
		}
		widen(&q.options, s)
		r := &c.report.Streams[m]
		r.Samples += s.Len()
		r.Stray += s.Stray
		r.InGaps += l.inGaps[m]
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
		for clocks[m] = 0; c.parts[clocks[m]].clock != q.clock || l.clocks[clocks[m]] != l.clocks[m]; clocks[m]++ { // ends at m at the latest
		}
		if c.keepsRows {
			c.rows[m] = append(c.rows[m], store.Samples{Values: s.Values, Times: s.Times})
		}
		q.offsets = append(q.offsets, q.offsets[len(q.offsets)-1]+int64(s.Len()))
	}
	for m, first := range clocks {
		c.parts[m].clock = first
	}
	if c.cameras != nil {
		c.frames = append(c.frames, l.frames)
		c.cameras.record(l.about.Name, l.frames)
		c.report.Notes = append(c.report.Notes, l.frames.leftOut...)
	}
	c.noted.Add(l.about.Number, l.about.Name, l.notes)
	c.report.EpisodeNotes = c.noted.List
	c.numbers, c.entries = append(c.numbers, i), append(c.entries, entry{l.about.Name, l.about.Number, l.about.TasksFrom(), whole, l.times})
	drawn := c.drawn(p.Clock)
	c.begins = append(c.begins, drawn.Start)
	anchors := drawn.Count
	c.report.Unanchored += p.Clock.Count - c.anchors(p.Clock.Count)
	c.report.Trimmed += c.anchors(p.Clock.Count) - anchors
	for _, k := range l.lacking {
		k.Windows = anchors
		c.report.Lacking = append(c.report.Lacking, k)
	}
	c.windows = append(c.windows, c.windows[len(c.windows)-1]+int64(anchors))
	return nil
}

// checkResized returns an *OptionError if a camera wants another size than the one to which a store's frames were resized.
func (f *cameraPlan) checkResized(e *dataset.Episode, place int) error {
	for i, c := range f.cameras {
		if m := e.MediaStream(f.from(i, place)); m != nil && m.Resized && (m.Height != c.StoredHeight || m.Width != c.StoredWidth) {
			return refuse(fmt.Sprintf("Cameras[%d]", i), fmt.Sprintf("%s stored as %dx%d", c.Name, c.StoredWidth, c.StoredHeight),
				fmt.Sprintf("%dx%d, to which the store's frames were resized", m.Width, m.Height))
		}
	}
	return nil
}
