package loader

import (
	"context"
	"errors"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// resident is the feed for a store on the device. Its Draws are the first launches in the loader's graph. A Draw takes ops.MaxStreams
// streams; if there are several, each has a cursor of its own and draws the same windows.
type resident struct {
	device *ops.Device
	draws  []*ops.Plan
	at     []*tensor.Tensor // [2] on the device: the cursors
}

func (r *resident) enqueue(q *ops.Queue) error {
	for _, d := range r.draws {
		if err := d.Run(q); err != nil {
			return err
		}
	}
	return nil
}

func (r *resident) next(context.Context) ([]int, error) { return nil, nil }

func (r *resident) advance() {}

func (r *resident) cursor(ctx context.Context) (ops.Cursor, error) {
	var at [2]int64
	host, err := tensor.Of(at[:], 2)
	if err == nil {
		err = r.device.Copy(ctx, host, r.at[0])
	}
	return ops.Cursor{Epoch: at[0], Taken: at[1]}, err
}

func (r *resident) seek(ctx context.Context, at ops.Cursor) error {
	host, err := tensor.Of([]int64{at.Epoch, at.Taken}, 2)
	if err != nil {
		return err
	}
	for _, cursor := range r.at {
		if err := r.device.Copy(ctx, cursor, host); err != nil {
			return err
		}
	}
	return nil
}

func (r *resident) Close() error { return nil }

// Cursors returns the device tensors with the loader's position, for programs that launch a captured batch themselves. Each is
// [2]: the epoch, and the number of positions that all ranks have taken in it. All cursors are equal. To move the loader, write
// all of them. If the loader streams, the result is nil.
func (l *Loader) Cursors() []*tensor.Tensor {
	if r, ok := l.feed.(*resident); ok {
		return r.at
	}
	return nil
}

// upload copies the packed streams and the selection's tables to the device, and plans the Draw from them. The CPU backend takes
// tensors in Go's memory as they are.
func (l *Loader) upload(ctx context.Context, c *selection) error {
	cpu := l.device.Info().Backend == "cpu"
	rows := func() (*tensor.Tensor, error) { return l.alloc(tensor.I64, l.order.Batch) }
	up := func(t *tensor.Tensor, mapped bool) (*tensor.Tensor, error) {
		if cpu && !mapped && t.IsContiguous() {
			l.report.Bytes += t.Len() * t.DType().Size()
			memory, err := raw.Of(t)
			if err != nil {
				return nil, err
			}
			return raw.Over(memory, nil, t.DType(), t.Shape()...) // it stays open when t is closed
		}
		on, err := l.alloc(t.DType(), t.Shape()...) // before the copy, because Guard may end that
		if err != nil {
			return nil, err
		}
		return on, l.device.Copy(ctx, on, t)
	}
	ints := func(list []int64) (*tensor.Tensor, error) {
		t, err := tensor.Of(list, len(list))
		if err != nil {
			return nil, err
		}
		return up(t, false)
	}
	draw := ops.DrawArgs{}
	var errs [6]error
	draw.Windows, errs[0] = ints(c.windows)
	draw.Begins, errs[1] = ints(c.begins)
	draw.Cursor, errs[2] = ints([]int64{0, 0})
	draw.Episodes, errs[3] = rows()
	draw.Ticks, errs[4] = rows()
	draw.Anchors, errs[5] = rows()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	l.episodes, l.ticks, l.anchors = draw.Episodes, draw.Ticks, draw.Anchors
	if l.hasRandom() {
		var err error
		if draw.Keys, err = l.alloc(tensor.I64, l.order.Batch, 2); err != nil {
			return err
		}
		l.keys = draw.Keys
	}
	for m := range len(l.parts) + len(l.films) {
		var p, o *part
		if k := m - len(l.parts); k >= 0 {
			p = &l.films[k].places
			o = p
		} else {
			p = &l.parts[m]
			o = &l.parts[p.clock]
		}
		var errs [5]error
		p.values, errs[0] = up(p.values, p.mapped)
		if o != p { // for example the streams of one table
			p.times, p.starts, p.lengths = o.times, o.starts, o.lengths
		} else {
			d := ops.DrawStream{}
			p.times, errs[1] = up(p.times, p.mapped)
			d.Offsets, errs[2] = ints(p.offsets)
			d.Starts, errs[3] = rows()
			d.Lengths, errs[4] = rows()
			p.starts, p.lengths = d.Starts, d.Lengths
			draw.Streams = append(draw.Streams, d)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
	}
	feed := &resident{device: l.device}
	streams := draw.Streams
	for i := 0; i == 0 || i < len(streams); i += ops.MaxStreams {
		draw.Streams = streams[i:min(i+ops.MaxStreams, len(streams))]
		if i > 0 {
			var err error
			draw.Keys = nil
			if draw.Cursor, err = ints([]int64{0, 0}); err != nil {
				return err
			}
		}
		plan, err := l.device.PlanDraw(draw, l.order)
		if err != nil {
			return err
		}
		l.closers.add(plan)
		feed.draws, feed.at = append(feed.draws, plan), append(feed.at, draw.Cursor)
	}
	l.feed = feed
	return nil
}

// pack joins the samples of all selected episodes for part m. If the selection takes a packed stream as it is, the part gets the store's
// own tensors without a copy.
func (c *selection) pack(m int, from stores) (err error) {
	p := &c.parts[m]
	s := from.whole(p.from)
	n := int(p.offsets[len(p.offsets)-1])
	if s != nil && s.Values != nil && n == s.Samples() && p.width == s.Values.Dim(1) && len(c.numbers) == from.Len() && c.isInPlace(m, s) {
		p.values, p.times, p.mapped = s.Values, s.Times, !from[0].InMemory()
		return nil
	}
	p.values, p.times, err = store.Join(c.rows[m], p.width, n, p.packed)
	return err
}

// isInPlace reports whether the rows are the packed stream: the same memory, in the same order.
func (c *selection) isInPlace(m int, s *store.Stream) bool {
	memory, at, _ := s.Values.Extent()
	for _, r := range c.rows[m] {
		if r.Values.Len() == 0 {
			continue
		}
		other, lo, hi := r.Values.Extent()
		if other != memory || lo != at || r.Values.Stride(0) != s.Values.Dim(1) {
			return false
		}
		at = hi
	}
	return true
}
