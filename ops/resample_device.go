package ops

import (
	"context"
	"errors"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// PlanResample binds Resample to tensors on the device ("host" tensors for the CPU). All arguments are checked here, except
// the values in them. Dst must be given. The plan refers to the tensors: they stay open as long as it is run.
func (d *Device) PlanResample(args ResampleArgs, opts ResampleOptions) (Plan, error) {
	if err := d.open("PlanResample"); err != nil {
		return nil, err
	}
	job, err := newResampleJob(&checker{op: "Resample", device: d.home()}, args, opts)
	if err != nil {
		return nil, err
	}
	return d.backend.Resample(job)
}

// Resample writes Src, sampled at Targets, to Dst, and returns when it is done. Tensors may be on the host or on the device;
// those on the host are copied to the device and back where that is not the host. A Dst, Valid or Age that is not given
// is allocated where Src is; Pad is written only if it is given. It returns the outputs; the caller closes those that were allocated.
func (d *Device) Resample(args ResampleArgs, opts ResampleOptions) (ResampleArgs, error) {
	if err := d.open("Resample"); err != nil {
		return args, err
	}
	s := staging{d: d}
	out, err := s.resample(args, opts)
	if s.failed(err, []*tensor.Tensor{args.Dst, args.Valid, args.Age}, []*tensor.Tensor{out.Dst, out.Valid, out.Age}) {
		out = args
	}
	return out, errors.Join(err, s.close())
}

// home is where tensors of the device say they are.
func (d *Device) home() string {
	if d.info.Backend == "cpu" {
		return "host"
	}
	return d.info.Name
}

// staging keeps the device copies of host tensors during one call.
type staging struct {
	d       *Device
	copies  []*tensor.Tensor
	results [][2]*tensor.Tensor // host tensor, device copy
	err     error
}

func (s *staging) close() error {
	for _, t := range s.copies {
		s.err = errors.Join(s.err, t.Close())
	}
	return s.err
}

// failed reports whether the call did. The outputs that it allocated are then closed.
func (s *staging) failed(err error, given, got []*tensor.Tensor) bool {
	if err == nil && s.err == nil {
		return false
	}
	for i, t := range got {
		if given[i] == nil && t != nil {
			s.err = errors.Join(s.err, t.Close())
		}
	}
	return true
}

// in returns t, or its copy on the device.
func (s *staging) in(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || s.err != nil || !t.OnHost() || s.d.home() == "host" {
		return t
	}
	c, err := s.d.Upload(t)
	if err != nil {
		s.err = err
		return t
	}
	s.copies = append(s.copies, c)
	return c
}

// clock returns the clock with its tensors on the device.
func (s *staging) clock(c Clock) Clock {
	c.Times, c.Anchors, c.Deltas = s.in(c.Times), s.in(c.Anchors), s.in(c.Deltas)
	return c
}

// out returns t, or a device tensor whose contents finish copies to t.
func (s *staging) out(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || s.err != nil || !t.OnHost() || s.d.home() == "host" {
		return t
	}
	c, err := s.d.Alloc(t.DType(), t.Shape()...)
	if err != nil {
		s.err = err
		return t
	}
	s.copies = append(s.copies, c)
	s.results = append(s.results, [2]*tensor.Tensor{t, c})
	return c
}

// keep returns t, or a copy on the device that finish copies back: what is not written stays as it was.
func (s *staging) keep(t *tensor.Tensor) *tensor.Tensor {
	c := s.in(t)
	if c != t {
		s.results = append(s.results, [2]*tensor.Tensor{t, c})
	}
	return c
}

func (s *staging) finish() error {
	for _, r := range s.results {
		if err := s.d.Copy(r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *staging) resample(a ResampleArgs, o ResampleOptions) (ResampleArgs, error) {
	c := &checker{op: "Resample", device: s.d.home(), mixed: true}
	if err := s.allocate(c, &a, &o); err != nil {
		return a, err
	}
	// Everything is checked once here, with tensors wherever they are, so that nothing is copied for a call that fails.
	job, err := newResampleJob(c, a, o)
	if err != nil || job.Idle() {
		return a, err
	}
	if err := s.wholeOnHost(c, a.Dst, a.Valid, a.Age, a.Pad); err != nil {
		return a, err
	}
	out := s.out
	if job.Empty() { // a check, which leaves outputs as they are
		out = s.in
	}
	dev := a
	dev.Src, dev.SrcTimes, dev.Targets = s.in(a.Src), s.in(a.SrcTimes), s.clock(a.Targets)
	dev.SrcLengths, dev.SrcOffsets, dev.SrcStarts = s.in(a.SrcLengths), s.in(a.SrcOffsets), s.in(a.SrcStarts)
	dev.DstLengths, dev.DstOffsets = s.in(a.DstLengths), s.in(a.DstOffsets)
	dev.Dst, dev.Valid, dev.Age, dev.Pad = out(a.Dst), out(a.Valid), out(a.Age), out(a.Pad)
	if s.err != nil {
		return a, nil // close returns it
	}
	plan, err := s.d.PlanResample(dev, o)
	if err != nil {
		return a, err
	}
	return a, s.run(plan)
}

// run runs the plan once, copies the results back and closes it.
func (s *staging) run(plan Plan) error {
	// A stream of its own: one call's errors in values must not reach another's.
	stream, err := s.d.backend.NewQueue()
	if err != nil {
		return errors.Join(err, plan.Close())
	}
	if err = plan.Run(stream); err == nil {
		err = stream.Synchronize(context.Background())
	}
	if err == nil {
		err = s.finish()
	}
	return errors.Join(err, stream.Close(), plan.Close())
}

// allocate makes the outputs that were not given, where Src is.
func (s *staging) allocate(c *checker, a *ResampleArgs, o *ResampleOptions) error {
	probe := &ResampleJob{ResampleArgs: *a}
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
	return s.make(c, a.Src, []output{{"Dst", &a.Dst, dtype, append(slices.Clip(shape), probe.D)}, {"Valid", &a.Valid, tensor.U8, shape}, {"Age", &a.Age, probe.ClockType(), shape}})
}

// allocatable checks that a Dst which was not given can be made.
func (c *checker) allocatable(offsets *tensor.Tensor, targets Clock, dtype tensor.DType, shape string) bool {
	if offsets != nil && targets.Times == nil {
		c.set("Dst", ErrMissing, "nil, with DstOffsets and a uniform clock", "a tensor "+shape)
	}
	if !dtype.IsFloat() {
		c.set("Options.DType", ErrDType, dtype.String(), "one of f32, f64, f16, bf16")
	}
	return c.err == nil
}

// output is an output with what it has to be.
type output struct {
	name  string
	t     **tensor.Tensor
	dtype tensor.DType
	shape []int
}

// make allocates the outputs that were not given, where an input is.
func (s *staging) make(c *checker, like *tensor.Tensor, outputs []output) error {
	for _, o := range outputs {
		if *o.t != nil {
			continue
		}
		if n, err := tensor.NumElements(o.shape...); err != nil || n > tensor.MaxBytes/o.dtype.Size() {
			return c.fail(o.name, ErrTooLarge, o.dtype.String()+" "+tensor.FormatShape(o.shape), "at most 2^62 bytes")
		}
		var err error
		if like.OnHost() {
			*o.t, err = newHost(o.dtype, o.shape)
		} else {
			*o.t, err = s.d.Alloc(o.dtype, o.shape...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeOnHost checks that host outputs are contiguous where they are copied back from a device.
func (s *staging) wholeOnHost(c *checker, outputs ...*tensor.Tensor) error {
	for i, t := range outputs {
		if err := s.whole(c, []string{"Dst", "Valid", "Age", "Pad"}[i], t); err != nil {
			return err
		}
	}
	return nil
}

// whole checks one of them.
func (s *staging) whole(c *checker, arg string, t *tensor.Tensor) error {
	if t != nil && t.OnHost() && s.d.home() != "host" && !t.IsContiguous() {
		return c.fail(arg, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous host tensor, or a device tensor")
	}
	return nil
}
