package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ChangedError says that an episode is not what it was when the loader was opened.
type ChangedError struct{ What, Got, Want string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("loader: changed since the loader was opened: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// Unwrap returns dataset.ErrCorrupt.
func (e *ChangedError) Unwrap() error { return dataset.ErrCorrupt }

// capacities returns how many rows of each part the largest shard of so many windows has, wherever it begins: a run of episodes that begins with the
// last window of one has the most that can begin in it.
func (s *streamer) capacities(windows int64) []int {
	c := s.chosen
	rows := make([]int, len(c.parts))
	n := int64(s.order.Count)
	for e := range c.numbers {
		last := c.windows[e+1] - 1
		if last < c.windows[e] {
			continue
		}
		first, count := s.run(last, min(windows, n))
		for m := range c.parts {
			rows[m] = max(rows[m], runLength(c.parts[m].offsets, first, count))
		}
	}
	return rows
}

// run returns the episodes of so many windows from one on, window 0 behind the last: the first and how many.
func (s *streamer) run(from, windows int64) (first, count int) {
	n, all := int64(s.order.Count), len(s.chosen.numbers)
	to := (from + windows - 1) % n
	first = s.episodeOf(from)
	count = s.episodeOf(to) - first + 1
	if to < from {
		count = min(count+all, all)
	}
	return first, count
}

// runLength is how many samples a run of episodes has.
func runLength(offsets []int64, first, count int) int {
	all := len(offsets) - 1
	end := first + count
	if end > all { // and begins anew
		return int(offsets[all] - offsets[first] + offsets[end-all])
	}
	return int(offsets[end] - offsets[first])
}

// shard returns the shard in a slot of an epoch's order, none with n of 0.
func (s *streamer) shard(epoch, slot int64) (first, n int64) {
	if s.order.Shuffle {
		return s.order.Shard(epoch, slot)
	}
	first = slot * s.shards.windows
	return first, max(min(s.shards.windows, int64(s.order.Count)-first), 0)
}

// reading reads the groups of shards that come, two at a time.
type reading struct {
	s      *streamer
	ctx    context.Context
	stop   context.CancelFunc
	free   chan struct{} // a group's slots are
	groups chan *mixed   // that are read or will be, in order
	tasks  chan *slot
	open   []*mixed // of the groups, what was taken and not released
	work   sync.WaitGroup
}

// mixed is a group of shards in slots.
type mixed struct {
	epoch, number int64
	slots         []slot
	left          atomic.Int32  // slots that are not read yet
	ready         chan struct{} // closed when all are
}

// slot is a shard of a group, and where it is.
type slot struct {
	group        *mixed
	place        int // among all slots
	first, count int // the episodes of its run
	unread       []int
	err          error
}

// start begins to read what comes from a batch on.
func (s *streamer) start(begin ops.Cursor) {
	r := &reading{s: s, free: make(chan struct{}, 2), groups: make(chan *mixed, 2), tasks: make(chan *slot)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.free <- struct{}{}
	r.free <- struct{}{}
	r.work.Go(func() { r.hand(begin) })
	for i := range s.queues {
		r.work.Go(func() { r.reader(i) })
	}
	s.reading = r
}

// end stops the workers.
func (r *reading) end() {
	r.stop()
	r.work.Wait()
}

// hand gives the shards out, group by group, where slots are free.
func (r *reading) hand(begin ops.Cursor) {
	defer close(r.tasks)
	s := r.s
	step := int64(s.order.Batch) * int64(s.order.Ranks)
	for k := 0; ; {
		end := int64(s.order.Count) // of what is drawn in the epoch
		if s.order.Last == ops.LastDrop {
			end = begin.Taken + (end-begin.Taken)/step*step
		}
		for g := begin.Taken / s.shards.span; g*s.shards.span < end; g++ {
			select {
			case <-r.free:
			case <-r.ctx.Done():
				return
			}
			m := s.mixed(begin.Epoch, g, k%2)
			k++
			r.groups <- m // two at most are not released
			for i := range m.slots {
				select {
				case r.tasks <- &m.slots[i]:
				case <-r.ctx.Done():
					return
				}
			}
		}
		begin = ops.Cursor{Epoch: begin.Epoch + 1}
	}
}

// mixed returns a group, in one half of the slots or the other.
func (s *streamer) mixed(epoch, g int64, half int) *mixed {
	m := &mixed{epoch: epoch, number: g, ready: make(chan struct{})}
	for i := range s.shards.mix {
		from, n := s.shard(epoch, g*s.shards.mix+i)
		if n == 0 {
			break
		}
		first, count := s.run(from, n)
		m.slots = append(m.slots, slot{group: m, place: half*int(s.shards.mix) + int(i), first: first, count: count})
	}
	m.left.Store(int32(len(m.slots)))
	return m
}

// group returns a group when it is read.
func (r *reading) group(ctx context.Context, epoch, g int64) (*mixed, error) {
	for {
		for _, m := range r.open {
			if m.epoch != epoch || m.number != g {
				continue
			}
			select {
			case <-m.ready:
			default:
				begin := time.Now()
				select {
				case <-m.ready:
				case <-ctx.Done():
				}
				r.s.waits.shards.Add(int64(time.Since(begin)))
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
			}
			for i := range m.slots {
				if err := m.slots[i].err; err != nil {
					return nil, err
				}
			}
			return m, nil
		}
		select {
		case m := <-r.groups:
			r.open = append(r.open, m)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// release frees the slots of the groups before one.
func (r *reading) release(epoch, g int64) {
	for len(r.open) > 0 && (r.open[0].epoch < epoch || r.open[0].epoch == epoch && r.open[0].number < g) {
		r.open = slices.Delete(r.open, 0, 1)
		r.free <- struct{}{}
	}
}

// reader reads shards.
func (r *reading) reader(worker int) {
	w := &shardReader{s: r.s, queue: r.s.queues[worker]}
	if r.s.staged != nil {
		w.staged = r.s.staged[worker]
	}
	waits := &r.s.waits
	for at := time.Now(); ; {
		sl, more := <-r.tasks
		if !more {
			return
		}
		begin := time.Now()
		waits.slots.Add(int64(begin.Sub(at)))
		if err := caught.Do(func() error { return w.read(r.ctx, sl) }); err != nil {
			sl.err = fmt.Errorf("loader: epoch %d, shard of %d episodes from number %d on: %w", sl.group.epoch, sl.count, r.s.chosen.numbers[sl.first], err)
		}
		at = time.Now()
		waits.reading.Add(int64(at.Sub(begin)))
		waits.read.Add(1)
		if sl.group.left.Add(-1) == 0 {
			close(sl.group.ready)
		}
	}
}

// shardReader is a worker.
type shardReader struct {
	s      *streamer
	queue  *ops.Queue
	staged []target // nil where slots are on the host
}

// read reads a shard into its slot.
func (w *shardReader) read(ctx context.Context, sl *slot) error {
	s, c := w.s, w.s.chosen
	to, base := w.staged, 0
	if to == nil {
		to, base = s.slots, sl.place
	}
	at := make([]int, len(c.parts)) // where the next episode's rows begin
	for m := range at {
		at[m] = base * s.rooms[m]
	}
	for k := 0; k < sl.count; {
		e := (sl.first + k) % len(c.numbers)
		n := w.run(e, min(sl.count-k, len(c.numbers)-e), to, at)
		var err error
		if n == 0 {
			n, err = 1, w.episode(ctx, e, to, at)
		}
		k += n
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (c.opt.Strict || errors.Is(err, dataset.ErrClosed)):
			return err
		case err != nil:
			sl.unread = append(sl.unread, e)
			s.cannot(e, err)
		}
		for m := range at {
			o := c.parts[m].offsets
			at[m] += int(o[e+n] - o[e])
		}
	}
	for m := range at {
		n := at[m] - base*s.rooms[m]
		s.waits.bytes.Add(int64(n * s.size(m)))
		if w.staged == nil || n == 0 {
			continue
		}
		err := w.copy(s.slots[m].values, to[m].values, sl.place*s.rooms[m], n)
		if err == nil && to[m].times != nil {
			err = w.copy(s.slots[m].times, to[m].times, sl.place*s.rooms[m], n)
		}
		if err != nil {
			return errors.Join(err, w.queue.Synchronize(context.Background()))
		}
	}
	// What is staged is written again when this returns, and a copy takes no longer than is worth waiting for.
	return w.queue.Synchronize(context.Background())
}

// copy copies the first n rows of what is staged to the rows of a slot.
func (w *shardReader) copy(on, staged *tensor.Tensor, at, n int) error {
	dst, err := on.Slice(0, at, at+n)
	if err != nil {
		return err
	}
	src, err := staged.Slice(0, 0, n)
	if err != nil {
		return err
	}
	return w.queue.Copy(dst, src)
}

// cannot notes that an episode could not be read again.
func (s *streamer) cannot(e int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unread[e] {
		s.unread[e] = true
		s.report.Notes = append(s.report.Notes, refusedNote(s.chosen.known[e].name, err))
	}
}

// episode reads an episode to where its rows begin.
func (w *shardReader) episode(ctx context.Context, e int, to []target, at []int) error {
	c := w.s.chosen
	number := c.numbers[e]
	return c.from.guard(number, func() error {
		recorded, _, err := c.from.read(ctx, number)
		if err != nil {
			return err
		}
		streams, err := c.again(e, recorded)
		if err != nil {
			return &dataset.EpisodeError{Episode: number, Err: err}
		}
		for m := range streams {
			if streams[m].values == nil { // it has no samples
				continue
			}
			if err := place(to[m].values, at[m], streams[m].values); err != nil {
				return err
			}
			if to[m].times == nil {
				continue
			}
			if err := place(to[m].times, at[m], streams[m].times); err != nil {
				return err
			}
		}
		return nil
	})
}

// again returns what each part has of an episode that was read again, and finds out whether that is what it was.
func (c *chosen) again(e int, recorded *dataset.Episode) ([]row, error) {
	rows := make([]row, len(c.parts))
	var prepared *align.Prepared
	if !c.seen[e].whole {
		var err error
		if prepared, err = c.preparer.Prepare(recorded); err != nil {
			return nil, err
		}
		if err := fits(prepared, c.parts); err != nil {
			return nil, err
		}
	}
	var times uint64
	for m := range rows {
		p, r := &c.parts[m], &rows[m]
		var from *dataset.Stream
		if prepared != nil {
			from = &prepared.Streams[m].Stream
		} else {
			from = recordedAs(recorded, p.from)
		}
		got, want := from.Len(), int(p.offsets[e+1]-p.offsets[e])
		switch {
		case got != want:
			return nil, &ChangedError{"samples of " + p.from, fmt.Sprint(got), fmt.Sprint(want)}
		case got == 0:
			continue
		case from.Values.DType() != p.packed:
			return nil, &ChangedError{"values of " + p.from, from.Values.DType().String(), p.packed.String()}
		}
		r.values, r.times = from.Values, from.Times
		if at, width := max(p.column, 0), from.Values.Dim(1); width != p.width {
			if width < at+p.width {
				return nil, &ChangedError{"columns of " + p.from, fmt.Sprint(width), fmt.Sprintf("%d or more", at+p.width)}
			}
			var err error
			if r.values, err = from.Values.Slice(1, at, at+p.width); err != nil {
				return nil, err
			}
		}
		var err error
		if times, err = hashed(times, r.times); err != nil {
			return nil, err
		}
	}
	if times != c.seen[e].times {
		return nil, &ChangedError{"timestamps", fmt.Sprintf("a hash of %016x", times), fmt.Sprintf("%016x", c.seen[e].times)}
	}
	return rows, nil
}

// place copies rows, as they were recorded or prepared, to where they begin in a contiguous tensor on the host.
func place(to *tensor.Tensor, at int, from *tensor.Tensor) error {
	switch from.DType() {
	case tensor.F64:
		return placed[float64](to, at, from)
	case tensor.F16:
		return placed[tensor.Float16](to, at, from)
	case tensor.BF16:
		return placed[tensor.BFloat16](to, at, from)
	case tensor.I64:
		return placed[int64](to, at, from)
	}
	return placed[float32](to, at, from)
}

func placed[T tensor.Element](to *tensor.Tensor, at int, from *tensor.Tensor) error {
	dst, err := tensor.Data[T](to)
	if err != nil {
		return err
	}
	src, err := tensor.Elements[T](from)
	if err != nil {
		return err
	}
	width := to.Stride(0)
	dst = dst[at*width : (at+from.Dim(0))*width]
	if from.IsContiguous() {
		copy(dst, src)
		return nil
	}
	for i := range from.Dim(0) { // the columns of a recorded sample follow each other
		copy(dst[i*width:(i+1)*width], src[i*from.Stride(0):])
	}
	return nil
}
