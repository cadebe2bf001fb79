package loader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Options say how batches are drawn. Batch must be given.
type Options struct {
	Batch int // B, the windows of a batch of one rank
	Seed  uint64
	// Rank is this program's number among Ranks that share each epoch; Ranks 0 is 1.
	Rank, Ranks int
	// Last says what becomes of the windows at the end of an epoch that fill no batch of all ranks: dropped, or given with rows that hold no window.
	Last  ops.LastBatch
	DType tensor.DType // of the values, where the plan does not say; the store's unless given
	Age   bool         // also gives each target's age: see ops.ResampleArgs
	// Strict makes an episode that the plan cannot take an error; else it is left out and listed in the report.
	Strict bool
}

// Loader draws batches of windows from a store that it keeps on a device. Its methods are for one goroutine at a time.
type Loader struct {
	device *ops.Device
	order  ops.DrawOptions
	parts  []part
	report Report
	held   held

	cursor          *tensor.Tensor
	episodes, ticks *tensor.Tensor // [B]
	anchors         *tensor.Tensor // [B]
	groups          []group
	plans           []*ops.Plan
	queue           *ops.Queue
	graph           *ops.Graph
	numbers         []int   // of the store, by the numbers that Draw has
	windows         []int64 // [E+1], as Draw has them
	batch           Batch
	closed, age     bool
}

// part is a stream of the batches.
type part struct {
	name    string
	columns []dataset.Column
	options ops.ResampleOptions
	how     align.Sampling
	deltas  []int64
	width   int
	dtype   tensor.DType
	affine  *affine
	stats   []ColumnStats

	offsets               []int64
	values, times         *tensor.Tensor // packed, on the host and then on the device
	stamps                *tensor.Tensor // times on the host, while parts are compared
	starts, lengths, ends *tensor.Tensor // on the device
}

// group is a Fuse: streams of the same dtype whose targets are the same, or the same but for a shift that is taken from their clocks.
type group struct {
	parts  []int
	shifts []int64        // of each part, ns: by how much its targets lie behind those of the first
	values *tensor.Tensor // [B,T,sum D]
	valid  *tensor.Tensor // [B,T,M]
	pad    *tensor.Tensor
	age    *tensor.Tensor
}

// held are tensors and plans to close, the last first.
type held []interface{ Close() error }

func (h *held) add(c interface{ Close() error }) { *h = append(*h, c) }

func (h *held) close() error {
	var errs []error
	for _, c := range slices.Backward(*h) {
		errs = append(errs, c.Close())
	}
	*h = nil
	return errors.Join(errs...)
}

// Report says what a loader draws from.
type Report struct {
	Episodes int `json:"episodes"` // that windows are drawn from
	Windows  int `json:"windows"`  // of an epoch
	Batches  int `json:"batches"`  // of an epoch, for every rank
	Dropped  int `json:"dropped"`  // windows that no rank draws in an epoch
	Missing  int `json:"missing"`  // rows of an epoch's last batch that hold no window, of all ranks
	Filtered int `json:"filtered"` // episodes that the plan's filter leaves out
	// Unanchored are the ticks of the episodes without a window, since it would reach too far beyond the end: see align.Plan.Anchors.
	Unanchored int             `json:"ticks_without_window"`
	LeftOut    []LeftOut       `json:"left_out"` // episodes and streams that could not be taken, and why
	Streams    []StreamsReport `json:"streams"`
	Bytes      int             `json:"bytes"` // on the device
}

// StreamsReport is a stream of the batches.
type StreamsReport struct {
	Name    string `json:"name"`
	Columns int    `json:"columns"`
	Targets int    `json:"targets"` // of a window
	Samples int    `json:"samples"`
	DType   string `json:"dtype"`
	Stray   int    `json:"stray_samples"`
	Empty   int    `json:"empty"` // episodes without samples of it
}

// New prepares a loader: it chooses episodes and streams by the plan, puts them on the device, and plans what a batch takes. The plan names its
// streams, or takes all of the store; a stream without a window in it has one target, the anchor. Errors of the plan are those of [align.Prepare].
func New(ctx context.Context, device *ops.Device, store *Store, plan align.Plan, opt Options) (l *Loader, err error) {
	l = &Loader{device: device, order: ops.DrawOptions{
		Rate: plan.Rate, Batch: opt.Batch, Rank: opt.Rank, Ranks: max(opt.Ranks, 1), Last: opt.Last, Shuffle: plan.Shuffle != "none", Seed: opt.Seed, TrustTables: true, Launch: ops.LaunchDependent,
	}, age: opt.Age}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
			l = nil
		}
	}()
	switch {
	case opt.Batch < 1:
		return l, &OptionError{"Batch", fmt.Sprint(opt.Batch), "1 or more"}
	case plan.Targets != nil || plan.Rate == 0:
		return l, &OptionError{"plan.rate", "none", "the rate of the windows' clock"}
	case plan.Shuffle == "shards":
		return l, &OptionError{"plan.shuffle", "shards", "windows or none, of a store on a device"}
	case opt.Rank < 0 || opt.Rank >= l.order.Ranks:
		return l, &OptionError{"Rank", fmt.Sprint(opt.Rank), fmt.Sprintf("0 to %d", l.order.Ranks-1)}
	}
	if len(plan.Streams) == 0 {
		for _, s := range store.Streams {
			plan.Streams = append(plan.Streams, align.Stream{Name: s.Name})
		}
	}
	c := chosen{store: store, plan: plan, opt: &opt, report: &l.report}
	if err := store.Guard(func() error { return c.choose(ctx) }); err != nil {
		return l, err
	}
	l.parts, l.numbers, l.windows = c.parts, c.numbers, c.windows
	l.order.Count = int(c.windows[len(c.windows)-1])
	r := &l.report
	r.Episodes, r.Windows, r.Batches, r.Dropped, r.Missing = len(c.numbers), l.order.Count, l.order.Batches(), l.order.Dropped(), l.order.Missing()
	if r.Batches == 0 {
		return l, &OptionError{"Batch", fmt.Sprintf("%d of each of %d ranks", opt.Batch, l.order.Ranks), fmt.Sprintf("at most the %d windows that there are", r.Windows)}
	}
	if err := store.Guard(func() error { return l.upload(ctx, &c) }); err != nil {
		return l, err
	}
	return l, l.plan(ctx)
}

