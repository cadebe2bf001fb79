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
	for i := range l.parts {
		p := &l.parts[i]
		at := slices.IndexFunc(l.groups, func(g group) bool {
			q := &l.parts[g.parts[0]]
			_, same := shiftOf(q.deltas, p.deltas)
			return !l.isApart && !p.hasGrid() && !q.hasGrid() && len(g.parts) < ops.MaxStreams && q.dtype == p.dtype && same
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
		var parts []*part
		for _, i := range g.parts {
			parts = append(parts, &l.parts[i])
		}
		if err := l.allocGroup(g, parts); err != nil {
			return err
		}
		if err := l.planGroup(ctx, g, parts, k > 0); err != nil {
			return err
		}
		if err := l.batch.views(l.parts, g); err != nil {
			return err
		}
	}
	return nil
}

// allocGroup allocates the tensors of a group of parts.
func (l *Loader) allocGroup(g *group, parts []*part) (err error) {
	b, t, m, width := l.order.Batch, len(parts[0].deltas), len(parts), 0
	for _, p := range parts {
		width += p.width
	}
	for _, o := range []struct {
		to    **tensor.Tensor
		dtype tensor.DType
		shape []int
	}{
		{&g.values, parts[0].dtype, []int{b, t, width}}, {&g.valid, tensor.U8, []int{b, t, m}}, {&g.pad, tensor.U8, []int{b, t, m}},
		{&g.age, tensor.I64, []int{b, t, m}},
	} {
		if o.to == &g.age && !l.age {
			continue
		}
		if *o.to, err = l.alloc(o.dtype, o.shape...); err != nil {
			return err
		}
	}
	return nil
}

// planGroup plans the Fuse of a group of parts, and its grid. If follows is true, it runs after another one.
func (l *Loader) planGroup(ctx context.Context, g *group, parts []*part, follows bool) error {
	first := parts[0]
	var streams []ops.FuseStream
	for j, p := range parts {
		s := ops.FuseStream{Src: p.values, SrcTimes: p.times, SrcStarts: p.starts, SrcLengths: p.lengths, Options: p.options}
		s.Offset = p.offset - time.Duration(g.shifts[j])
		if a := p.affine; a != nil {
			s.Shift, s.Scale, s.ClipMin, s.ClipMax = a.shift, a.scale, a.min, a.max
		}
		if p.values.Dim(0) == 0 { // no episode has samples
			s.Src, s.SrcTimes, s.SrcStarts, s.SrcLengths, s.Width = nil, nil, nil, nil, p.width
		}
		streams = append(streams, s)
	}
	deltas, err := l.uploadInts(ctx, first.deltas)
	if err != nil {
		return err
	}
	launch := ops.LaunchDependent // on the draw
	switch {
	case follows:
		launch = ops.LaunchInputsReady // because the group before has waited for the draw, and writes nothing that this one reads
	case l.report.Streaming != nil:
		launch = ops.LaunchDefault // after a copy
	}
	args := ops.FuseArgs{Dst: g.values, Valid: g.valid, Pad: g.pad, Age: g.age, Streams: streams, Targets: ops.Anchored(l.anchors, deltas)}
	plan, err := l.device.PlanFuse(args, ops.FuseOptions{TrustTimes: true, Launch: launch})
	if err != nil {
		return err
	}
	l.closers.add(plan)
	l.plans = append(l.plans, plan)
	if first.hasGrid() {
		return l.planGrid(ctx, g, first)
	}
	return nil
}

// planGrid plans the grid of a group of one part.
func (l *Loader) planGrid(ctx context.Context, g *group, p *part) error {
	const n = 100 // cells along each axis
	b, t, k := l.order.Batch, len(p.deltas), p.points.K
	begins := make([]int64, b*t+1)
	for i := range begins {
		begins[i] = int64(i * k)
	}
	args := ops.VoxelizeArgs{Points: tensor.Must(g.values.Reshape(b*t*k, 3))}
	box, err := ops.PerActGrid(p.points.Min, p.points.Max)
	if err == nil {
		args.Offsets, err = l.uploadInts(ctx, begins)
	}
	if err == nil {
		g.grid, err = l.alloc(tensor.U8, b, t, n, n, n)
	}
	if err != nil {
		return err
	}
	args.Grid = tensor.Must(g.grid.Reshape(b*t, n, n, n))
	plan, err := l.device.PlanVoxelize(args, box, ops.VoxelizeOptions{Order: ops.AxisXYZ})
	if err == nil {
		l.closers.add(plan)
		l.plans = append(l.plans, &plan.Plan)
	}
	return err
}

// capture captures a batch's work in graphs: one for each shot, or a single one.
func (l *Loader) capture() (err error) {
	if l.queue, err = l.device.NewQueue(); err != nil {
		return err
	}
	l.closers.add(l.queue)
	shots := []*shot{nil}
	if l.reel != nil {
		shots = l.reel.shots
	}
	for _, s := range shots {
		g, err := l.queue.Capture(func() error { return l.run(l.queue, s) })
		if err != nil {
			return err
		}
		l.closers.add(g)
		l.graphs = append(l.graphs, g)
	}
	return nil
}
