package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Options say how batches are drawn. Batch must be given. The names in JSON are those of the Python package's arguments.
type Options struct {
	Batch int    `json:"batch"` // B, the windows of a batch of one rank
	Seed  uint64 `json:"seed"`
	// Rank is this program's number among Ranks that share each epoch; Ranks 0 is 1.
	Rank  int `json:"rank"`
	Ranks int `json:"world"`
	// Last says what becomes of the windows at the end of an epoch that fill no batch of all ranks: dropped, or given with rows that hold no window.
	Last  ops.LastBatch `json:"last"`
	DType tensor.DType  `json:"dtype"` // of the values, where the plan does not say; the store's unless given
	Age   bool          `json:"age"`   // also gives each target's age: see ops.ResampleArgs
	// Apart gives each stream tensors of its own, which are contiguous; else streams with the same window lie side by side, made by one launch.
	Apart bool `json:"-"`
	// Strict makes an episode that the plan cannot take an error; else it is left out and listed in the report.
	Strict bool `json:"strict"`
	// ShardWindows and MixShards are those of the plan's shuffle "shards", see ops.DrawOptions: how many windows that follow each other make a shard,
	// and how many shards are mixed at a time. Together with seed and epoch they are the order, so who goes on from a state has the same. 4096 and 16
	// unless given.
	ShardWindows int `json:"shard_windows"`
	MixShards    int `json:"mix_shards"`
	// EpochWindows is how many windows an epoch of a weighted mixture draws, see [NewMixture]; as many as there are unless given.
	EpochWindows int `json:"epoch_windows"`
	// Episodes are the numbers, ascending, of the episodes to draw from, of each dataset in its order; all of one that has nil or nothing there.
	Episodes [][]int `json:"episodes"`
	// Statistics are those of other recordings, by stream, which normalise it in place of its own: those that a policy was trained with.
	Statistics map[string]Statistics `json:"-"`
	// Cameras are those whose frames a batch has; none unless given. Frames are decoded meanwhile, so with them the stores of [New] stay open as long as
	// the loader is, too.
	Cameras []Camera `json:"cameras"`
	// Workers is how many goroutines read episodes, and how many decode frames; as many as there are processors unless given.
	Workers int `json:"workers"`
	// FrameCache is how many bytes of decoded frames are kept at most, as large as Cameras have them: of videos, which are decoded in stretches, as
	// to begin is what costs most, and of other frames if all fit. A gigabyte, or an eighth of the memory that there is if that is less, unless given;
	// -1 keeps none.
	FrameCache int64 `json:"frame_cache"`

	frames *frameCache // of the loaders of a group
}

const (
	shardWindows = 4096
	mixShards    = 16
)

// Loader draws batches of windows: from a store that it keeps on a device, see [New], or from a dataset that it reads meanwhile, see [NewStreaming].
// Its methods are for one goroutine at a time.
type Loader struct {
	device *ops.Device
	order  ops.DrawOptions
	parts  []part
	report Report
	held   held

	feed            feed
	filmer          *filmer        // nil without cameras
	episodes, ticks *tensor.Tensor // [B]
	anchors         *tensor.Tensor // [B]
	groups          []group
	plans           []*ops.Plan
	queue           *ops.Queue
	graph           *ops.Graph
	numbers         []int   // of the store, by the numbers that Draw has
	stores          []int   // of each episode, as NewMixture's list has them
	known           []known // of the episodes
	windows         []int64 // [E+1], as Draw has them
	batch           Batch
	closed, age     bool
	apart           bool // streams have tensors of their own
}

// feed is how the rows and anchors of a batch come to be where the Fuses read them: the part in which a loader that keeps its store on the device and
// one that reads it from a disk are not the same.
type feed interface {
	// give gives a queue the work that comes before a batch's Fuses. It is captured.
	give(q *ops.Queue) error
	// next does what the host has to, for the batch behind the last one that was made, before that work runs. It returns the rows that should hold a
	// window and do not.
	next(ctx context.Context) (lost []int, err error)
	// made is told that the batch is.
	made()
	// cursor is the place behind the last batch that was made, and seek goes elsewhere.
	cursor(ctx context.Context) (ops.Cursor, error)
	seek(ctx context.Context, at ops.Cursor) error
	Close() error
}

