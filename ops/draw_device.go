package ops

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanDraw binds Draw to tensors on the device ("host" tensors for the CPU): each run draws the next batch of windows and moves the
// cursor on, in a captured graph too, so that the Resample and Fuse behind it on the queue take another batch each time. All arguments
// are checked here, except the values in the tables and the cursor: those are found wrong when it runs. What is written must be given,
// but for Episodes and Ticks. The plan refers to the tensors: they stay open as long as it is run. After a run that ended in a
// *ValueError what it writes is unspecified, the cursor too.
//
// Several plans may share a cursor, if their runs follow each other: each then draws a batch of its own.
func (d *Device) PlanDraw(args DrawArgs, opts DrawOptions) (*Plan, error) {
	return bound(d, &checker{op: "Draw"}, func(c *checker) (*backend.DrawJob, error) { return newDrawJob(c, args, opts) }, backend.Drawer.Draw)
}

// Draw draws one batch of windows, moves the cursor on, and returns when it is done. Tensors may be on the host or on the device; those
// on the host are copied to the device and back where that is not the host. What is written and not given, Episodes and Ticks too, is
// allocated where Windows is, but for the cursor. The caller closes what was allocated. The context, and what an error leaves, are as in
// [Device.Resample].
func (d *Device) Draw(ctx context.Context, args DrawArgs, opts DrawOptions) (DrawResult, error) {
	if err := d.begin(ctx, "Draw"); err != nil {
		return DrawResult{}, err
	}
	s := staging{ctx: ctx, d: d}
	given := drawUnder(&args, &opts)
	out, err := s.draw(args, opts)
	var before, after []*tensor.Tensor
	for i, o := range drawUnder(&out, &opts).Outputs() {
		before, after = append(before, *given.Outputs()[i].T), append(after, *o.T)
	}
	if err = s.end(err, before, after); err != nil {
		return DrawResult{}, err
	}
	return DrawResult{out.Episodes, out.Ticks, out.Anchors, out.Streams}, nil
}

func (s *staging) draw(a DrawArgs, o DrawOptions) (DrawArgs, error) {
	c := &checker{op: "Draw", device: s.d.home(), mixed: true}
	a.Streams = slices.Clone(a.Streams)
	probe := drawUnder(&a, &o)
	probe.checkOptions(c)
	if probe.checkInputs(c); c.err != nil {
		return a, c.err
	}
	err := s.make(c, a.Windows, probe.Outputs())
	a = DrawArgs(probe.DrawTensors) // also of a call that fails: what was made is closed
	if err != nil {
		return a, err
	}
	// Everything is checked once here, with tensors wherever they are, so that nothing is copied for a call that fails.
	if _, err := newDrawJob(c, a, o); err != nil {
		return a, err
	}
	dev := drawUnder(&a, &o)
	dev.Streams = slices.Clone(a.Streams)
	dev.Cursor, dev.Windows, dev.Begins = s.keep(a.Cursor), s.in(a.Windows), s.in(a.Begins)
	for m := range dev.Streams {
		dev.Streams[m].Offsets = s.in(dev.Streams[m].Offsets)
	}
	for _, o := range dev.Outputs() {
		*o.T = s.out(*o.T)
	}
	if s.err != nil {
		return a, nil // close returns it
	}
	plan, err := s.d.PlanDraw(DrawArgs(dev.DrawTensors), o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}
