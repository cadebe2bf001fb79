package ops

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanResampleBackward binds ResampleBackward to tensors on the device ("host" tensors for the CPU). It checks all
// arguments, except the values in the tensors. SrcGrad must be set. The plan keeps references to the tensors, so they
// must stay open as long as the plan is run.
func (d *Device) PlanResampleBackward(args ResampleBackwardArgs, opts ResampleOptions) (*Plan, error) {
	return bound(d, d.gradients("ResampleBackward", false), func(c *checker) (*backend.BackwardJob, error) { return newResampleBackwardJob(c, args, opts) }, backend.Differentiator.Backward)
}

// ResampleBackward computes the gradient of Resample with respect to its source values and writes it to SrcGrad.
// DstGrad is the gradient with respect to Resample's output. The call returns when the work is done. Pass the same
// options as to Resample. The kinds Linear, Previous, Next and Nearest have a gradient; other kinds are refused with an
// *ArgError. Tensors may be on the host or on the device, as in Resample. If SrcGrad is nil, it is allocated on
// DstGrad's side (host or device), with Options.DType or else DstGrad's dtype, and the caller closes it. The context,
// and the state after an error, are as in [Device.Resample].
//
// Each target passes its DstGrad to the samples that Resample computed it from. If Resample copied one sample, that
// sample gets all of it: on an exact hit (also by Snap), on a held end, and for the kinds that read one sample. If a
// Linear channel lies between two samples, the first gets (1-a) times DstGrad and the second a times DstGrad, with
// Resample's a; under Extrapolate this also applies beyond the ends. A target with the fill value passes nothing. A NaN
// target passes nothing either: the NaN from Resample depends on no sample, and a NaN here would spoil the gradient of
// unrelated samples.
//
// Each sample adds the contributions in target order, from 0. The sum is float64 if SrcGrad is f64, else float32, and a
// DstGrad in f64 is then rounded to float32 first. Products and sums round separately, and the sum is rounded once to
// SrcGrad's dtype. So every run on every backend gives the same bits.
func (d *Device) ResampleBackward(ctx context.Context, args ResampleBackwardArgs, opts ResampleOptions) (ResampleBackwardResult, error) {
	if err := d.begin(ctx, "ResampleBackward"); err != nil {
		return ResampleBackwardResult{}, err
	}
	s := staging{ctx: ctx, d: d}
	out, err := s.resampleBackward(args, opts)
	if err = s.end(err, []*tensor.Tensor{args.SrcGrad}, []*tensor.Tensor{out.SrcGrad}); err != nil {
		return ResampleBackwardResult{}, err
	}
	return ResampleBackwardResult{out.SrcGrad}, nil
}

// PlanFuseBackward binds FuseBackward to tensors on the device, as [Device.PlanFuse] does for Fuse.
func (d *Device) PlanFuseBackward(args FuseBackwardArgs, opts FuseOptions) (*Plan, error) {
	return bound(d, d.gradients("FuseBackward", false), func(c *checker) (*backend.BackwardJob, error) { return newFuseBackwardJob(c, args, opts) }, backend.Differentiator.Backward)
}

