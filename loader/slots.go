package loader

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/ops"
)

// start starts the workers, which read the shards from the batch at a position on.
func (s *streamer) start(begin ops.Cursor) {
	r := &groupReader{s: s, free: make(chan struct{}, 2), groups: make(chan *shardGroup, 2), tasks: make(chan *slot)}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.free <- struct{}{}
	r.free <- struct{}{}
	r.work.Go(func() { r.enqueueGroups(begin) })
	for i := range s.queues {
		r.work.Go(func() { r.reader(i) })
	}
	s.reader = r
}

// end stops the workers.
func (r *groupReader) end() {
	r.stop()
	r.work.Wait()
}

// enqueueGroups sends the shards to the workers, group by group, when slots are free.
func (r *groupReader) enqueueGroups(begin ops.Cursor) {
	defer close(r.tasks)
	s := r.s
	step := int64(s.order.Batch) * int64(s.order.Ranks)
	for k := 0; ; {
		end := int64(s.order.Count) // drawn windows in the epoch
		if s.order.Last == ops.LastDrop {
			end = begin.Taken + (end-begin.Taken)/step*step
		}
		for g := begin.Taken / s.shards.span; g*s.shards.span < end; g++ {
			select {
			case <-r.free:
			case <-r.ctx.Done():
				return
			}
			m := s.newGroup(begin.Epoch, g, k%2)
			k++
			r.groups <- m // at most two groups are not released
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

// newGroup returns group g of an epoch, with its shards assigned to half 0 or 1 of the slots.
func (s *streamer) newGroup(epoch, g int64, half int) *shardGroup {
	m := &shardGroup{epoch: epoch, number: g, ready: make(chan struct{})}
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

// next implements feed.
func (s *streamer) next(ctx context.Context) ([]int, error) {
	var begin ops.Cursor
	begin, s.after = s.order.Next(s.at)
	if s.reader == nil {
		s.start(begin)
	}
	var open [2]*shardGroup // the batch's groups
	first := begin.Taken / s.shards.span
	for g := first; g <= (s.after.Taken-1)/s.shards.span; g++ {
		var err error
		if open[g-first], err = s.reader.group(ctx, begin.Epoch, g); err != nil {
			return nil, err
		}
	}
	s.fill(begin, first, &open)
	return s.lostRows, nil
}

// enqueue implements feed: it copies the table to the device.
func (s *streamer) enqueue(q *ops.Queue) error {
	if s.table == s.tableOn {
		return nil
	}
	return q.Copy(s.tableOn, s.table)
}

// fill writes the table of a batch: for each row its episode, tick, anchor and samples. It also sets lostRows.
func (s *streamer) fill(begin ops.Cursor, first int64, open *[2]*shardGroup) {
	if len(s.window) <= fillRows {
		s.fillPart(begin, first, open, 0) // this call allocates nothing
	} else {
		s.fillParts(begin, first, *open)
	}
	s.lostRows = s.lostRows[:0]
	for i, e := range s.rows[0] {
		if e < 0 && s.window[i] >= 0 {
			s.lostRows = append(s.lostRows, i)
		}
	}
}

// fillParts writes the rows by several goroutines.
func (s *streamer) fillParts(begin ops.Cursor, first int64, open [2]*shardGroup) {
	var parts sync.WaitGroup
	for from := 0; from < len(s.window); from += fillRows {
		parts.Go(func() { s.fillPart(begin, first, &open, from) })
	}
	parts.Wait()
}

// fillPart writes the rows from row from on, at most fillRows.
func (s *streamer) fillPart(begin ops.Cursor, first int64, open *[2]*shardGroup, from int) {
	to := min(from+fillRows, len(s.window))
	s.order.Rows(begin, from, s.window[from:to], s.slot[from:to])
	c := s.selection
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
				e, tick, sl = -1, -1, nil // the row is lost
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
		for k, m := range s.films {
			start, length := int64(0), int64(0)
			if e >= 0 {
				start, length = m.places.offsets[e], m.places.offsets[e+1]-m.places.offsets[e]
			}
			at := 3 + 2*(len(s.clocks)+k)
			s.rows[at][i], s.rows[at+1][i] = start, length
		}
		if s.keys != nil {
			s.keys[2*i], s.keys[2*i+1] = begin.Epoch, begin.Taken+int64(s.order.Rank+s.order.Ranks*i)
		}
	}
}

// advance implements feed.
func (s *streamer) advance() {
	s.at = s.after
	s.mu.Lock()
	s.report.Streaming.Unread += len(s.lostRows)
	s.mu.Unlock()
	begin, _ := s.order.Next(s.at)
	s.reader.release(begin.Epoch, begin.Taken/s.shards.span)
}

func (s *streamer) cursor(context.Context) (ops.Cursor, error) { return s.at, nil }

func (s *streamer) seek(_ context.Context, at ops.Cursor) error {
	s.at = at
	return s.Close()
}

// Close stops the reading, and returns when all workers have stopped.
func (s *streamer) Close() error {
	if s.reader != nil {
		s.reader.end()
		s.reader = nil
	}
	return nil
}

// group waits until group g of an epoch is read, and returns it. The error is ctx's, or the first error of reading its shards.
func (r *groupReader) group(ctx context.Context, epoch, g int64) (*shardGroup, error) {
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

// release frees the slots of the groups before group g of an epoch.
func (r *groupReader) release(epoch, g int64) {
	for len(r.open) > 0 && (r.open[0].epoch < epoch || r.open[0].epoch == epoch && r.open[0].number < g) {
		r.open = slices.Delete(r.open, 0, 1)
		r.free <- struct{}{}
	}
}

// reader runs a worker, which reads shards.
func (r *groupReader) reader(worker int) {
	w := &shardReader{s: r.s, queue: r.s.queues[worker]}
	if r.s.staging != nil {
		w.staging = r.s.staging[worker]
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
			sl.err = fmt.Errorf("loader: epoch %d, shard of %d episodes from number %d on: %w", sl.group.epoch, sl.count, r.s.selection.numbers[sl.first], err)
		}
		at = time.Now()
		waits.reading.Add(int64(at.Sub(begin)))
		waits.read.Add(1)
		if sl.group.left.Add(-1) == 0 {
			close(sl.group.ready)
		}
	}
}

// fillRows is how many table rows are worth a goroutine. A row takes 100 ns.
const fillRows = 512
