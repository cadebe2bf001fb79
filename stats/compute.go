package stats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

// Options select the data. The zero value takes all samples of all streams, as recorded.
type Options struct {
	// Plan selects streams, columns and episodes, as in a loader, but the samples are not resampled. Nil takes all.
	Plan *align.Plan
	// Streams are the names of the streams to take, by their names in the plan if there is one; nil for all.
	Streams []string
	// Quantiles are shares from 0 to 1. Nil means [Quantiles]; an empty list means none, which saves passes over the data.
	Quantiles []float64
	// Shard and Shards divide the work: episode number n belongs to shard n mod Shards. Shards 0 takes all.
	Shard, Shards int
	// Workers is the number of goroutines that read and add; 0 means one per processor. The result does not depend on it.
	Workers int
	// Binned also computes the quantiles as LeRobot does, as Column.Binned.
	Binned bool
	// Strict makes an episode that cannot be read an error. Otherwise the episode is listed in Report.Skipped.
	Strict bool
	// Progress is called after each episode with the pass, from 1, and the number of finished episodes.
	Progress func(pass, done, of int)
}

// Compute returns the statistics of a dataset, after as many passes over it as they need.
func Compute(ctx context.Context, d dataset.Dataset, opt Options) (*Report, error) {
	s, err := Begin(d, opt)
	if err != nil {
		return nil, err
	}
	for more := true; more; {
		if err := s.Pass(ctx, d, opt); err != nil {
			return nil, err
		}
		if more, err = s.Next(); err != nil {
			return nil, err
		}
	}
	return s.Report(), nil
}

// Begin returns the state before the first pass.
func Begin(d dataset.Dataset, opt Options) (*State, error) {
	quantiles := opt.Quantiles
	if quantiles == nil {
		quantiles = Quantiles
	}
	if _, err := NewAccumulator(0, tensor.F32, quantiles); err != nil {
		return nil, err
	}
	return &State{about: about{Dataset: d.Name(), Format: d.Format(), Episodes: d.Len(), Quantiles: quantiles, Selection: selection(d, &opt), Streams: opt.Streams}}, nil
}

// selection returns a text that identifies the selected episodes, streams and columns. States with different texts must not be
// merged.
func selection(d dataset.Dataset, opt *Options) string {
	var b strings.Builder
	if some := dataset.Selected(d); some != nil {
		fmt.Fprintf(&b, "episodes %s\n", some)
	}
	if p := opt.Plan; p != nil {
		for _, s := range p.Streams {
			fmt.Fprintf(&b, "%q %q %q\n", s.Name, s.From, s.Columns)
		}
		fmt.Fprintf(&b, "%q %q\n", p.Filter.Split, p.Filter.Task)
		if p.Filter.Success != nil {
			fmt.Fprintln(&b, *p.Filter.Success)
		}
	}
	fmt.Fprintf(&b, "%q", opt.Streams)
	return b.String()
}

// piece has the values of one stream in one episode.
type piece struct {
	name    string
	columns []string
	values  *tensor.Tensor
}

// keptBytes limits the memory for values that are kept from the first pass for later ones, so that a small dataset is read only once.
const keptBytes = 256 << 20

// pass has the inputs of a pass over a dataset.
type pass struct {
	state    *State
	from     dataset.Dataset
	info     *dataset.Info
	splits   [][]string // split names for each episode
	opt      *Options
	preparer align.Preparer
	workers  int // goroutines for each episode's values
}

// done is the result of reading one episode.
type done struct {
	name     string
	filtered bool
	notes    dataset.Notes
	pieces   []piece
	err      error
}