// FuseBackward computes the gradient of Fuse with respect to each stream's source values and writes it to that stream's
// SrcGrad. It returns when the work is done. A stream's gradient is the result of ResampleBackward for its columns in
// DstGrad. If the stream has a Scale, each column is first rounded to float32 and multiplied by Scale[d] in float32.
// Rows without samples have no gradient, and are not an error. Options.DType must not be set. Tensors may be on the
// host or on the device, as in Fuse.
func (d *Device) FuseBackward(ctx context.Context, args FuseBackwardArgs, opts FuseOptions) error {
	if err := d.begin(ctx, "FuseBackward"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	err := s.fuseBackward(args, opts)
	return errors.Join(err, s.close())
}

// gradients returns a checker for a gradient operation, which has gradients as arguments in place of the forward operation's values.
// mixed is as in checker.
func (d *Device) gradients(op string, mixed bool) *checker {
	return &checker{op: op, device: d.home(), mixed: mixed, names: gradientNames}
}

func (s *staging) resampleBackward(a ResampleBackwardArgs, o ResampleOptions) (ResampleBackwardArgs, error) {
	c := s.d.gradients("ResampleBackward", true)
	if err := s.allocateGradient(c, &a, &o); err != nil {
		return a, err
	}
	job, err := newResampleBackwardJob(c, a, o)
	if err != nil || job.Idle() {
		return a, err
	}
	if err := s.whole(c, "Src", a.SrcGrad); err != nil {
		return a, err
	}
	dev := a
	dev.DstGrad, dev.SrcTimes, dev.Targets.Times = s.in(a.DstGrad), s.in(a.SrcTimes), s.in(a.Targets.Times)
	dev.SrcLengths, dev.SrcOffsets = s.in(a.SrcLengths), s.in(a.SrcOffsets)
	dev.DstLengths, dev.DstOffsets = s.in(a.DstLengths), s.in(a.DstOffsets)
	dev.SrcGrad = s.out(a.SrcGrad)
	if s.err != nil {
		return a, nil // close returns s.err
	}
	plan, err := s.d.PlanResampleBackward(dev, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}

// allocateGradient allocates SrcGrad if it is nil, on the side (host or device) of DstGrad.
func (s *staging) allocateGradient(c *checker, a *ResampleBackwardArgs, o *ResampleOptions) error {
	if a.SrcGrad != nil {
		return nil
	}
	g, t := a.DstGrad, a.SrcTimes
	if !c.tensor("Dst", g) || !c.tensor("SrcTimes", t) {
		return c.err
	}
	if g.Rank() < 2 || t.Rank() < 1 {
		return c.fail("Dst", ErrShape, tensor.FormatShape(g.Shape()), "[B,T,D], [T,D] or packed")
	}
	shape := []int{t.Dim(t.Rank() - 1), g.Dim(g.Rank() - 1)}
	switch {
	case a.SrcOffsets != nil:
	case a.DstOffsets != nil && c.tensor("DstOffsets", a.DstOffsets) && a.DstOffsets.Rank() == 1:
		shape = slices.Insert(shape, 0, max(a.DstOffsets.Len()-1, 0))
	case g.Rank() > 2:
		shape = slices.Insert(shape, 0, g.Dim(0))
	}
	dtype := o.DType
	if dtype == 0 {
		dtype = g.DType()
	}
	if !dtype.IsFloat() {
		return c.fail("Options.DType", ErrDType, dtype.String(), "one of f32, f64, f16, bf16")
	}
	return s.make(c, g, []backend.Output{{Name: "Src", T: &a.SrcGrad, DType: dtype, Shape: shape}})
}

func (s *staging) fuseBackward(a FuseBackwardArgs, o FuseOptions) error {
	c := s.d.gradients("FuseBackward", true)
	job, err := newFuseBackwardJob(c, a, o)
	if err != nil || job.Idle() {
		return err
	}
	dev := a
	dev.Streams = slices.Clone(a.Streams)
	for m := range dev.Streams {
		f := &dev.Streams[m]
		if f.SrcGrad == nil {
			continue
		}
		c.prefix = backend.StreamPrefix(m)
		if err := s.whole(c, "Src", f.SrcGrad); err != nil {
			return err
		}
	}
	for m := range dev.Streams {
		f := &dev.Streams[m]
		f.SrcGrad, f.SrcTimes, f.SrcLengths, f.SrcOffsets = s.out(f.SrcGrad), s.in(f.SrcTimes), s.in(f.SrcLengths), s.in(f.SrcOffsets)
	}
	dev.DstGrad, dev.Targets.Times, dev.DstLengths, dev.DstOffsets = s.in(a.DstGrad), s.in(a.Targets.Times), s.in(a.DstLengths), s.in(a.DstOffsets)
	if s.err != nil {
		return nil // close returns s.err
	}
	plan, err := s.d.PlanFuseBackward(dev, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}
