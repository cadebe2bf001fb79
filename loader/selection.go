package loader

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// selection holds the episodes and streams that a plan takes.
type selection struct {
	from      episodes
	plan      align.Plan
	opt       *Options
	report    *Report
	keepsRows bool // for packing; else episodes are read again for each use

	preparer align.Preparer // of the plan

	numbers         []int   // numbers in the store
	entries         []entry // of each episode
	windows, begins []int64
	parts           []part
	rows            [][]store.Samples // by part and episode, with keepsRows

	cameras *cameraPlan // nil without cameras
	frames  []*frameStreams
	noted   dataset.EpisodeNotes // of the drawn episodes
}

// includes reports whether Options.Episodes takes an episode.
func (c *selection) includes(i int) bool {
	store, number := c.from.Place(i)
	if store >= len(c.opt.Episodes) || c.opt.Episodes[store] == nil {
		return true
	}
	_, found := slices.BinarySearch(c.opt.Episodes[store], number)
	return found
}

// readsAll reports whether the first pass reads all samples.
func (c *selection) readsAll() bool {
	_, decoded := c.from.(*recordings)
	return c.keepsRows || decoded
}

// anchors returns how many of an episode's ticks have a complete window in all streams and cameras.
func (c *selection) anchors(ticks int) int {
	if c.cameras != nil {
		return c.cameras.whole.Anchors(ticks)
	}
	return c.plan.Anchors(ticks)
}

// drawn returns the clock of an episode's anchors: its ticks with a complete window, but for DropFirst and DropLast.
func (c *selection) drawn(clock ops.Clock) ops.Clock {
	n := min(c.anchors(clock.Count), clock.Count-c.opt.DropLast) - c.opt.DropFirst
	if n <= 0 {
		clock.Count = 0
		return clock
	}
	clock.Start, clock.Count = clock.Tick(c.opt.DropFirst), n
	return clock
}

// weight returns an episode's weight.
func (c *selection) weight(i int) float64 {
	store, number := c.from.Place(i)
	if store < len(c.opt.EpisodeWeights) {
		if w, given := c.opt.EpisodeWeights[store][number]; given {
			return w
		}
	}
	return 1
}

// places returns the order in which the episodes are numbered: that of the datasets, and in each that of the weights.
func (c *selection) places() ([]int, error) {
	order := make([]int, c.from.Len())
	known := make([]int, len(c.opt.EpisodeWeights))
	for i := range order {
		order[i] = i
		if store, number := c.from.Place(i); store < len(known) {
			if _, given := c.opt.EpisodeWeights[store][number]; given {
				known[store]++
			}
		}
	}
	for store, n := range known {
		if more := len(c.opt.EpisodeWeights[store]) - n; more > 0 {
			return nil, refuse("EpisodeWeights", fmt.Sprintf("%d numbers that dataset %d does not have", more, store), "numbers of its episodes")
		}
	}
	if len(known) > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			first, _ := c.from.Place(a)
			second, _ := c.from.Place(b)
			return cmp.Or(first-second, cmp.Compare(c.weight(a), c.weight(b)))
		})
	}
	return order, nil
}

// hasOpenEdge reports whether the plan sets no edge for a stream.
func (c *selection) hasOpenEdge(m int) bool {
	return (m >= len(c.plan.Streams) || c.plan.Streams[m].Edge == "") && c.plan.Defaults.Edge == ""
}

// notes returns a recording's notes about damage, and its remarks about the plan's streams and cameras; with AllNotes all but those about
// streams without samples, which Report.Lacking has.
func (c *selection) notes(e *dataset.Episode) dataset.Notes {
	list, remarks := e.Notes.Damage(), e.Notes.Of(dataset.ClassRemark)
	if len(c.plan.Streams) == 0 {
		return append(list, remarks...)
	}
	var names []string
	for i := range c.plan.Streams {
		names = append(names, c.plan.Streams[i].Source())
	}
	if c.cameras != nil {
		for i := range c.cameras.cameras {
			names = append(names, c.cameras.from(i, 0))
			names = append(names, c.cameras.cameras[i].Names...)
		}
	}
	if c.opt.AllNotes {
		left := slices.DeleteFunc(e.Notes.Of(dataset.ClassLeftOut), func(n dataset.Note) bool {
			return slices.Contains(names, n.Subject) && e.Stream(n.Subject) == nil
		})
		return slices.Concat(list, remarks, left)
	}
	return append(list, remarks.About(names)...)
}