// upload puts the store on the device.
func (l *Loader) upload(ctx context.Context, c *chosen) error {
	up := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		on, err := l.device.Alloc(t.DType(), t.Shape()...)
		if err != nil {
			return nil, err
		}
		l.held.add(on) // before it is filled, which may end as Guard says
		l.report.Bytes += on.Len() * on.DType().Size()
		return on, l.device.Copy(ctx, on, t)
	}
	ints := func(list []int64) (*tensor.Tensor, error) {
		t, err := tensor.Of(list, len(list))
		if err != nil {
			return nil, err
		}
		return up(t)
	}
	draw := ops.DrawArgs{}
	var errs [6]error
	draw.Windows, errs[0] = ints(c.windows)
	draw.Begins, errs[1] = ints(c.begins)
	draw.Cursor, errs[2] = ints([]int64{0, 0})
	draw.Episodes, errs[3] = ints(make([]int64, l.order.Batch))
	draw.Ticks, errs[4] = ints(make([]int64, l.order.Batch))
	draw.Anchors, errs[5] = ints(make([]int64, l.order.Batch))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	l.cursor, l.episodes, l.ticks, l.anchors = draw.Cursor, draw.Episodes, draw.Ticks, draw.Anchors
	for m := range l.parts {
		p := &l.parts[m]
		var errs [5]error
		p.values, errs[0] = up(p.values)
		if o := l.sameClock(m); o != nil { // as the streams of a table are
			p.times, p.starts, p.lengths = o.times, o.starts, o.lengths
		} else {
			p.stamps = p.times
			p.times, errs[1] = up(p.times)
			p.ends, errs[2] = ints(p.offsets)
			p.starts, errs[3] = ints(make([]int64, l.order.Batch))
			p.lengths, errs[4] = ints(make([]int64, l.order.Batch))
			draw.Streams = append(draw.Streams, ops.DrawStream{Starts: p.starts, Lengths: p.lengths, Offsets: p.ends})
		}
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
	}
	for m := range l.parts {
		l.parts[m].stamps = nil // which may be large
	}
	plan, err := l.device.PlanDraw(draw, l.order)
	if err != nil {
		return err
	}
	l.held.add(plan)
	l.plans = append(l.plans, plan)
	return nil
}

// sameClock returns an earlier part that has a part's timestamps, all of them, or nil.
func (l *Loader) sameClock(m int) *part {
	p := &l.parts[m]
	mine, err := tensor.Data[int64](p.times)
	if err != nil {
		return nil
	}
	for i := range m {
		o := &l.parts[i]
		if o.stamps == nil || !slices.Equal(o.offsets, p.offsets) {
			continue
		}
		if theirs, err := tensor.Data[int64](o.stamps); err == nil && slices.Equal(mine, theirs) {
			return o
		}
	}
	return nil
}

