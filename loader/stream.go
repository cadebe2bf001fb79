package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// StreamingError says that a loader which reads or decodes meanwhile cannot do what needs the device alone: the host has to be done before windows
// are drawn.
type StreamingError struct{ Op string }

func (e *StreamingError) Error() string {
	return fmt.Sprintf("loader: %s: got a loader that reads shards or decodes frames meanwhile, on the host, want Next, or a store that is kept on the device, without cameras", e.Op)
}

// Unwrap returns dataset.ErrUnsupported.
func (e *StreamingError) Unwrap() error { return dataset.ErrUnsupported }

// RoomError says that the device has not the memory for the slots. Fewer shards mixed at a time, or smaller ones, need less: the greatest MixShards
// of these ShardWindows, halved and halved again, for which there is the room, or the greatest ShardWindows of one; 0 if there is for neither.
type RoomError struct {
	ShardWindows, MixShards int
	Bytes                   int // of all slots
	FitWindows, FitMix      int // for which there is the room
	Err                     error
}

func (e *RoomError) Error() string {
	want := "a device with more memory, or shorter episodes"
	if e.FitMix > 0 {
		want = fmt.Sprintf("%d mixed of %d windows", e.FitMix, e.FitWindows)
	}
	return fmt.Sprintf("loader: no room on the device for the slots of two groups of %d shards of %d windows, %d bytes: want %s: %v", e.MixShards, e.ShardWindows, e.Bytes, want, e.Err)
}

// Unwrap returns the device's own error, an *ops.MemoryError.
func (e *RoomError) Unwrap() error { return e.Err }

// streamer is the feed of a dataset that is read meanwhile. Workers read the shards of a group into its slots while the group before is drawn from.
type streamer struct {
	device *ops.Device
	order  ops.DrawOptions
	chosen *chosen
	shards sharding
	clocks []int        // the parts that have timestamps of their own
	rooms  []int        // the rows of each part that a slot has
	slots  []target     // of each part
	queues []*ops.Queue // of each worker
	staged [][]target   // of each worker, from which its shards are copied; nil where the slots are on the host

	table, tableOn *tensor.Tensor // [3+2C,B]: episodes, ticks, anchors, and of each clock starts and lengths, on the host and on the device
	rows           [][]int64      // of the table
	window, slot   []int64        // [B]

	at, after ops.Cursor // behind the last batch that was made, and behind the one that is
	lost      []int      // rows without a window of the batch that is made, since their episodes could not be read again
	reading   *reading   // nil until it begins

	mu     sync.Mutex
	report *Report
	unread map[int]bool // episodes that could not be read again
	waits  struct{ shards, slots, reading, bytes, read atomic.Int64 }
}

// sharding is how an epoch is cut.
type sharding struct{ windows, mix, span int64 }

// target is where the samples of a part go: [rows,D] and [rows], of a part with another's timestamps values alone.
type target struct{ values, times *tensor.Tensor }

// NewStreaming prepares a loader that reads meanwhile: what it keeps on the device is not the whole dataset but the shards that batches are drawn
// from, and those that come next. It is for what does not fit the device. The dataset may be a store, or recordings, which each worker packs as
// [Build] does, in float32. It stays open as long as the loader is, and is not closed by it.
//
// The order is the plan's shuffle "shards", with Options.ShardWindows and MixShards, or "none". Windows, batches and states are those of a loader
// that [New] makes with the same plan and options, to the bit. First every episode is read once, for the windows that it has, and the statistics if
// there is something to normalise; recordings without a plan that names its streams once more before that, for their names. An episode that cannot be
// read, or is not as it was, when its shard is, is an error of Next with Options.Strict; else its rows are given without a window, and counted:
// Report.Streaming.Unread.
//
// There is room for two groups of MixShards shards, each as large as the largest: a *RoomError says that there is not. A batch of all ranks must not
// be larger than a group. Whole episodes are read, so shards should be several times as long as episodes.
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
	if len(opt.Episodes) > 1 {
		return nil, refuse("Episodes", fmt.Sprintf("those of %d datasets", len(opt.Episodes)), "of one")
	}
	if opt.EpochWindows != 0 {
		return nil, refuse("EpochWindows", fmt.Sprint(opt.EpochWindows), "0 of one dataset")
	}
	return open(ctx, device, plan, &opt, func(l *Loader, c *chosen) error {
		var from interface {
			episodes
			names() []string
		}
		store := func(s *Store) error {
			from = s
			if len(opt.Episodes) == 0 {
				return nil
			}
			return s.checkEpisodes(opt.Episodes[0])
		}
		switch d := d.(type) {
		case *Store:
			if err := store(d); err != nil {
				return err
			}
		case detached:
			if err := store(d.Store); err != nil {
				return err
			}
		default:
			var sources []string
			for _, s := range c.plan.Streams {
				sources = append(sources, cmp.Or(s.From, s.Name))
			}
			u, err := unpack(ctx, d, sources, Columns(c.plan.Streams), &opt)
			if err != nil {
				return err
			}
			from = u
		}
		c.from, c.plan = from, named(c.plan, from.names())
		if err := l.choose(ctx, c); err != nil {
			return err
		}
		if err := l.count(); err != nil {
			return err
		}
		if err := statistics(l.parts, opt.Statistics, func(visit visitor) error { return c.pass(ctx, visit) }); err != nil {
			return err
		}
		return l.stream(c)
	})
}

