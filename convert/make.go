package convert

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

// room returns the limit, in bytes, for the numbers of all episodes that are in memory at a time.
func room() int64 { return min(1<<30, tensor.Available()/4) }

// limit returns a function that returns how many episodes may be in memory at a time, at most most. It takes each new episode, and divides
// room by the largest episode so far.
func (w *work) limit(most int) func(r *ready) int {
	largest := int64(1)
	return func(r *ready) int {
		largest = max(largest, r.bytes)
		return int(max(min(int64(most), room()/largest), 0))
	}
}

// each makes the pieces left for a format with one episode in each piece, several at a time. It calls done after each piece, in order.
func (w *work) each(ctx context.Context, _ *journal, left []int, done func(*entry) error) error {
	type made struct {
		n   *entry
		r   ready // without the episode
		err error
	}
	limit := w.limit(4 * w.opt.Workers)
	for _, m := range inorder.Each(ctx, len(left), w.opt.Workers, 1, func(m made) int { return limit(&m.r) }, func(ctx context.Context, i int) (m made) {
		if m.err = ctx.Err(); m.err != nil {
			return m
		}
		p := &piece{work: w, n: &entry{Piece: left[i]}}
		defer p.close()
		number, _ := w.episodesOf(left[i])
		m.r = w.prepare(ctx, number)
		if m.err = p.add(ctx, &m.r); m.err == nil {
			m.err = p.commit(ctx)
		}
		if m.err == nil {
			m.err = w.hash(ctx, p.n)
		}
		m.n, m.r.e = p.n, nil
		return m
	}) {
		if err := cmp.Or(m.err, ctx.Err()); err != nil {
			return err
		}
		if err := done(m.n); err != nil {
			return err
		}
	}
	return nil
}

// together makes one piece with all episodes of the shard, in their order; several are read in advance. If an episode fails after a part of
// it was written, the piece is made again without it.
func (w *work) together(ctx context.Context, j *journal, left []int, done func(*entry) error) error {
	if len(left) == 0 {
		return nil
	}
	broken := map[int]error{}
	for {
		before := len(broken)
		n, err := w.attempt(ctx, broken)
		if err != nil {
			return err
		}
		if len(broken) > before {
			continue
		}
		if err := j.add(n); err != nil { // before its hash is known, which may take a while
			return err
		}
		if err := w.hash(ctx, n); err != nil {
			return err
		}
		return done(n)
	}
}

// attempt makes the piece without the episodes in broken, and returns its entry. If it finds more broken episodes, it adds them to broken,
// makes nothing, and returns nil.
func (w *work) attempt(ctx context.Context, broken map[int]error) (*entry, error) {
	p := &piece{work: w, n: &entry{Piece: 0}}
	defer p.close()
	known := maps.Clone(broken)
	limit := w.limit(w.opt.Workers)
	for _, r := range inorder.Each(ctx, w.end-w.first, w.opt.Workers, 1, func(r ready) int { return limit(&r) }, func(ctx context.Context, i int) ready {
		if err := ctx.Err(); err != nil {
			return ready{err: err}
		}
		r := w.prepare(ctx, w.first+i)
		if err := known[w.first+i]; err != nil && r.err == nil {
			r = w.unread(ctx, r, err)
		}
		return r
	}) {
		var found *brokenError
		var spoiled *SpoiledError
		switch err := p.add(ctx, &r); {
		case errors.As(err, &spoiled): // the next episodes are compared with them
			maps.Copy(broken, spoiled.Episodes)
			return nil, nil
		case errors.As(err, &found): // writing goes on in a piece that is discarded, so that one pass finds all broken episodes
			broken[found.number] = found.err
			p.close()
			p.writer = nil
			continue
		case err != nil:
			return nil, err
		}
		if w.opt.Progress != nil {
			now := w.progress
			now.Done = len(p.n.Report.Episodes)
			for i := range p.n.Streams {
				now.Samples += p.n.Streams[i].Read
			}
			w.opt.Progress(now)
		}
	}
	if len(broken) > len(known) {
		return nil, nil
	}
	return p.n, p.commit(ctx)
}

// make makes the missing pieces.
func (w *work) make(ctx context.Context, j *journal) error {
	done := make([]*entry, w.pieces())
	for i := range w.entries {
		n := &w.entries[i]
		if n.Piece < 0 || n.Piece >= len(done) {
			return refuse("output", "a journal for other pieces", "the one that was written")
		}
		done[n.Piece] = n
	}
	var left []int
	for piece, n := range done {
		if n == nil {
			left = append(left, piece)
		}
	}
	write := w.each
	if w.traits.Whole {
		write = w.together
	}
	next := 0
	settled := func() { // frees the data of a piece before the last one is done
		for ; next < len(done) && done[next] != nil; next++ {
			w.report.add(done[next])
			done[next] = nil
		}
	}
	settled()
	return write(ctx, j, left, func(n *entry) error {
		if err := j.add(n); err != nil {
			return err
		}
		w.tell(n, false)
		done[n.Piece] = n
		settled()
		return nil
	})
}
