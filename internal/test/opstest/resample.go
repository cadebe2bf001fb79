package opstest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func (c *resampling) name() string { return c.Name }

func (c *resampling) traits() traits {
	return traits{planned: c.Planned, wrong: c.Wrong, modes: modesOf(c.Opts.Launch)}
}

func (c *resampling) describe() string {
	b, s, t, d := c.dims()
	o := c.Opts
	all := []string{o.Interp.String()}
	for _, c := range o.Channels {
		all = append(all, c.Interp.String())
	}
	slices.Sort(all)
	kinds := strings.Join(slices.Compact(all), "+")
	limits := fmt.Sprint(is(o.Snap.Get()), is(o.MaxGap.Get()), is(o.Tolerance.Get()), is(o.Window.Get()), o.FillGaps, o.Fill != ops.Fill{})
	return fmt.Sprintf("B=%d S=%d T=%d D=%d %s->%s,%s clock=%s,%s,%v kind=%s,%v,%s trust=%v launch=%v rows=%v,%v,%v targets=%v,%v,%v,%v,%s src=%s,%s",
		b, s, t, d, c.Src.dtype, c.out(), kinds, c.Times.dtype, o.Interp, o.Edge, o.Interp, o.Edge, strings.ReplaceAll(limits, " ", ","), o.TrustTimes, o.Launch,
		c.SrcLengths != nil, c.SrcOffsets != nil, c.SrcStarts != nil, c.Targets != nil, c.DstLengths != nil, c.DstOffsets != nil, c.Anchors != nil, c.Times.dtype, c.Src.dtype, c.Src.spacing())
}

func is[T any](_ T, given bool) bool { return given }

// spacing describes the gaps between an array's elements, and its alignment within 16 bytes.
func (a *array) spacing() (text string) {
	dense := packed(a.dtype, nil, a.shape...).strides
	for i, stride := range a.strides {
		text += map[bool]string{true: "shared", false: fmt.Sprint((stride - dense[i]) * a.dtype.Size() % 16)}[stride == 0] + ","
	}
	return text + fmt.Sprint(a.offset*a.dtype.Size()%16)
}

func (c *resampling) args(put func(*array) *tensor.Tensor) ops.ResampleArgs {
	a := ops.ResampleArgs{Src: put(c.Src), SrcTimes: put(c.Times), Targets: c.Clock,
		SrcLengths: put(c.SrcLengths), SrcOffsets: put(c.SrcOffsets), SrcStarts: put(c.SrcStarts), DstLengths: put(c.DstLengths), DstOffsets: put(c.DstOffsets)}
	switch {
	case c.Anchors != nil:
		a.Targets = ops.Anchored(put(c.Anchors), put(c.Deltas))
	case c.Targets != nil:
		a.Targets = ops.At(put(c.Targets))
	}
	return a
}

func (c *resampling) plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put)
	shape := c.outShape()
	_, _, _, d := c.dims()
	side := func(name string, dtype tensor.DType) *tensor.Tensor {
		return p.out(name, spaced(dtype, shape, l.sideRow, 0, l.sideOffset), l.end)
	}
	args.Dst = p.out("Dst", spaced(c.out(), append(shape[:len(shape):len(shape)], d), l.step, l.row, l.front), l.end)
	args.Valid, args.Age = side("Valid", tensor.U8), side("Age", c.Times.dtype)
	if c.Pad {
		args.Pad = side("Pad", tensor.U8)
	}
	opts := c.Opts
	opts.Launch = mode
	return p.dev.PlanResample(args, opts)
}

func (c *resampling) call(dev *ops.Device) (*result, error) {
	opts := c.Opts
	opts.DType = c.Out
	args := c.args((*array).host)
	if c.DstOffsets != nil && c.Targets == nil {
		args.Dst = tensor.Must(tensor.New(c.out(), c.Packed, c.Src.shape[len(c.Src.shape)-1]))
	}
	if c.Pad {
		args.Pad = tensor.Must(tensor.New(tensor.U8, c.outShape()...))
	}
	got, err := dev.Resample(context.Background(), args, opts)
	if err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Dst": got.Values, "Valid": got.Valid, "Age": got.Age, "Pad": args.Pad}), nil
}

func (c *resampling) solve(*suite) (*ops.ValueError, func(*result) string) {
	want := solve(c)
	return want.err, func(got *result) string { return want.compare(c, got) }
}

// compare returns a description of the first difference between a result and the expected answer, or "".
func (a *answer) compare(c *resampling, got *result) string {
	d := c.Src.shape[len(c.Src.shape)-1]
	for i := range a.dst {
		if !a.dst[i].ok(c.out(), got.dst[i]) {
			return fmt.Sprintf("Dst, target %d, feature %d: got %s, want %s", i/d, i%d, show(c.out(), got.dst[i]), a.dst[i].show(c.out()))
		}
	}
	if len(a.dst) == 0 && d == 0 {
		return "" // a job without work leaves Valid and Age unchanged
	}
	return sides(got, a.valid, a.age, a.pad)
}

// sides compares the outputs other than Dst, and returns a description of the first difference, or "". pad may be nil.
func sides(got *result, valid, age, pad []uint64) string {
	if pad != nil && got.pad != nil {
		if msg := got.differ("Pad", pad, nil); msg != "" {
			return msg
		}
	}
	if msg := got.differ("Valid", valid, nil); msg != "" {
		return msg
	}
	return got.differ("Age", age, nil)
}
