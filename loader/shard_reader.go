package loader

import (
	"context"
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// run reads consecutive episodes from a store's file to the rows in at: up to most episodes, from the selection's episode e on. It reads
// the file itself, not its mapping, because that is several times as fast if the pages are not in memory, and does not fill the program's
// memory. It returns how many episodes it has read: 0 without a file, for an episode that is not taken as it is packed, and after an
// error. The caller then reads one episode, which reports the error.
func (w *shardReader) run(e, most int, to []store.Samples, at []int) int {
	c := w.s.selection
	store, ok := c.from.(*store.Store)
	if !ok {
		return 0
	}
	number, n := c.numbers[e], 0
	for n < most && c.entries[e+n].whole && c.numbers[e+n] == number+n {
		n++
	}
	for m := range c.parts {
		if n = store.ReadRows(c.parts[m].from, number, n, to[m], at[m]); n == 0 {
			return 0
		}
	}
	for k := range n {
		if !w.same(e, k, to, at) {
			return 0
		}
	}
	return n
}

// same reports whether the timestamps of episode e+k, which was just read, are still the ones from the first pass. The rows of episode e
// begin at at in to.
func (w *shardReader) same(e, k int, to []store.Samples, at []int) bool {
	c := w.s.selection
	hashes, all := make([]uint64, len(c.parts)), uint64(0) // hashes has an entry for each part
	for m := range c.parts {
		p := &c.parts[m]
		lo, hi := int(p.offsets[e+k]-p.offsets[e]), int(p.offsets[e+k+1]-p.offsets[e])
		if p.clock == m {
			times, err := to[m].Times.Slice(0, at[m]+lo, at[m]+hi)
			if err == nil {
				hashes[m], err = hashTimes(times)
			}
			if err != nil {
				return false
			}
		}
		hashes[m] = hashes[p.clock]
		all = mixHash(all, hashes[m])
	}
	return all == c.entries[e+k].times
}

// shardReader reads shards, as one worker.
type shardReader struct {
	s       *streamer
	queue   *ops.Queue
	staging []store.Samples // nil if the slots are on the host
}

// read reads the episodes of a shard into its slot on the device. An episode that cannot be read is listed in the slot's unread, with a
// note. With Options.Strict, and if the dataset is closed or no episode can be read any more, it is an error.
func (w *shardReader) read(ctx context.Context, sl *slot) error {
	s, c := w.s, w.s.selection
	to, base := w.staging, 0
	if to == nil {
		to, base = s.slots, sl.place
	}
	at := make([]int, len(c.parts)) // the row of the next episode
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
		case err != nil && (c.opt.Strict || errors.Is(err, dataset.ErrClosed) || dataset.IsFatal(err)):
			return err
		case err != nil:
			sl.unread = append(sl.unread, e)
			s.noteUnread(e, err)
		}
		for m := range at {
			o := c.parts[m].offsets
			at[m] += int(o[e+n] - o[e])
		}
	}
	for m := range at {
		n := at[m] - base*s.rooms[m]
		s.waits.bytes.Add(int64(n * s.size(m)))
		if w.staging == nil || n == 0 {
			continue
		}
		err := w.copy(s.slots[m].Values, to[m].Values, sl.place*s.rooms[m], n)
		if err == nil && to[m].Times != nil {
			err = w.copy(s.slots[m].Times, to[m].Times, sl.place*s.rooms[m], n)
		}
		if err != nil {
			return errors.Join(err, w.queue.Synchronize(context.Background()))
		}
	}
	// The staging memory is written again after the return, so the copy must be done. It takes little time.
	return w.queue.Synchronize(context.Background())
}

// copy enqueues a copy of the staging memory's first n rows to a slot's rows.
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

// episode reads one episode to its rows: part m begins at row at[m] in to[m].
func (w *shardReader) episode(ctx context.Context, e int, to []store.Samples, at []int) error {
	return w.s.selection.readAgain(ctx, e, func(m int, rows *store.Samples) error { return rows.CopyTo(to[m], at[m]) })
}

// noteUnread adds a note about an episode that could not be read again.
func (s *streamer) noteUnread(e int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unread[e] {
		s.unread[e] = true
		s.report.Notes = append(s.report.Notes, store.RefusedNote(s.selection.entries[e].name, err))
	}
}
