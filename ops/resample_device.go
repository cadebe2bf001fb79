package ops

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanResample binds Resample to tensors on the device ("host" tensors for the CPU). It checks all arguments, except
// the values in the tensors. Dst must be set. The plan keeps references to the tensors, so they must stay open as long
// as it is run.
func (d *Device) PlanResample(args ResampleArgs, opts ResampleOptions) (*Plan, error) {
	return bound(d, &checker{op: "Resample"}, func(c *checker) (*backend.ResampleJob, error) { return newResampleJob(c, args, opts) }, backend.Resampler.Resample)
}

// Resample samples Src at the times Targets, writes the result to Dst, and returns when it is done. Tensors may be on
// the host or on the device; host tensors are copied to a GPU and back. If Dst, Valid or Age is nil, it is allocated on
// Src's side (host or device). Pad is written only if it is set. The caller closes the allocated tensors.
//
// If the context ends before the work begins, nothing is written. If it ends later, the call returns the context's
// error once the device has finished with the tensors, and their contents are unspecified. After an error the result is
// empty, and the allocated tensors are closed.
func (d *Device) Resample(ctx context.Context, args ResampleArgs, opts ResampleOptions) (ResampleResult, error) {
	if err := d.begin(ctx, "Resample"); err != nil {
		return ResampleResult{}, err
	}
	s := staging{ctx: ctx, d: d}
	out, err := s.resample(args, opts)
	if err = s.end(err, []*tensor.Tensor{args.Dst, args.Valid, args.Age}, []*tensor.Tensor{out.Dst, out.Valid, out.Age}); err != nil {
		return ResampleResult{}, err
	}
	return ResampleResult{out.Dst, out.Valid, out.Age, out.Pad}, nil
}

// begin returns an error if the device is closed or the context has ended.
func (d *Device) begin(ctx context.Context, op string) error {
	if err := d.open(op); err != nil {
		return err
	}
	return ctx.Err()
}

func (s *staging) resample(a ResampleArgs, o ResampleOptions) (ResampleArgs, error) {
	c := &checker{op: "Resample", device: s.d.home(), mixed: true}
	if err := s.allocate(c, &a, &o); err != nil {
		return a, err
	}
	// All arguments are checked here, wherever their tensors are, so that nothing is copied for an invalid call.
	job, err := newResampleJob(c, a, o)
	if err != nil || job.Idle() {
		return a, err
	}
	if err := s.wholeOnHost(c, a.Dst, a.Valid, a.Age, a.Pad); err != nil {
		return a, err
	}
	out := s.out
	if job.Empty() { // the run only checks values, and writes no output
		out = s.in
	}
	dev := a
	dev.Src, dev.SrcTimes, dev.Targets = s.in(a.Src), s.in(a.SrcTimes), s.clock(a.Targets)
	dev.SrcLengths, dev.SrcOffsets, dev.SrcStarts = s.in(a.SrcLengths), s.in(a.SrcOffsets), s.in(a.SrcStarts)
	dev.DstLengths, dev.DstOffsets = s.in(a.DstLengths), s.in(a.DstOffsets)
	dev.Dst, dev.Valid, dev.Age, dev.Pad = out(a.Dst), out(a.Valid), out(a.Age), out(a.Pad)
	if s.err != nil {
		return a, nil // close returns s.err
	}
	plan, err := s.d.PlanResample(dev, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}

// allocate allocates the outputs that are nil, on the side (host or device) of Src.
func (s *staging) allocate(c *checker, a *ResampleArgs, o *ResampleOptions) error {
	probe := resampleCheck{&backend.ResampleJob{ResampleTensors: backend.ResampleTensors(*a)}}
	probe.checkSource(c)
	probe.checkTargets(c)
	if c.err != nil {
		return c.err
	}
	dtype := o.DType
	if dtype == 0 {
		dtype = a.Src.DType()
	}
	if a.Dst == nil && !c.allocatable(a.DstOffsets, a.Targets, dtype, "[N,D]") {
		return c.err
	}
	shape := probe.OutShape()
	return s.make(c, a.Src, []backend.Output{{Name: "Dst", T: &a.Dst, DType: dtype, Shape: append(slices.Clip(shape), probe.D)}, {Name: "Valid", T: &a.Valid, DType: tensor.U8, Shape: shape},
		{Name: "Age", T: &a.Age, DType: probe.ClockType(), Shape: shape}})
}

// allocatable sets an error if a missing Dst cannot be allocated: its length is unknown, or the dtype is not a float. It returns true
// if there is no error so far.
func (c *checker) allocatable(offsets *tensor.Tensor, targets Clock, dtype tensor.DType, shape string) bool {
	if offsets != nil && targets.Times == nil {
		c.set("Dst", ErrMissing, "nil, with DstOffsets and a uniform clock", "a tensor "+shape)
	}
	if !dtype.IsFloat() {
		c.set("Options.DType", ErrDType, dtype.String(), "one of f32, f64, f16, bf16")
	}
	return c.err == nil
}

// make allocates the outputs that are nil, on the side (host or device) of the tensor like. The error is an *ArgError for a shape
// over 2^62 bytes, or a *MemoryError.
func (s *staging) make(c *checker, like *tensor.Tensor, outputs []backend.Output) error {
	for _, o := range outputs {
		if *o.T != nil {
			continue
		}
		if n, err := tensor.NumElements(o.Shape...); err != nil || n > tensor.MaxBytes/o.DType.Size() {
			return c.fail(o.Name, ErrTooLarge, o.DType.String()+" "+tensor.FormatShape(o.Shape), "at most 2^62 bytes")
		}
		var err error
		if like.OnHost() {
			*o.T, err = backend.NewHost(o.DType, o.Shape)
		} else {
			*o.T, err = s.d.Alloc(o.DType, o.Shape...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeOnHost returns an error if an output on the host is not contiguous, although it must be copied back from a device.
func (s *staging) wholeOnHost(c *checker, outputs ...*tensor.Tensor) error {
	for i, t := range outputs {
		if err := s.whole(c, []string{"Dst", "Valid", "Age", "Pad"}[i], t); err != nil {
			return err
		}
	}
	return nil
}

// whole returns that error for one output.
func (s *staging) whole(c *checker, arg string, t *tensor.Tensor) error {
	if t != nil && t.OnHost() && s.d.home() != "host" && !t.IsContiguous() {
		return c.fail(arg, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous host tensor, or a device tensor")
	}
	return nil
}
