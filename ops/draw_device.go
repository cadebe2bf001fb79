package ops

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanDraw binds Draw to tensors on the device ("host" tensors for the CPU). Each run draws the next batch of windows
// and advances the cursor. In a captured graph each launch does so too, so that the Resample and Fuse after it process
// a new batch each time. PlanDraw checks all arguments, except the values in the tables and the cursor, which are
// checked in each run. All outputs must be set, except Episodes, Ticks and Keys. The plan keeps references to the tensors, so
// they must stay open as long as it is run. If a run ends in a *ValueError, its outputs and the cursor are unspecified.
//
// Several plans may share a cursor if their runs follow each other: each run then draws its own batch.
func (d *Device) PlanDraw(args DrawArgs, opts DrawOptions) (*Plan, error) {
	return bound(d, &checker{op: "Draw"}, func(c *checker) (*backend.DrawJob, error) { return newDrawJob(c, args, opts) }, backend.Drawer.Draw)
}

// Draw draws one batch of windows, advances the cursor, and returns when it is done. Tensors may be on the host or on
// the device; host tensors are copied to a GPU and back. If an output is nil, it is allocated on Windows' side (host or
// device), Episodes, Ticks and Keys too; the cursor must be set. The caller closes the allocated tensors. The context, and
// the state after an error, are as in [Device.Resample].
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
	return DrawResult{out.Episodes, out.Ticks, out.Keys, out.Anchors, out.Streams}, nil
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
	a = DrawArgs(probe.DrawTensors) // also after an error, so that the caller closes the new tensors
	if err != nil {
		return a, err
	}
	// All arguments are checked here, wherever their tensors are, so that nothing is copied for an invalid call.
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
		return a, nil // close returns s.err
	}
	plan, err := s.d.PlanDraw(DrawArgs(dev.DrawTensors), o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}
