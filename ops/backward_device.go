package ops

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanResampleBackward binds ResampleBackward to tensors on the device ("host" tensors for the CPU). All arguments are checked here, except the values
// in them. SrcGrad must be given. The plan refers to the tensors: they stay open as long as it is run.
func (d *Device) PlanResampleBackward(args ResampleBackwardArgs, opts ResampleOptions) (*Plan, error) {
	return bound(d, d.gradients("ResampleBackward", false), func(c *checker) (*backend.BackwardJob, error) { return newResampleBackwardJob(c, args, opts) }, backend.Differentiator.Backward)
}

// ResampleBackward writes to SrcGrad the gradient of Resample with respect to its values, given the gradient with respect to what it wrote, and
// returns when it is done. Options are those that Resample had, with kinds of Linear, Previous, Next and Nearest; others are refused. Tensors may be on
// the host or on the device, as in Resample. A SrcGrad that is not given is allocated where DstGrad is, of Options.DType or DstGrad's dtype. The
// caller closes one that was allocated. The context, and what an error leaves, are as in [Device.Resample].
//
// Each target gives its DstGrad to the samples that Resample made it of: all of it to the one whose bits it took (a hit, also by Snap, a held end, and the
// kinds that look at one sample), and of a Linear channel between two samples (1-a) of it to the first and a of it to the second, with the a of
// Resample: beyond the ends as well under Extrapolate. A target that has the fill value gives nothing, and neither does a NaN target:
// the NaN that Resample writes depends on no sample, whereas a NaN here would spoil the gradient of samples that had no part in it.
//
// Each sample adds up what its targets give in the order of the targets, from 0, in the type that Resample computes in: float64 if SrcGrad is f64, else float32, to which a
// DstGrad of f64 is rounded first. Products and sums round on their own, the sum is rounded once to SrcGrad's dtype: the same bits in every run, on
// every backend.
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

// PlanFuseBackward binds FuseBackward to tensors on the device, as PlanFuse does Fuse.
func (d *Device) PlanFuseBackward(args FuseBackwardArgs, opts FuseOptions) (*Plan, error) {
	return bound(d, d.gradients("FuseBackward", false), func(c *checker) (*backend.BackwardJob, error) { return newFuseBackwardJob(c, args, opts) }, backend.Differentiator.Backward)
}

// FuseBackward writes to each stream's SrcGrad the gradient of Fuse with respect to that stream's values, and returns when it is done. A stream's
// gradient is what ResampleBackward gives for its columns of DstGrad; where it has a Scale, each is rounded to float32 and multiplied by Scale[d] first,
// in float32. Rows without samples have no gradient, and are no error. Options.DType is not for this operation. Tensors may be on the host or on the
// device, as in Fuse.
func (d *Device) FuseBackward(ctx context.Context, args FuseBackwardArgs, opts FuseOptions) error {
	if err := d.begin(ctx, "FuseBackward"); err != nil {
		return err
	}
	s := staging{ctx: ctx, d: d}
	err := s.fuseBackward(args, opts)
	return errors.Join(err, s.close())
}

// gradients checks the arguments of an operation that has gradients where the forward one has values.
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
		return a, nil // close returns it
	}
	plan, err := s.d.PlanResampleBackward(dev, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}

// allocateGradient makes a SrcGrad that was not given, where DstGrad is.
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
		return nil // close returns it
	}
	plan, err := s.d.PlanFuseBackward(dev, o)
	if err != nil {
		return err
	}
	return s.run(plan)
}