// part is a stream of the batches.
type part struct {
	name    string
	from    string // its name in the recordings
	column  int    // where its columns begin in the recorded stream's; -1 of a stream that is empty so far
	clock   int    // the first part that has the same timestamps in all episodes
	columns []dataset.Column
	packed  tensor.DType // of the recorded values
	options ops.ResampleOptions
	how     align.Sampling
	deltas  []int64
	width   int
	dtype   tensor.DType
	affine  *affine
	stats   []ColumnStats

	offsets         []int64        // [E+1], of the samples of the episodes one behind the other
	values, times   *tensor.Tensor // packed, on the host and then on the device
	starts, lengths *tensor.Tensor // [B] on the device: the rows of a batch
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

// New prepares a loader that keeps a store on the device: it chooses episodes and streams by the plan, puts them there, and plans what a batch takes.
// The plan names its streams, or takes all of the store; a stream without a window in it has one target, the anchor. Errors of the plan are those of
// [align.Prepare]. An option that cannot be is an *OptionError, a plan that leaves no window an *EmptyError. On the CPU a store that was built lends
// the loader its tensors; of all others it has copies. A store for which the device has not the
// memory is an *ops.MemoryError: see [NewStreaming].
func New(ctx context.Context, device *ops.Device, store *Store, plan align.Plan, opt Options) (*Loader, error) {
	return NewMixture(ctx, device, []Weighted{{Store: store}}, plan, opt)
}

// open makes a loader of checked options. Prepare chooses what it draws from, and gives it a feed and the parts their packed tensors and rows.
func open(ctx context.Context, device *ops.Device, plan align.Plan, opt *Options, prepare func(l *Loader, c *chosen) error) (l *Loader, err error) {
	// A Draw may begin while the last batch's Fuses run: they have waited for the Draw before.
	l = &Loader{device: device, order: ops.DrawOptions{
		Rate: plan.Rate, Batch: opt.Batch, Rank: opt.Rank, Ranks: max(opt.Ranks, 1), Last: opt.Last, Shuffle: plan.Shuffle != "none", Seed: opt.Seed, TrustTables: true, Launch: ops.LaunchInputsReady,
	}, age: opt.Age, apart: opt.Apart}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
			l = nil
		}
	}()
	opt.ShardWindows, opt.MixShards, opt.Workers = cmp.Or(opt.ShardWindows, shardWindows), cmp.Or(opt.MixShards, mixShards), cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	switch {
	case opt.Batch < 1 || opt.Batch > math.MaxInt32:
		return l, refuse("Batch", fmt.Sprint(opt.Batch), "1 to 2^31-1")
	case plan.Targets != nil || plan.Rate == 0:
		return l, refuse("plan.rate", "none", "the rate of the windows' clock")
	case opt.Ranks < 0 || opt.Ranks > math.MaxInt32:
		return l, refuse("Ranks", fmt.Sprint(opt.Ranks), "1 to 2^31-1, or 0 for 1")
	case !opt.Last.Valid():
		return l, refuse("Last", opt.Last.String(), fmt.Sprintf("one of %v", opt.Last.Names()))
	case opt.Rank < 0 || opt.Rank >= l.order.Ranks:
		return l, refuse("Rank", fmt.Sprint(opt.Rank), fmt.Sprintf("0 to %d", l.order.Ranks-1))
	case opt.ShardWindows < 1:
		return l, refuse("ShardWindows", fmt.Sprint(opt.ShardWindows), "1 or more")
	case opt.MixShards < 1:
		return l, refuse("MixShards", fmt.Sprint(opt.MixShards), "1 or more")
	case opt.Workers < 1:
		return l, refuse("Workers", fmt.Sprint(opt.Workers), "1 or more")
	case opt.FrameCache < -1:
		return l, refuse("FrameCache", fmt.Sprint(opt.FrameCache), "1 byte or more, 0 for a gigabyte or less, -1 for none")
	}
	if plan.Shuffle == "shards" {
		l.order.ShardWindows, l.order.MixShards = opt.ShardWindows, opt.MixShards
		l.report.ShardWindows, l.report.MixShards = opt.ShardWindows, opt.MixShards
	}
	c := &chosen{plan: plan, opt: opt, report: &l.report}
	if len(opt.Cameras) > 0 {
		if err := c.shooting(l); err != nil {
			return l, err
		}
	}
	if err := prepare(l, c); err != nil {
		return l, err
	}
	l.held.add(l.feed)
	if err := l.plan(ctx); err != nil || c.filming == nil {
		return l, err
	}
	return l, newFilmer(ctx, l, c)
}