// stream makes the feed.
func (l *Loader) stream(c *chosen) error {
	s := &streamer{device: l.device, order: l.order, chosen: c, report: &l.report, unread: map[int]bool{}}
	s.shards = s.cut(int64(c.opt.ShardWindows), int64(c.opt.MixShards))
	if step := int64(l.order.Batch) * int64(l.order.Ranks); s.shards.span < min(step, int64(l.order.Count)) {
		return refuse("MixShards", fmt.Sprintf("%d of %d windows", c.opt.MixShards, c.opt.ShardWindows), fmt.Sprintf("at least the %d windows of a batch of all ranks together", step))
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
	err := s.tables(l)
	if err != nil {
		return err
	}
	s.window, s.slot = make([]int64, l.order.Batch), make([]int64, l.order.Batch)
	var room held
	s.slots, err = s.targets(slots, l.device.Alloc, func(t *tensor.Tensor) {
		room.add(t)
		l.report.Bytes += t.Len() * t.DType().Size()
	})
	if err != nil {
		if failed := room.close(); failed != nil { // what it had got counts as room
			return errors.Join(err, failed)
		}
		return s.noRoom(err)
	}
	l.held = append(l.held, room...)
	for m := range l.parts {
		p := &l.parts[m]
		p.values, p.times = s.slots[m].values, s.slots[p.clock].times
	}
	for range r.Workers {
		q, err := l.device.NewQueue()
		if err != nil {
			return err
		}
		l.held.add(q)
		s.queues = append(s.queues, q)
		if s.tableOn.OnHost() {
			continue
		}
		staged, err := s.targets(1, l.device.AllocHost, func(t *tensor.Tensor) {
			l.held.add(t)
			r.Pinned += t.Len() * t.DType().Size()
		})
		if err != nil {
			return err
		}
		s.staged = append(s.staged, staged)
	}
	l.feed = s
	return nil
}

// cut is how an epoch is cut into shards of so many windows, so many mixed at a time: no larger and no more than there are.
func (s *streamer) cut(windows, mix int64) sharding {
	n := int64(s.order.Count)
	w := min(windows, n)
	k := min(mix, (n-1)/w+1)
	return sharding{w, k, k * w}
}

// targets makes the tensors of each part for so many slots.
func (s *streamer) targets(slots int, alloc func(tensor.DType, ...int) (*tensor.Tensor, error), hold func(*tensor.Tensor)) ([]target, error) {
	list := make([]target, len(s.rooms))
	for m := range list {
		p, t := &s.chosen.parts[m], &list[m]
		var err error
		if t.values, err = alloc(p.packed, slots*s.rooms[m], p.width); err != nil {
			return nil, err
		}
		hold(t.values)
		if p.clock != m {
			continue
		}
		if t.times, err = alloc(tensor.I64, slots*s.rooms[m]); err != nil {
			return nil, err
		}
		hold(t.times)
	}
	return list, nil
}

// tables makes the tables of a batch's rows.
func (s *streamer) tables(l *Loader) error {
	b, n := l.order.Batch, 3+2*len(s.clocks)
	var err error
	if s.tableOn, err = l.device.Alloc(tensor.I64, n, b); err != nil {
		return err
	}
	l.hold(s.tableOn)
	if s.table = s.tableOn; !s.table.OnHost() {
		if s.table, err = l.device.AllocHost(tensor.I64, n, b); err != nil {
			return err
		}
		l.held.add(s.table)
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
	return err
}

// size is the bytes of a row of a part, with its timestamp where that is its own.
func (s *streamer) size(m int) int {
	p := &s.chosen.parts[m]
	n := p.width * p.packed.Size()
	if p.clock == m {
		n += tensor.I64.Size()
	}
	return n
}

// bytes is what so many rows of each part need.
func (s *streamer) bytes(rows []int) (n int) {
	for m, count := range rows {
		n += count * s.size(m)
	}
	return n
}

// noRoom says what there would be room for.
func (s *streamer) noRoom(err error) error {
	var memory *ops.MemoryError
	if !errors.As(err, &memory) {
		return err
	}
	e := &RoomError{ShardWindows: s.chosen.opt.ShardWindows, MixShards: s.chosen.opt.MixShards, Err: err}
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

// hasRoom reports whether the device has so much memory.
func (s *streamer) hasRoom(bytes int) bool {
	if s.tableOn.OnHost() {
		return int64(bytes) <= tensor.Available()
	}
	t, err := s.device.Alloc(tensor.U8, bytes)
	return err == nil && t.Close() == nil
}

// next implements feed.
func (s *streamer) next(ctx context.Context) ([]int, error) {
	var begin ops.Cursor
	begin, s.after = s.order.Next(s.at)
	if s.reading == nil {
		s.start(begin)
	}
	var open [2]*mixed // the groups that the batch is of
	first := begin.Taken / s.shards.span
	for g := first; g <= (s.after.Taken-1)/s.shards.span; g++ {
		var err error
		if open[g-first], err = s.reading.group(ctx, begin.Epoch, g); err != nil {
			return nil, err
		}
	}
	s.fill(begin, first, &open)
	return s.lost, nil
}

// give implements feed: it copies the table to the device.
func (s *streamer) give(q *ops.Queue) error {
	if s.table == s.tableOn {
		return nil
	}
	return q.Copy(s.tableOn, s.table)
}

// fillRows are how many rows of a table are worth a goroutine: at 100 ns each.
const fillRows = 512

// fill writes the table of a batch.
func (s *streamer) fill(begin ops.Cursor, first int64, open *[2]*mixed) {
	if len(s.window) <= fillRows {
		s.fillPart(begin, first, open, 0) // which allocates nothing
	} else {
		s.fillParts(begin, first, *open)
	}
	s.lost = s.lost[:0]
	for i, e := range s.rows[0] {
		if e < 0 && s.window[i] >= 0 {
			s.lost = append(s.lost, i)
		}
	}
}

// fillParts writes the rows by several goroutines.
func (s *streamer) fillParts(begin ops.Cursor, first int64, open [2]*mixed) {
	var parts sync.WaitGroup
	for from := 0; from < len(s.window); from += fillRows {
		parts.Go(func() { s.fillPart(begin, first, &open, from) })
	}
	parts.Wait()
}

// fillPart writes the rows of one of them.
func (s *streamer) fillPart(begin ops.Cursor, first int64, open *[2]*mixed, from int) {
	to := min(from+fillRows, len(s.window))
	s.order.Rows(begin, from, s.window[from:to], s.slot[from:to])
	c := s.chosen
	for i := from; i < to; i++ {
		w := s.window[i]
		e, tick, anchor := int64(-1), int64(-1), int64(0)
		var sl *slot
		if w >= 0 {
			if !s.order.Shuffle {
				s.slot[i] = w / s.shards.windows
			}
			sl = &open[s.slot[i]/s.shards.mix-first].slots[s.slot[i]%s.shards.mix]
			e = int64(s.episodeOf(w))
			if tick = w - c.windows[e]; slices.Contains(sl.unread, int(e)) {
				e, tick, sl = -1, -1, nil // and is lost
			} else {
				anchor = ops.Clock{Start: c.begins[e], Rate: s.order.Rate}.Tick(int(tick))
			}
		}
		s.rows[0][i], s.rows[1][i], s.rows[2][i] = e, tick, anchor
		for k, m := range s.clocks {
			start, length := int64(0), int64(0)
			if sl != nil {
				offsets := c.parts[m].offsets
				start = int64(sl.place*s.rooms[m]) + distance(offsets, int64(sl.first), e)
				length = offsets[e+1] - offsets[e]
			}
			s.rows[3+2*k][i], s.rows[4+2*k][i] = start, length
		}
	}
}

// episodeOf returns the episode of a window.
func (s *streamer) episodeOf(w int64) int {
	return sort.Search(len(s.chosen.numbers), func(e int) bool { return s.chosen.windows[e+1] > w })
}

// distance is how many samples lie between the beginnings of two episodes, where the first comes behind the last.
func distance(offsets []int64, from, to int64) int64 {
	if to < from {
		return offsets[len(offsets)-1] - offsets[from] + offsets[to]
	}
	return offsets[to] - offsets[from]
}

// made implements feed.
func (s *streamer) made() {
	s.at = s.after
	s.mu.Lock()
	s.report.Streaming.Unread += len(s.lost)
	s.mu.Unlock()
	begin, _ := s.order.Next(s.at)
	s.reading.release(begin.Epoch, begin.Taken/s.shards.span)
}

func (s *streamer) cursor(context.Context) (ops.Cursor, error) { return s.at, nil }

func (s *streamer) seek(_ context.Context, at ops.Cursor) error {
	s.at = at
	return s.Close()
}

// Close ends the reading, and returns when no worker is at work.
func (s *streamer) Close() error {
	if s.reading != nil {
		s.reading.end()
		s.reading = nil
	}
	return nil
}
