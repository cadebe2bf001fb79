package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// NewStreaming prepares a loader that streams: it keeps the present batches' shards on the device, and the next ones. It is for
// datasets that do not fit the device. The dataset may be a store, or recordings, which each worker packs in float32 as [store.Build]
// does. The caller closes the dataset after the loader.
//
// The order is the plan's shuffle "shards", with Options.ShardWindows and MixShards, or "none". Windows, batches and states equal those
// of [New] with the same plan and options, to the bit. NewStreaming first reads every episode once, for its windows and the statistics.
// Recordings are read once more before that if the plan names no streams. Later an episode may be unreadable, or changed. That is an
// error of Next with Options.Strict. Else its rows have no window, and Report.Streaming.Unread counts them.
//
// The device holds two groups of MixShards shards, with room for the largest shard in each slot. If it has too little memory, the error
// is a *RoomError. A batch of all ranks must not be larger than a group. Whole episodes are read, so shards should be several times as
// long as episodes.
func NewStreaming(ctx context.Context, device *ops.Device, d dataset.Dataset, plan align.Plan, opt Options) (*Loader, error) {
	switch plan.Shuffle {
	case "":
		plan.Shuffle = "shards"
	case "windows":
		return nil, refuse("plan.shuffle", plan.Shuffle, "shards or none: windows shuffled all at once need the whole store on the device")
	}
	if d == nil {
		return nil, refuse("dataset", "none", "one that is open")
	}
	if err := opt.checkEpisodes(1); err != nil {
		return nil, err
	}
	if len(opt.EpisodeWeights) > 0 {
		return nil, refuse("EpisodeWeights", "them for a dataset that is streamed", "one that is on the device")
	}
	if opt.EpochWindows != 0 {
		return nil, refuse("EpochWindows", fmt.Sprint(opt.EpochWindows), "0 of one dataset")
	}
	return open(ctx, device, plan, &opt, func(l *Loader, c *selection) error {
		var from interface {
			episodes
			Names() []string
		}
		if s := store.Of(d); s != nil {
			from = s
			if len(opt.Episodes) > 0 {
				if err := s.CheckEpisodes(opt.Episodes[0]); err != nil {
					return err
				}
			}
		} else {
			var sources []string
			for _, s := range c.plan.Streams {
				sources = append(sources, s.Source())
			}
			u, err := unpack(ctx, d, sources, store.BuildOptions{Columns: store.Columns(c.plan.Streams), Double: Doubles(&c.plan, &opt), Workers: 1}, &opt)
			if err != nil {
				return err
			}
			from = u
		}
		c.from, c.plan = from, withStreams(c.plan, from.Names())
		if err := l.choose(ctx, c); err != nil {
			return err
		}
		if err := l.count(); err != nil {
			return err
		}
		if err := statistics(l.parts, opt.Statistics, func(visit visitor) error { return c.pass(ctx, visit) }); err != nil {
			return err
		}
		return l.stream(ctx, c)
	})
}

// stream makes the streaming feed: it chooses the shards, allocates their slots, and returns a *RoomError if the device has too little
// memory.
func (l *Loader) stream(ctx context.Context, c *selection) error {
	s := &streamer{device: l.device, order: l.order, selection: c, report: &l.report, unread: map[int]bool{}}
	s.shards = s.cut(int64(c.opt.ShardWindows), int64(c.opt.MixShards))
	if step := int64(l.order.Batch) * int64(l.order.Ranks); s.shards.span < min(step, int64(l.order.Count)) {
		return refuse("MixShards", fmt.Sprintf("%d of %d windows", c.opt.MixShards, c.opt.ShardWindows), fmt.Sprintf("at least the %d windows in a batch of all ranks together", step))
	}
	slots := int(2 * s.shards.mix)
	s.rooms = s.capacities(s.shards.windows)
	r := &Streaming{Slots: slots, Workers: min(c.opt.Workers, slots)}
	l.report.Streaming = r
	r.SlotBytes = s.bytes(s.rooms)
	for m := range l.parts {
		if l.parts[m].clock == m {
			s.clocks = append(s.clocks, m)
		}
	}
	s.films = l.films
	err := s.tables(ctx, l)
	if err != nil {
		return err
	}
	s.window, s.slot = make([]int64, l.order.Batch), make([]int64, l.order.Batch)
	var room closers
	s.slots, err = s.targets(slots, l.device.Alloc, func(t *tensor.Tensor) {
		room.add(t)
		l.report.Bytes += t.Len() * t.DType().Size()
	})
	if err != nil {
		if failed := room.close(); failed != nil { // the slots that were allocated count as room
			return errors.Join(err, failed)
		}
		return s.noRoom(err)
	}
	l.closers = append(l.closers, room...)
	for m := range l.parts {
		p := &l.parts[m]
		p.values, p.times = s.slots[m].Values, s.slots[p.clock].Times
	}
	for range r.Workers {
		q, err := l.device.NewQueue()
		if err != nil {
			return err
		}
		l.closers.add(q)
		s.queues = append(s.queues, q)
		if s.tableOn.OnHost() {
			continue
		}
		staged, err := s.targets(1, l.device.AllocHost, func(t *tensor.Tensor) {
			l.closers.add(t)
			r.Pinned += t.Len() * t.DType().Size()
		})
		if err != nil {
			return err
		}
		s.staging = append(s.staging, staged)
	}
	l.feed = s
	return nil
}