// named is a plan that names its streams: those of the list, if it names none.
func named(plan align.Plan, names []string) align.Plan {
	if len(plan.Streams) == 0 {
		for _, name := range names {
			plan.Streams = append(plan.Streams, align.Stream{Name: name})
		}
	}
	return plan
}

// hold keeps a tensor on the device until the loader closes.
func (l *Loader) hold(t *tensor.Tensor) {
	l.held.add(t)
	l.report.Bytes += t.Len() * t.DType().Size()
}

// choose chooses by the plan what windows there are.
func (l *Loader) choose(ctx context.Context, c *chosen) error {
	if err := c.choose(ctx); err != nil {
		return err
	}
	l.parts, l.numbers, l.known, l.windows = c.parts, c.numbers, c.known, c.windows
	l.order.Count = int(c.windows[len(c.windows)-1])
	return nil
}

// count counts what an epoch has, once it is known how windows are drawn.
func (l *Loader) count() error {
	r := &l.report
	r.Episodes, r.Windows, r.Batches, r.Dropped, r.Missing = len(l.numbers), cmp.Or(l.order.Positions, l.order.Count), l.order.Batches(), l.order.Dropped(), l.order.Missing()
	if r.Batches == 0 {
		return refuse("Batch", fmt.Sprintf("%d of each of %d ranks", l.order.Batch, l.order.Ranks), fmt.Sprintf("at most the %d windows that there are", r.Windows))
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
			return !l.apart && len(g.parts) < ops.MaxStreams && q.dtype == p.dtype && same
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
		l.hold(deltas)
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
			l.hold(*o.to)
		}
		launch := ops.LaunchDependent // on the draw
		switch {
		case k > 0:
			launch = ops.LaunchInputsReady // the group before has waited for the draw, and writes nothing that this one reads
		case l.report.Streaming != nil:
			launch = ops.LaunchDefault // behind a copy
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
	if l.graph, err = l.queue.Capture(func() error { return l.run(l.queue) }); err != nil {
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

// Capture returns a graph on a queue of the device whose every launch makes the next batch, in the tensors of [Loader.Batch]. The caller closes it
// before the loader. It may be a part of a larger one: the cursor is on the device. Of a loader that reads meanwhile, or has cameras, it is a
// *StreamingError.
func (l *Loader) Capture(q *ops.Queue) (*ops.Graph, error) {
	if l.report.Streaming != nil || l.filmer != nil {
		return nil, &StreamingError{"Capture"}
	}
	return q.Capture(func() error { return l.run(q) })
}

// Run gives the next batch to a queue of the device: a draw, and a Fuse for each group of streams with the same window and dtype. Of a loader that
// reads meanwhile, or has cameras, it is a *StreamingError.
func (l *Loader) Run(q *ops.Queue) error {
	if l.report.Streaming != nil || l.filmer != nil {
		return &StreamingError{"Run"}
	}
	return l.run(q)
}

func (l *Loader) run(q *ops.Queue) error {
	if err := l.feed.give(q); err != nil {
		return err
	}
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

// Next makes the next batch, and returns when it is done. After an error that the context has ended, nothing is lost: the batch is the next one
// still. What a device has begun is waited for, as long as it takes. Other errors come again, until [Loader.Resume]: of an episode or a frame that
// cannot be read, with Options.Strict, and of a device. After Close it is dataset.ErrClosed.
func (l *Loader) Next(ctx context.Context) error {
	if l.closed {
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var s *shot
	if l.filmer != nil {
		var err error
		if s, err = l.filmer.next(ctx, l.feed); err != nil {
			return err
		}
	}
	lost, err := l.feed.next(ctx)
	if err != nil {
		return err
	}
	if err := l.make(s, lost); err != nil {
		if l.filmer != nil {
			l.filmer.stop() // and begins anew, where the feed is
		}
		return err
	}
	l.feed.made()
	if l.filmer != nil {
		l.filmer.made()
	}
	return nil
}

// make makes a batch on the device, with the frames of a shot if there is one. It is not given up: nobody would know whether it was made.
func (l *Loader) make(s *shot, lost []int) error {
	ctx := context.Background()
	if s != nil {
		if err := s.lose(lost); err != nil {
			return err
		}
		if err := l.give(ctx, s); err != nil {
			return err
		}
	}
	if err := l.graph.Launch(l.queue); err != nil {
		return err
	}
	return l.queue.Synchronize(ctx)
}

// Close releases what the loader has on the device. Close twice is fine.
func (l *Loader) Close() error {
	l.closed = true
	return l.held.close()
}