// Pass adds the episodes in the options' shard to the current pass. All passes need the same options. A state from [Read] continues
// with its next pass.
func (s *State) Pass(ctx context.Context, d dataset.Dataset, opt Options) error {
	if err := s.begin(d, &opt); err != nil {
		return err
	}
	workers := cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	var list []int
	info := d.Info()
	for i := range d.Len() {
		if opt.Shards == 0 || info.Number(i)%opt.Shards == opt.Shard {
			list = append(list, i)
		}
	}
	p := &pass{state: s, from: d, info: &info, splits: info.SplitsOf(d.Len()), opt: &opt, workers: max(1, workers/max(1, len(list)))}
	if opt.Plan != nil {
		p.preparer.Plan = *opt.Plan
	}
	first, room := s.number == 0, keptBytes
	var failed error
	for k, r := range inorder.Each(ctx, len(list), workers, workers, func(done) int { return workers }, func(ctx context.Context, k int) done { return p.episode(ctx, list[k]) }) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		number := info.Number(list[k])
		var changed *streamError
		switch {
		case r.err == nil:
		case opt.Strict || !first || errors.As(r.err, &changed) || dataset.IsFatal(r.err):
			return &dataset.EpisodeError{Episode: number, Err: r.err}
		default:
			failed = cmp.Or(failed, r.err)
		}
		if first {
			s.count(number, &r)
			if room > 0 && len(list) == d.Len() {
				room = s.keep(number, r.pieces, room)
			}
		}
		if opt.Progress != nil {
			opt.Progress(s.number+1, k+1, len(list))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if first && failed != nil && s.Read == 0 && s.Filtered == 0 {
		return failed
	}
	return nil
}

// streamError is an error about a stream with values that do not fit a state.
type streamError struct {
	Stream string
	Err    error
}

func (e *streamError) Error() string { return fmt.Sprintf("stream %s: %v", e.Stream, e.Err) }
func (e *streamError) Unwrap() error { return e.Err }

// episode reads the episode at index i and adds its values. If the values were kept from the first pass, it adds those instead. An
// episode that was unreadable in the first pass is skipped.
func (p *pass) episode(ctx context.Context, i int) (r done) {
	number := p.info.Number(i)
	if kept := p.state.keptOf(number); kept != nil {
		return done{err: p.add(number, kept)}
	}
	if p.state.number > 0 && p.state.skipped(number) {
		return r
	}
	e, err := p.from.Episode(ctx, i)
	if err != nil {
		return done{name: strconv.Itoa(number), err: err}
	}
	r.name, r.notes = e.Name, e.Notes
	if r.filtered = !p.passes(i, e); r.filtered {
		return r
	}
	if r.pieces, r.err = p.pieces(e); r.err == nil {
		r.err = p.add(number, r.pieces)
	}
	return r
}

// passes reports whether the plan's filter accepts an episode. It is true without a plan.
func (p *pass) passes(i int, e *dataset.Episode) bool {
	return p.opt.Plan == nil || p.opt.Plan.Filter.Refuses(p.splits[i], e.Attributes.Task, e.Attributes.Success) == dataset.NoField
}

// pieces returns the selected streams of an episode that have samples.
func (p *pass) pieces(e *dataset.Episode) (list []piece, err error) {
	take := func(s *dataset.Stream) {
		switch {
		case p.opt.Streams != nil && !slices.Contains(p.opt.Streams, s.Name):
			p.state.passedOver(s.Name)
		case s.Values != nil && s.Values.Rank() == 2:
			list = append(list, piece{s.Name, s.ColumnNames(), s.Values})
		}
	}
	if p.opt.Plan == nil {
		for i := range e.Streams {
			take(&e.Streams[i])
		}
		return list, nil
	}
	prepared, err := p.preparer.Prepare(e)
	if err != nil {
		return nil, err
	}
	for i := range prepared.Streams {
		take(&prepared.Streams[i].Stream)
	}
	return list, nil
}

func (p *pass) add(number int, pieces []piece) error {
	for at, piece := range pieces {
		s, err := p.state.stream(number, at, &piece)
		if err == nil {
			err = s.acc.add(piece.values, p.workers)
		}
		if err == nil && p.opt.Binned && p.state.number == 0 {
			err = p.state.bin(s, piece.values)
		}
		if err != nil {
			return &streamError{piece.name, err}
		}
	}
	return nil
}