// lacking lists the plan's streams without samples in an episode, with the reasons.
func (c *selection) lacking(i int, e *dataset.Episode, about *store.Episode, p *prepared.Recording) (list []Lacking) {
	for m := range c.plan.Streams {
		name, from := c.plan.Streams[m].Name, c.plan.Streams[m].Source()
		if slices.ContainsFunc(p.Streams, func(s prepared.Stream) bool { return s.Name == name && s.Len() > 0 }) {
			continue
		}
		which, _ := c.from.Place(i)
		list = append(list, Lacking{Dataset: which, Episode: about.Name, Stream: name, Note: whyEmpty(e, about, p, from)})
	}
	return list
}

// Doubles returns a function for store.BuildOptions.Double. It reports whether a recorded stream has float64 values, and whether the plan
// draws them in float64.
func Doubles(plan *align.Plan, opt *Options) func(s *dataset.Stream) bool {
	return func(recorded *dataset.Stream) bool {
		if recorded.Values.DType() != tensor.F64 {
			return false
		}
		for _, s := range plan.Streams {
			if s.Source() == recorded.Name && cmp.Or(s.DType, plan.Defaults.DType, opt.DType) == tensor.F64 {
				return true
			}
		}
		return len(plan.Streams) == 0 && cmp.Or(plan.Defaults.DType, opt.DType) == tensor.F64
	}
}

// rounded counts the values of a stream that were rounded when stores were packed.
func (c *selection) rounded(name string) (n int) {
	list, _ := c.from.(stores)
	if one, ok := c.from.(*store.Store); ok {
		list = stores{one}
	}
	for _, s := range list {
		if p := s.Stream(name); p != nil {
			n += p.Rounded
		}
	}
	return n
}

// newParts makes the batches' parts, one for each stream in the first episode that the plan takes.
func (c *selection) newParts(p *prepared.Recording) error {
	for m := range p.Streams {
		s := &p.Streams[m]
		deltas, err := deltasOf(&c.plan, s.Name)
		if err != nil {
			return err
		}
		q := part{name: s.Name, from: s.From, column: -1, columns: s.Columns, packed: s.Values.DType(), options: s.Options, normalise: s.Normalise, offset: s.Offset, width: len(s.Columns), offsets: []int64{0}, deltas: deltas}
		q.dtype = cmp.Or(s.DType, c.opt.DType, s.Values.DType())
		for i, o := range c.plan.Streams {
			if o.Name != s.Name {
				continue
			}
			if q.points = o.Points; q.hasGrid() && q.dtype != tensor.F32 {
				return c.plan.Mistake(c.plan.Key(i, "points.grid"), o.Points.Grid+" of "+q.dtype.String(), "points in f32")
			}
		}
		q.isDouble = cmp.Or(s.DType, c.opt.DType) == tensor.F64
		if n := c.rounded(s.From); n > 0 && q.isDouble && q.packed != tensor.F64 {
			return refuse("DType", fmt.Sprintf("float64 for a store in which %d values of stream %s are rounded to %v", n, s.Name, q.packed), "float32, or a store that is packed as f64")
		}
		c.parts = append(c.parts, q)
		c.report.Streams = append(c.report.Streams, StreamsReport{Name: q.name, Columns: q.width, Targets: len(q.deltas), DType: q.dtype.String()})
	}
	c.rows = make([][]store.Samples, len(c.parts))
	return nil
}

// episodes is a selection's source: a store, or recordings that are packed one by one. Its methods may be called from any
// goroutine.
type episodes interface {
	Len() int
	// Read returns an episode as a store has it, and the store's entry about it.
	Read(ctx context.Context, i int) (*dataset.Episode, *store.Episode, error)
	// GuardEpisode calls do, which may read an episode's samples, and returns its error. If the file is cut short meanwhile, it
	// returns an error: see Store.Guard.
	GuardEpisode(i int, do func() error) error
	// Episode returns an episode with its media streams.
	Episode(ctx context.Context, i int) (*dataset.Episode, error)
	Format() string
	// Place returns an episode's dataset, an index, and the episode's number there.
	Place(i int) (dataset, number int)
}

// entry describes a selected episode.
type entry struct {
	name   string
	number int // in the dataset
	tasks  []store.Task
	whole  bool   // all its streams are taken as recorded: see firstPass.columns
	times  uint64 // a hash of all timestamps, which shows whether the episode has changed when it is read again
}