// targets allocates each part's tensors for some slots.
func (s *streamer) targets(slots int, alloc func(tensor.DType, ...int) (*tensor.Tensor, error), hold func(*tensor.Tensor)) ([]store.Samples, error) {
	list := make([]store.Samples, len(s.rooms))
	for m := range list {
		p, t := &s.selection.parts[m], &list[m]
		var err error
		if t.Values, err = alloc(p.packed, slots*s.rooms[m], p.width); err != nil {
			return nil, err
		}
		hold(t.Values)
		if p.clock != m {
			continue
		}
		if t.Times, err = alloc(tensor.I64, slots*s.rooms[m]); err != nil {
			return nil, err
		}
		hold(t.Times)
	}
	return list, nil
}

// tables allocates the tables for a batch's rows.
func (s *streamer) tables(ctx context.Context, l *Loader) error {
	b, n := l.order.Batch, 3+2*(len(s.clocks)+len(s.films))
	if l.hasRandom() {
		n += 2
	}
	var err error
	if s.tableOn, err = l.alloc(tensor.I64, n, b); err != nil {
		return err
	}
	if s.table = s.tableOn; !s.table.OnHost() {
		if s.table, err = l.device.AllocHost(tensor.I64, n, b); err != nil {
			return err
		}
		l.closers.add(s.table)
	}
	list, err := tensor.Data[int64](s.table)
	if err != nil {
		return err
	}
	row := func(i int) *tensor.Tensor {
		t, failed := s.tableOn.AsStrided([]int{b}, []int{1}, i*b)
		err = errors.Join(err, failed)
		return t
	}
	for i := range n {
		s.rows = append(s.rows, list[i*b:(i+1)*b])
	}
	l.episodes, l.ticks, l.anchors = row(0), row(1), row(2)
	for i, m := range s.clocks {
		l.parts[m].starts, l.parts[m].lengths = row(3+2*i), row(4+2*i)
	}
	for m := range l.parts {
		p := &l.parts[m]
		p.starts, p.lengths = l.parts[p.clock].starts, l.parts[p.clock].lengths
	}
	for i, m := range s.films {
		p, at := &m.places, 3+2*(len(s.clocks)+i)
		p.starts, p.lengths = row(at), row(at+1)
		for _, t := range []**tensor.Tensor{&p.values, &p.times} {
			var failed error
			if *t, failed = l.hold(l.device.Upload(ctx, *t)); failed != nil {
				return failed
			}
		}
	}
	if l.hasRandom() {
		var failed error
		l.keys, failed = s.tableOn.AsStrided([]int{b, 2}, []int{2, 1}, (n-2)*b)
		s.keys, err = list[(n-2)*b:], errors.Join(err, failed)
	}
	return err
}

// noRoom returns a *RoomError, with shards that would fit, for an *ops.MemoryError. All other errors stay.
func (s *streamer) noRoom(err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	e := &RoomError{ShardWindows: s.selection.opt.ShardWindows, MixShards: s.selection.opt.MixShards, Err: err}
	need := func(c sharding) int { return int(2*c.mix) * s.bytes(s.capacities(c.windows)) }
	e.Bytes = need(s.shards)
	step := int64(s.order.Batch) * int64(max(s.order.Ranks, 1))
	for w, k := int64(e.ShardWindows), int64(e.MixShards); w > 0 && e.FitMix == 0; {
		if k > 1 {
			k /= 2
		} else {
			w /= 2
		}
		if c := s.cut(max(w, 1), k); w > 0 && c.span >= min(step, int64(s.order.Count)) && s.hasRoom(need(c)) {
			e.FitWindows, e.FitMix = int(w), int(k)
		}
	}
	return e
}

// hasRoom reports whether the device can allocate the bytes.
func (s *streamer) hasRoom(bytes int) bool {
	if s.tableOn.OnHost() {
		return int64(bytes) <= tensor.Available()
	}
	t, err := s.device.Alloc(tensor.U8, bytes)
	return err == nil && t.Close() == nil
}
