package ops

import (
	"errors"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// PlanDraw binds Draw to tensors on the device ("host" tensors for the CPU): each run draws the next batch of windows and moves the
// cursor on, in a captured graph too, so that the Resample and Fuse behind it on the stream take another batch each time. All arguments
// are checked here, except the values in the tables and the cursor: those are found wrong when it runs. What is written must be given,
// but for Episodes and Ticks. The plan refers to the tensors: they stay open as long as it is run. After a run that ended in a
// *ValueError what it writes is unspecified, the cursor too.
//
// Several plans may share a cursor, if their runs follow each other: each then draws a batch of its own.
func (d *Device) PlanDraw(args DrawArgs, opts DrawOptions) (Plan, error) {
	if err := d.open("PlanDraw"); err != nil {
		return nil, err
	}
	job, err := newDrawJob(&checker{op: "Draw", device: d.home()}, args, opts)
	if err != nil {
		return nil, err
	}
	return d.backend.Draw(job)
}

// Draw draws one batch of windows, moves the cursor on, and returns when it is done. Tensors may be on the host or on the device; those
// on the host are copied to the device and back where that is not the host. What is written and not given, Episodes and Ticks too, is
// allocated where Windows is, but for the cursor. It returns the outputs; the caller closes those that were allocated.
func (d *Device) Draw(args DrawArgs, opts DrawOptions) (DrawArgs, error) {
	if err := d.open("Draw"); err != nil {
		return args, err
	}
	s := staging{d: d}
	given := &DrawJob{DrawArgs: args}
	out, err := s.draw(args, opts)
	var before, after []*tensor.Tensor
	for i, o := range (&DrawJob{DrawArgs: out}).outputs() {
		before, after = append(before, *given.outputs()[i].t), append(after, *o.t)
	}
	if s.failed(err, before, after) {
		out = args
	}
	return out, errors.Join(err, s.close())
}

func (s *staging) draw(a DrawArgs, o DrawOptions) (DrawArgs, error) {
	c := &checker{op: "Draw", device: s.d.home(), mixed: true}
	a.Streams = slices.Clone(a.Streams)
	probe := &DrawJob{DrawArgs: a, DrawOptions: o}
	probe.checkOptions(c)
	if probe.checkInputs(c); c.err != nil {
		return a, c.err
	}
	err := s.make(c, a.Windows, probe.outputs())
	a = probe.DrawArgs // also of a call that fails: what was made is closed
	if err != nil {
		return a, err
	}
	// Everything is checked once here, with tensors wherever they are, so that nothing is copied for a call that fails.
	if _, err := newDrawJob(c, a, o); err != nil {
		return a, err
	}
	dev := &DrawJob{DrawArgs: a}
	dev.Streams = slices.Clone(a.Streams)
	dev.Cursor, dev.Windows, dev.Begins = s.keep(a.Cursor), s.in(a.Windows), s.in(a.Begins)
	for m := range dev.Streams {
		dev.Streams[m].Offsets = s.in(dev.Streams[m].Offsets)
	}
	for _, o := range dev.outputs() {
		*o.t = s.out(*o.t)
	}
	if s.err != nil {
		return a, nil // close returns it
	}
	plan, err := s.d.PlanDraw(dev.DrawArgs, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}
