package loader

import (
	"context"
	"errors"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// resident is the feed of a store that is on the device: a Draw, which the loader's graph begins with.
type resident struct {
	device *ops.Device
	draw   *ops.Plan
	at     *tensor.Tensor // [2], the cursor, on the device
}

func (r *resident) give(q *ops.Queue) error { return r.draw.Run(q) }

func (r *resident) next(context.Context) ([]int, error) { return nil, nil }

func (r *resident) made() {}

func (r *resident) cursor(ctx context.Context) (ops.Cursor, error) {
	var at [2]int64
	host, err := tensor.Of(at[:], 2)
	if err == nil {
		err = r.device.Copy(ctx, host, r.at)
	}
	return ops.Cursor{Epoch: at[0], Taken: at[1]}, err
}

func (r *resident) seek(ctx context.Context, at ops.Cursor) error {
	host, err := tensor.Of([]int64{at.Epoch, at.Taken}, 2)
	if err != nil {
		return err
	}
	return r.device.Copy(ctx, r.at, host)
}

func (r *resident) Close() error { return nil }

// upload puts what was chosen on the device, and plans the Draw from it. On the CPU what is in Go's memory is there: own says that all is.
func (l *Loader) upload(ctx context.Context, c *chosen, own bool) error {
	room := func(d tensor.DType, shape ...int) (*tensor.Tensor, error) {
		on, err := l.device.Alloc(d, shape...)
		if err == nil {
			l.hold(on) // before it is filled, which may end as Guard says
		}
		return on, err
	}
	rows := func() (*tensor.Tensor, error) { return room(tensor.I64, l.order.Batch) }
	up := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		if own && t.IsContiguous() {
			l.report.Bytes += t.Len() * t.DType().Size()
			return lent(t)
		}
		on, err := room(t.DType(), t.Shape()...)
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
		return up(t)
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
	for m := range l.parts {
		p := &l.parts[m]
		var errs [5]error
		p.values, errs[0] = up(p.values)
		if o := &l.parts[p.clock]; o != p { // as the streams of a table have
			p.times, p.starts, p.lengths = o.times, o.starts, o.lengths
		} else {
			d := ops.DrawStream{}
			p.times, errs[1] = up(p.times)
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
	plan, err := l.device.PlanDraw(draw, l.order)
	if err != nil {
		return err
	}
	l.held.add(plan)
	l.feed = &resident{l.device, plan, draw.Cursor}
	return nil
}

// lent returns a tensor over the same memory of Go's, which stays when the other is closed.
func lent(t *tensor.Tensor) (*tensor.Tensor, error) {
	switch t.DType() {
	case tensor.F64:
		return over[float64](t)
	case tensor.F16:
		return over[tensor.Float16](t)
	case tensor.BF16:
		return over[tensor.BFloat16](t)
	case tensor.I64:
		return over[int64](t)
	}
	return over[float32](t)
}

func over[T tensor.Element](t *tensor.Tensor) (*tensor.Tensor, error) {
	data, err := tensor.Data[T](t)
	if err != nil {
		return nil, err
	}
	return tensor.Of(data, t.Shape()...)
}