// plan plans what comes after the draw: a Fuse for the streams that share targets and dtype.
func (l *Loader) plan(ctx context.Context) error {
	b := l.order.Batch
	for i := range l.parts {
		p := &l.parts[i]
		at := slices.IndexFunc(l.groups, func(g group) bool {
			q := &l.parts[g.parts[0]]
			_, same := shift(q.deltas, p.deltas)
			return len(g.parts) < ops.MaxStreams && q.dtype == p.dtype && same
		})
		if at < 0 {
			l.groups, at = append(l.groups, group{}), len(l.groups)
		}
		g := &l.groups[at]
		g.parts = append(g.parts, i)
		by, _ := shift(l.parts[g.parts[0]].deltas, p.deltas)
		g.shifts = append(g.shifts, by)
	}
	l.batch = Batch{loader: l, Episodes: l.episodes, Ticks: l.ticks, Anchors: l.anchors, Streams: make([]BatchStream, len(l.parts))}
	for k := range l.groups {
		g := &l.groups[k]
		first := &l.parts[g.parts[0]]
		t, m, width := len(first.deltas), len(g.parts), 0
		var streams []ops.FuseStream
		for j, i := range g.parts {
			p := &l.parts[i]
			s := ops.FuseStream{Src: p.values, SrcTimes: p.times, SrcStarts: p.starts, SrcLengths: p.lengths, Options: p.options}
			s.Offset = p.how.Offset - time.Duration(g.shifts[j])
			if a := p.affine; a != nil {
				s.Shift, s.Scale, s.ClipMin, s.ClipMax = a.shift, a.scale, a.min, a.max
			}
			if p.values.Dim(0) == 0 { // no episode has it
				s.Src, s.SrcTimes, s.SrcStarts, s.SrcLengths, s.Width = nil, nil, nil, nil, p.width
			}
			streams = append(streams, s)
			width += p.width
		}
		deltas, err := tensor.Of(first.deltas, t)
		if err != nil {
			return err
		}
		if deltas, err = l.device.Upload(ctx, deltas); err != nil {
			return err
		}
		l.held.add(deltas)
		for _, o := range []struct {
			to    **tensor.Tensor
			dtype tensor.DType
			shape []int
		}{{&g.values, first.dtype, []int{b, t, width}}, {&g.valid, tensor.U8, []int{b, t, m}}, {&g.pad, tensor.U8, []int{b, t, m}}, {&g.age, tensor.I64, []int{b, t, m}}} {
			if o.to == &g.age && !l.age {
				continue
			}
			if *o.to, err = l.device.Alloc(o.dtype, o.shape...); err != nil {
				return err
			}
			l.held.add(*o.to)
		}
		launch := ops.LaunchDependent // on the draw
		if k > 0 {
			launch = ops.LaunchInputsReady // the group before has waited for the draw, and writes nothing that this one reads
		}
		plan, err := l.device.PlanFuse(ops.FuseArgs{Dst: g.values, Valid: g.valid, Pad: g.pad, Age: g.age, Streams: streams, Targets: ops.Anchored(l.anchors, deltas)}, ops.FuseOptions{TrustTimes: true, Launch: launch})
		if err != nil {
			return err
		}
		l.held.add(plan)
		l.plans = append(l.plans, plan)
		if err := l.batch.views(l, g); err != nil {
			return err
		}
	}
	var err error
	if l.queue, err = l.device.NewQueue(); err != nil {
		return err
	}
	l.held.add(l.queue)
	if l.graph, err = l.Capture(l.queue); err != nil {
		return err
	}
	l.held.add(l.graph)
	return nil
}

// shift returns by how much one list of targets lies behind another, if it is the same for all.
func shift(first, second []int64) (by int64, same bool) {
	if len(first) != len(second) {
		return 0, false
	}
	by = second[0] - first[0]
	for i := range first {
		if second[i]-first[i] != by {
			return 0, false
		}
	}
	return by, true
}

// Capture returns a graph on a queue of the device whose every launch makes the next batch, in the tensors of [Loader.Batch]. The caller closes it before
// the loader. It may be a part of a larger one: the cursor is on the device.
func (l *Loader) Capture(q *ops.Queue) (*ops.Graph, error) {
	return q.Capture(func() error { return l.Run(q) })
}

// Run gives the next batch to a queue of the device: a draw, and a Fuse for each group of streams with the same window and dtype.
func (l *Loader) Run(q *ops.Queue) error {
	for _, p := range l.plans {
		if err := p.Run(q); err != nil {
			return err
		}
	}
	return nil
}

// Batch returns the tensors that each batch is in. They belong to the loader.
func (l *Loader) Batch() *Batch { return &l.batch }

// Batches makes one batch after the other, without end: epoch follows epoch. The batch is in the same tensors each time, so what is to be kept is
// copied before the next. An error ends it.
func (l *Loader) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			if err := l.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&l.batch, nil) {
				return
			}
		}
	}
}

// Epoch makes the batches that the epoch still has from where the loader is.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		state, err := l.State(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		at, epoch := ops.Cursor{Epoch: state.Epoch, Taken: state.Taken}, int64(-1)
		for {
			begin, after := l.order.Next(at)
			if epoch < 0 {
				epoch = begin.Epoch
			}
			if begin.Epoch != epoch {
				return
			}
			if err := l.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&l.batch, nil) {
				return
			}
			at = after
		}
	}
}

// Next makes the next batch, and returns when it is done.
func (l *Loader) Next(ctx context.Context) error {
	if l.closed {
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.graph.Launch(l.queue); err != nil {
		return err
	}
	return l.queue.Synchronize(ctx)
}

// Report says what the loader draws from.
func (l *Loader) Report() Report { return l.report }

// Stats returns the statistics of a stream's columns over the episodes that windows are drawn from; nil if the plan does not normalise it.
func (l *Loader) Stats(stream string) []ColumnStats {
	for i := range l.parts {
		if l.parts[i].name == stream {
			return l.parts[i].stats
		}
	}
	return nil
}

// Close releases what the loader has on the device. Close twice is fine.
func (l *Loader) Close() error {
	l.closed = true
	return l.held.close()
}
