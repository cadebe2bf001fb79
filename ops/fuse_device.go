package ops

import (
	"context"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanFuse binds Fuse to tensors on the device ("host" tensors for the CPU). It checks all arguments, except the values
// in the tensors. Dst must be set. The plan keeps references to the tensors, so they must stay open as long as it is
// run. The list of streams and its other contents are copied.
func (d *Device) PlanFuse(args FuseArgs, opts FuseOptions) (*Plan, error) {
	return bound(d, &checker{op: "Fuse"}, func(c *checker) (*backend.FuseJob, error) { return newFuseJob(c, args, opts) }, backend.Fuser.Fuse)
}

// Fuse resamples 1 to MaxStreams streams on one clock, writes them side by side to Dst, and returns when it is done.
// Each stream has its own rate, dtype, width and interpolation. Tensors may be on the host or on the device; host
// tensors are copied to a GPU and back. If Dst, Valid or Age is nil, it is allocated on the side (host or device) of
// the first stream's Src. Pad is written only if it is set. The caller closes the allocated tensors. The context, and
// the state after an error, are as in [Device.Resample].
func (d *Device) Fuse(ctx context.Context, args FuseArgs, opts FuseOptions) (FuseResult, error) {
	if err := d.begin(ctx, "Fuse"); err != nil {
		return FuseResult{}, err
	}
	s := staging{ctx: ctx, d: d}
	out, err := s.fuse(args, opts)
	if err = s.end(err, []*tensor.Tensor{args.Dst, args.Valid, args.Age}, []*tensor.Tensor{out.Dst, out.Valid, out.Age}); err != nil {
		return FuseResult{}, err
	}
	return FuseResult{out.Dst, out.Valid, out.Age, out.Pad}, nil
}

func (s *staging) fuse(a FuseArgs, o FuseOptions) (FuseArgs, error) {
	c := &checker{op: "Fuse", device: s.d.home(), mixed: true}
	if err := s.allocateFuse(c, &a, &o); err != nil {
		return a, err
	}
	job, err := newFuseJob(c, a, o)
	if err != nil || job.Idle() {
		return a, err
	}
	if err := s.wholeOnHost(c, a.Dst, a.Valid, a.Age, a.Pad); err != nil {
		return a, err
	}
	dev := a
	dev.Streams = slices.Clone(a.Streams)
	for m := range dev.Streams {
		f := &dev.Streams[m]
		f.Src, f.SrcTimes = s.in(f.Src), s.in(f.SrcTimes)
		f.SrcLengths, f.SrcOffsets, f.SrcStarts = s.in(f.SrcLengths), s.in(f.SrcOffsets), s.in(f.SrcStarts)
	}
	dev.Targets, dev.DstLengths, dev.DstOffsets = s.clock(a.Targets), s.in(a.DstLengths), s.in(a.DstOffsets)
	dev.Dst, dev.Valid, dev.Age, dev.Pad = s.out(a.Dst), s.out(a.Valid), s.out(a.Age), s.out(a.Pad)
	if s.err != nil {
		return a, nil // close returns s.err
	}
	plan, err := s.d.PlanFuse(dev, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}

// allocateFuse allocates the outputs that are nil, on the side (host or device) of the first stream that is not missing.
func (s *staging) allocateFuse(c *checker, a *FuseArgs, o *FuseOptions) error {
	probe := fuseUnder(a, true, LaunchDefault)
	probe.sources(c)
	if c.err != nil {
		return c.err
	}
	dtype := o.DType
	if dtype == 0 {
		dtype = tensor.F32
		if slices.ContainsFunc(a.Streams, func(f FuseStream) bool { return f.Src != nil && f.Src.DType() == tensor.F64 }) {
			dtype = tensor.F64
		}
	}
	if a.Dst == nil && !c.allocatable(a.DstOffsets, a.Targets, dtype, "[N,sum D]") {
		return c.err
	}
	i := slices.IndexFunc(a.Streams, func(f FuseStream) bool { return f.Src != nil })
	like, shape := a.Streams[i].Src, probe.OutShape()
	sides := append(slices.Clip(shape), len(a.Streams))
	return s.make(c, like, []backend.Output{{Name: "Dst", T: &a.Dst, DType: dtype, Shape: append(slices.Clip(shape), probe.D)}, {Name: "Valid", T: &a.Valid, DType: tensor.U8, Shape: sides},
		{Name: "Age", T: &a.Age, DType: probe.Clock, Shape: sides}})
}
