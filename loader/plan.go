package loader

import (
	"context"
	"slices"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// plan plans the launches after the draw: a Fuse for each group of streams that share targets and dtype. It allocates the batch tensors.
func (l *Loader) plan(ctx context.Context) error {
	b := l.order.Batch
	for i := range l.parts {
		p := &l.parts[i]
		at := slices.IndexFunc(l.groups, func(g group) bool {
			q := &l.parts[g.parts[0]]
			_, same := shiftOf(q.deltas, p.deltas)
			return !l.isApart && len(g.parts) < ops.MaxStreams && q.dtype == p.dtype && same
		})
		if at < 0 {
			l.groups, at = append(l.groups, group{}), len(l.groups)
		}
		g := &l.groups[at]
		g.parts = append(g.parts, i)
		by, _ := shiftOf(l.parts[g.parts[0]].deltas, p.deltas)
		g.shifts = append(g.shifts, by)
	}
	l.batch = Batch{device: l.device, parts: l.parts, groups: l.groups, Episodes: l.episodes, Ticks: l.ticks, Anchors: l.anchors, Streams: make([]BatchStream, len(l.parts))}
	for k := range l.groups {
		g := &l.groups[k]
		first := &l.parts[g.parts[0]]
		t, m, width := len(first.deltas), len(g.parts), 0
		var streams []ops.FuseStream
		for j, i := range g.parts {
			p := &l.parts[i]
			s := ops.FuseStream{Src: p.values, SrcTimes: p.times, SrcStarts: p.starts, SrcLengths: p.lengths, Options: p.options}
			s.Offset = p.offset - time.Duration(g.shifts[j])
			if a := p.affine; a != nil {
				s.Shift, s.Scale, s.ClipMin, s.ClipMax = a.shift, a.scale, a.min, a.max
			}
			if p.values.Dim(0) == 0 { // no episode has samples
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
			if *o.to, err = l.alloc(o.dtype, o.shape...); err != nil {
				return err
			}
		}
		launch := ops.LaunchDependent // on the draw
		switch {
		case k > 0:
			launch = ops.LaunchInputsReady // because the group before has waited for the draw, and writes nothing that this one reads
		case l.report.Streaming != nil:
			launch = ops.LaunchDefault // after a copy
		}
		plan, err := l.device.PlanFuse(ops.FuseArgs{Dst: g.values, Valid: g.valid, Pad: g.pad, Age: g.age, Streams: streams, Targets: ops.Anchored(l.anchors, deltas)}, ops.FuseOptions{TrustTimes: true, Launch: launch})
		if err != nil {
			return err
		}
		l.closers.add(plan)
		l.plans = append(l.plans, plan)
		if err := l.batch.views(l.parts, g); err != nil {
			return err
		}
	}
	var err error
	if l.queue, err = l.device.NewQueue(); err != nil {
		return err
	}
	l.closers.add(l.queue)
	if l.graph, err = l.queue.Capture(func() error { return l.run(l.queue) }); err != nil {
		return err
	}
	l.closers.add(l.graph)
	return nil
}
