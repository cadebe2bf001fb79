package loader

import (
	"cmp"
	"context"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
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
	rows            [][]store.Samples // of each part, an episode each, if they are kept
	seen            []seen            // of each episode

	filming *filming // nil without cameras
	films   []*filmed
	noted   dataset.EpisodeNotes // of the episodes that are drawn
}

// wants reports whether an episode is one of those that are asked for.
func (c *chosen) wants(i int) bool {
	store, number := c.from.Place(i)
	if store >= len(c.opt.Episodes) || c.opt.Episodes[store] == nil {
		return true
	}
	_, found := slices.BinarySearch(c.opt.Episodes[store], number)
	return found
}

// whole reports whether all samples are read anyway, and not only when a shard of a store is.
func (c *chosen) whole() bool {
	_, decoded := c.from.(*unpacked)
	return c.keep || decoded
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

// notes returns a recording's notes that bear on the plan's streams and cameras, and those about its damage.
func (c *chosen) notes(e *dataset.Episode) dataset.Notes {
	list, remarks := e.Notes.Damage(), e.Notes.Of(dataset.ClassRemark)
	if len(c.plan.Streams) == 0 {
		return append(list, remarks...)
	}
	var names []string
	for i := range c.plan.Streams {
		names = append(names, cmp.Or(c.plan.Streams[i].From, c.plan.Streams[i].Name))
	}
	if c.filming != nil {
		for i := range c.filming.cameras {
			names = append(names, c.filming.from(i))
		}
	}
	return append(list, remarks.About(names)...)
}

// lacking lists the streams of the plan that an episode has no samples of, and why.
func (c *chosen) lacking(i int, e *dataset.Episode, about *store.Episode, p *prepared.Recording) (list []Lacking) {
	for m := range c.plan.Streams {
		name, from := c.plan.Streams[m].Name, cmp.Or(c.plan.Streams[m].From, c.plan.Streams[m].Name)
		if slices.ContainsFunc(p.Streams, func(s prepared.Stream) bool { return s.Name == name && s.Len() > 0 }) {
			continue
		}
		which, _ := c.from.Place(i)
		list = append(list, Lacking{Dataset: which, Episode: about.Name, Stream: name, Note: whyEmpty(e, about, p, from)})
	}
	return list
}

// begin makes the parts of the batches after the first episode.
func (c *chosen) begin(p *prepared.Recording) error {
	for m := range p.Streams {
		s := &p.Streams[m]
		deltas, err := deltasOf(&c.plan, s.Name)
		if err != nil {
			return err
		}
		q := part{name: s.Name, from: s.From, column: -1, columns: s.Columns, packed: s.Values.DType(), options: s.Options, normalise: s.Normalise, offset: s.Offset, width: len(s.Columns), offsets: []int64{0}, deltas: deltas}
		switch {
		case s.DType != 0:
			q.dtype = s.DType
		case c.opt.DType != 0:
			q.dtype = c.opt.DType
		default:
			q.dtype = s.Values.DType()
		}
		c.parts = append(c.parts, q)
		c.report.Streams = append(c.report.Streams, StreamsReport{Name: q.name, Columns: q.width, Targets: len(q.deltas), DType: q.dtype.String()})
	}
	c.rows = make([][]store.Samples, len(c.parts))
	return nil
}

// episodes is what a plan chooses from: a store, or a dataset whose episodes are packed one by one. Its methods may be called from any goroutine.
type episodes interface {
	Len() int
	// Read returns an episode as a store has it, and the store's entry about it.
	Read(ctx context.Context, i int) (*dataset.Episode, *store.Episode, error)
	// GuardEpisode calls do, which reads an episode and its samples, and returns its error, or that of a file that is not whole any more: see Store.Guard.
	GuardEpisode(i int, do func() error) error
	// Episode returns an episode as it was recorded, for its media streams.
	Episode(ctx context.Context, i int) (*dataset.Episode, error)
	Format() string
	// Place returns of which of several datasets an episode is, and its number there.
	Place(i int) (dataset, number int)
}

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
