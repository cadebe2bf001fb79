package opstest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// gradientValues: targets out of order are found where the work is done, and named by row and index, after rows and timestamps that are wrong.
func (s *suite) gradientValues(t *testing.T) {
	src := func() *array { return vals(tensor.F32, make([]float64, 12), 2, 3, 2) }
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	grad := vals(tensor.F32, count0(16), 2, 4, 2)
	for name, c := range map[string]struct {
		x    []int64
		edit func(*resampling)
	}{
		"in the first row":                 {[]int64{0, 2, 1, 0, 0, 1, 2, 3}, nil},
		"in the second row, at its end":    {[]int64{0, 0, 1, 1, 0, 1, 2, 1}, nil},
		"in both":                          {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, nil},
		"from one row to the next, and no": {[]int64{0, 1, 2, 3, 0, 1, 2, 3}, nil},
		"beyond the length":                {[]int64{0, 1, 0, 1, 0, 1, 2, 1}, func(c *resampling) { c.DstLengths = arr([]int64{2, 3}, 2) }},
		"beside timestamps":                {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, func(c *resampling) { c.Times = arr(back, 2, 3) }},
		"beside lengths":                   {[]int64{3, 2, 1, 0, 0, 1, 2, 1}, func(c *resampling) { c.SrcLengths = arr([]int64{3, 4}, 2) }},
		"without samples":                  {[]int64{0, 1, 2, 2, 3, 2, 1, 0}, func(c *resampling) { c.SrcLengths = arr([]int64{3, 0}, 2) }},
		"before one out of range":          {[]int64{0, 2, 1, 9, 0, 1, 1, 2}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"after one out of range":           {[]int64{-1, 2, 1, 2, 0, 1, 1, 2}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"out of range, in order":           {[]int64{0, 1, 2, 2, 0, 1, 2, 3}, func(c *resampling) { c.Opts.Edge = ops.EdgeError }},
		"beyond 2^62":                      {[]int64{0, 1, 2, 1<<62 + 1, 0, 0, 0, 0}, nil},
		"before -2^62":                     {[]int64{math.MinInt64, 1, 2, 3, 0, 0, 0, 0}, nil},
	} {
		r := &resampling{Name: name, Src: src(), Times: arr(good, 2, 3), Targets: arr(c.x, 2, 4)}
		if c.edit != nil {
			c.edit(r)
		}
		s.check(t, single(r, grad), layouts...)
		b := single(r, grad)
		b.Alone = false
		s.check(t, b, layouts...)
		r.Opts.TrustTimes, r.Wrong = true, true
		s.check(t, single(r, grad), layouts...)
	}
	for _, offset := range []time.Duration{1 << 62, -1 << 62, 1} { // a stream's own clock may be out of range where the targets are not
		p := func(offset time.Duration) *part {
			return &part{Offset: offset, resampling: resampling{Src: src(), Times: arr(good, 2, 3)}}
		}
		f := &fusing{Name: "offset", Out: tensor.F32, Streams: []*part{p(0), p(offset)}, Targets: arr([]int64{-1, 0, 1, 2, 0, 0, 1, 3}, 2, 4)}
		s.check(t, gradient(6, f, false, 0), layouts...)
	}
	nan := math.NaN()
	for _, x := range [][]float64{{0, nan, 1, 2}, {nan, 0, 1, 2}, {0, 1, 1, nan}} {
		r := &resampling{Name: "NaN", Src: vals(tensor.F32, make([]float64, 6), 3, 2), Times: vals(tensor.F64, count0(3), 3), Targets: vals(tensor.F64, x, 4)}
		s.check(t, single(r, vals(tensor.F32, count0(8), 4, 2)), layouts...)
	}
	for _, offsets := range [][]int64{{0, 4, 8}, {0, 3, 8}, {0, 0, 8}, {1, 4, 8}} {
		r := &resampling{Name: "packed", Src: src(), Times: arr(good, 2, 3), Targets: arr([]int64{0, 1, 2, 0, 1, 2, 3, 1}, 8), DstOffsets: arr(offsets, 3)}
		s.check(t, single(r, vals(tensor.F32, count0(16), 8, 2)), layouts...)
	}
	for _, c := range noRows() { // the checks of rows and timestamps that have nothing to write
		if linearKinds(&c.Opts) {
			f := &fusing{Name: c.Name, Out: c.out(), Streams: []*part{{resampling: *c}}, Targets: c.Targets, Clock: c.Clock, DstLengths: c.DstLengths, DstOffsets: c.DstOffsets, Packed: c.Packed, Planned: true}
			s.check(t, gradient(1, f, true, 0), layouts...)
		}
	}
	// Trusted rows that are wrong write nothing else.
	for _, times := range [][]int64{back, {math.MaxInt64, math.MinInt64, 0, 5, -5, math.MaxInt64}, {9, 8, 7, 6, 5, 4}} {
		for _, n := range []int64{math.MinInt64, -1, 0, 3, 4, math.MaxInt64} {
			for _, edge := range []ops.Edge{ops.EdgeClamp, ops.EdgeExtrapolate} {
				r := &resampling{Name: "trusted", Src: src(), Times: arr(times, 2, 3), Targets: arr([]int64{3, 2, 9, 0, 0, 1, -2, 1}, 2, 4), SrcLengths: arr([]int64{n, 3}, 2), DstLengths: arr([]int64{2, n}, 2),
					Opts: ops.ResampleOptions{TrustTimes: true, Edge: edge}, Wrong: true}
				s.check(t, single(r, grad), layouts[1])
				r = &resampling{Name: "trusted", Src: vals(tensor.F32, make([]float64, 12), 6, 2), Times: arr(times, 6), SrcOffsets: arr([]int64{n, 3, n}, 3), Targets: arr([]int64{0, 1, 2, 1}, 4),
					DstOffsets: arr([]int64{0, n, 4}, 3), Opts: ops.ResampleOptions{TrustTimes: true, Edge: edge}, Wrong: true}
				s.check(t, single(r, vals(tensor.F32, count0(8), 4, 2)), layouts[1])
			}
		}
	}
}

// gradientCall is a FuseBackward of two streams that would work, to be spoiled: B 2, T 4, widths 8 and 3, times f64.
type gradientCall struct {
	call // its ways to make tensors
	args ops.FuseBackwardArgs
	opts ops.FuseOptions
}

func newGradientCall(put func(*array) *tensor.Tensor) *gradientCall {
	c := &gradientCall{call: call{put: put}}
	c.args.Streams = []ops.FuseBackwardStream{
		{SrcGrad: c.new(tensor.F32, 2, 3, 8), SrcTimes: c.new(tensor.F64, 2, 3), SrcLengths: c.ints(3, 2)},
		{SrcGrad: c.new(tensor.BF16, 2, 5, 3), SrcTimes: c.new(tensor.F64, 5), Scale: make([]float32, 3)},
	}
	c.args.DstGrad, c.args.Targets, c.args.DstLengths = c.new(tensor.F32, 2, 4, 11), ops.At(c.new(tensor.F64, 4)), c.ints(4, 4)
	return c
}

type gradientMisuse struct {
	name, arg string
	kind      error
	spoil     func(*gradientCall)
	plan      bool // only the plan refuses it
}

func gradientMisuses() (all []gradientMisuse) {
	add := func(name, arg string, kind error, spoil func(*gradientCall)) {
		all = append(all, gradientMisuse{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	for _, slot := range []struct {
		name  string
		dtype tensor.DType
		shape []int
		at    func(*gradientCall) **tensor.Tensor
	}{
		{"DstGrad", tensor.F32, []int{2, 4, 11}, func(c *gradientCall) **tensor.Tensor { return &c.args.DstGrad }},
		{"Targets", tensor.F64, []int{2, 4}, func(c *gradientCall) **tensor.Tensor { return &c.args.Targets.Times }},
		{"DstLengths", tensor.I64, []int{2}, func(c *gradientCall) **tensor.Tensor { return &c.args.DstLengths }},
		{"Streams[0].SrcGrad", tensor.F32, []int{2, 3, 8}, func(c *gradientCall) **tensor.Tensor { return &c.args.Streams[0].SrcGrad }},
		{"Streams[0].SrcLengths", tensor.I64, []int{2}, func(c *gradientCall) **tensor.Tensor { return &c.args.Streams[0].SrcLengths }},
		{"Streams[1].SrcGrad", tensor.BF16, []int{2, 5, 3}, func(c *gradientCall) **tensor.Tensor { return &c.args.Streams[1].SrcGrad }},
		{"Streams[1].SrcTimes", tensor.F64, []int{5}, func(c *gradientCall) **tensor.Tensor { return &c.args.Streams[1].SrcTimes }},
	} {
		set := func(what string, kind error, make func(*gradientCall) *tensor.Tensor) {
			add(slot.name+" "+what, slot.name, kind, func(c *gradientCall) { *slot.at(c) = make(c) })
		}
		set("closed", ops.ErrClosed, func(c *gradientCall) *tensor.Tensor { return c.closed(slot.dtype, slot.shape...) })
		set("of another device", ops.ErrWrongDevice, func(c *gradientCall) *tensor.Tensor { return c.foreign(slot.dtype, slot.shape...) })
		set("of i32", ops.ErrDType, func(c *gradientCall) *tensor.Tensor { return c.new(tensor.I32, slot.shape...) })
		set("not contiguous in the last dimension", ops.ErrStride, func(c *gradientCall) *tensor.Tensor { return c.apart(slot.dtype, slot.shape...) })
		set("of rank 4", ops.ErrShape, func(c *gradientCall) *tensor.Tensor { return c.new(slot.dtype, 1, 2, 2, 2) })
	}
	stream := func(name, arg string, kind error, spoil func(s *ops.FuseBackwardStream, c *gradientCall)) {
		add(name, "Streams[1]."+arg, kind, func(c *gradientCall) { spoil(&c.args.Streams[1], c) })
	}
	add("DstGrad missing", "DstGrad", ops.ErrMissing, func(c *gradientCall) { c.args.DstGrad = nil })
	add("no streams", "Streams", ops.ErrShape, func(c *gradientCall) { c.args.Streams = nil })
	add("all streams missing", "Streams", ops.ErrMissing, func(c *gradientCall) { c.args.Streams = []ops.FuseBackwardStream{{Width: 8}, {Width: 3}} })
	stream("SrcTimes missing", "SrcTimes", ops.ErrMissing, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.SrcTimes = nil })
	stream("missing without a width", "Width", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { *s = ops.FuseBackwardStream{} })
	stream("missing with times", "SrcTimes", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.SrcGrad, s.Width = nil, 3 })
	stream("with another batch", "SrcGrad", ops.ErrShape, func(s *ops.FuseBackwardStream, c *gradientCall) { s.SrcGrad = c.new(tensor.F32, 3, 5, 3) })
	stream("with an offset beyond 2^62", "Offset", ops.ErrTooLarge, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Offset = time.Duration(1<<62 + 1) })
	stream("with trust", "Options.TrustTimes", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.TrustTimes = true })
	stream("with a bad edge", "Options.Edge", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.Edge = 99 })
	stream("with a long scale", "Scale", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Scale = make([]float32, 11) })
	stream("with a channel beyond its features", "Channels[0]", ops.ErrShape, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options.Channels = []ops.Channel{{Lo: 0, Hi: 4}} })
	for _, kind := range ops.Interps()[ops.InterpNearest+1:] {
		o := ops.ResampleOptions{Interp: kind, Window: ops.Within(1e9)}
		if 3%kind.Width() == 0 {
			stream("of "+kind.String(), "Options.Interp", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) { s.Options = o })
		}
		table := ops.ResampleOptions{Window: ops.Within(1e9), Channels: []ops.Channel{{Lo: 0, Hi: 1}, {Lo: 2, Hi: 2 + kind.Width(), Interp: kind}}}
		add("with a channel of "+kind.String(), "Streams[0].Channels[1].Interp", ops.ErrOption, func(c *gradientCall) { c.args.Streams[0].Options = table })
	}
	stream("with a kind that no feature has", "Channels[0].Interp", ops.ErrOption, func(s *ops.FuseBackwardStream, _ *gradientCall) {
		s.Options = ops.ResampleOptions{Interp: ops.InterpPchip, Channels: []ops.Channel{{Lo: 0, Hi: 3, Interp: ops.InterpCatmullRom}}}
	})
	add("a bad launch", "Options.Launch", ops.ErrOption, func(c *gradientCall) { c.opts.Launch = 3 })
	add("a dtype", "Options.DType", ops.ErrOption, func(c *gradientCall) { c.opts.DType = tensor.F32 })
	add("an anchored clock", "Targets", ops.ErrOption, func(c *gradientCall) { c.args.Targets = ops.Anchored(c.ints(0, 1), c.ints(0, 1, 2, 3)) })
	add("Targets of another dtype", "Targets", ops.ErrDType, func(c *gradientCall) { c.args.Targets = ops.At(c.new(tensor.F32, 2, 4)) })
	add("lengths and offsets of the targets", "DstLengths", ops.ErrOption, func(c *gradientCall) { c.args.DstOffsets = c.ints(0, 1, 4) })
	add("DstGrad of one stream's width", "DstGrad", ops.ErrShape, func(c *gradientCall) { c.args.DstGrad = c.new(tensor.F32, 2, 4, 8) })
	add("a gradient over DstGrad", "Streams[0].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		both := c.new(tensor.F32, 200)
		c.args.DstGrad = tensor.Must(both.AsStrided([]int{2, 4, 11}, []int{44, 11, 1}, 0))
		c.args.Streams[0].SrcGrad = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 87))
	})
	add("two gradients in one place", "Streams[1].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		both := c.new(tensor.F32, 200)
		c.args.Streams[0].SrcGrad = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 0))
		c.args.Streams[1].SrcGrad = tensor.Must(both.AsStrided([]int{2, 5, 3}, []int{15, 3, 1}, 40))
	})
	all = append(all, gradientMisuse{"rows on each other", "Streams[0].SrcGrad", ops.ErrOverlap, func(c *gradientCall) {
		c.args.Streams[0].SrcGrad = tensor.Must(c.new(tensor.F32, 1, 3, 8).Expand(2, 3, 8))
	}, true})
	return all
}

// gradientMisuse: every wrong call is a typed error that names the argument before anything is written.
func (s *suite) gradientMisuse(t *testing.T) {
	p := &placed{dev: s.dev}
	defer p.close()
	for _, m := range gradientMisuses() {
		check := func(form string, c *gradientCall, run func() error) {
			m.spoil(c)
			var out *tensor.Tensor
			if len(c.args.Streams) > 0 {
				out = c.args.Streams[0].SrcGrad
			}
			s.refused(t, m.name+", "+form, "FuseBackward", m.arg, m.kind, run, out)
		}
		c := newGradientCall(p.put)
		check("plan", c, func() error { _, err := s.dev.PlanFuseBackward(c.args, c.opts); return err })
		if !m.plan {
			c := newGradientCall((*array).host)
			check("call", c, func() error { return s.dev.FuseBackward(context.Background(), c.args, c.opts) })
		}
	}
	require.NoError(t, p.err)
	c := newGradientCall((*array).host)
	assert.NoError(t, s.dev.FuseBackward(context.Background(), c.args, c.opts), "the call that was spoiled")
	s.resampleGradientMisuse(t)
}

// resampleGradientMisuse: those of ResampleBackward that have names or rules of its own.
func (s *suite) resampleGradientMisuse(t *testing.T) {
	for _, m := range []struct {
		arg   string
		kind  error
		spoil func(a *ops.ResampleBackwardArgs, o *ops.ResampleOptions, c *call)
	}{
		{"DstGrad", ops.ErrMissing, func(a *ops.ResampleBackwardArgs, _ *ops.ResampleOptions, _ *call) { a.DstGrad = nil }},
		{"DstGrad", ops.ErrShape, func(a *ops.ResampleBackwardArgs, _ *ops.ResampleOptions, c *call) {
			a.DstGrad = c.new(tensor.F32, 2, 4, 7)
		}},
		{"SrcTimes", ops.ErrMissing, func(a *ops.ResampleBackwardArgs, _ *ops.ResampleOptions, _ *call) { a.SrcTimes = nil }},
		{"SrcGrad", ops.ErrDType, func(a *ops.ResampleBackwardArgs, _ *ops.ResampleOptions, c *call) {
			a.SrcGrad = c.new(tensor.U8, 2, 3, 8)
		}},
		{"SrcGrad", ops.ErrShape, func(a *ops.ResampleBackwardArgs, _ *ops.ResampleOptions, c *call) {
			a.SrcGrad, a.SrcTimes = c.new(tensor.F32, 2, 0, 8), c.new(tensor.F64, 2, 0)
		}},
		{"Options.Interp", ops.ErrOption, func(_ *ops.ResampleBackwardArgs, o *ops.ResampleOptions, _ *call) { o.Interp = ops.InterpSlerp }},
		{"Channels[0].Interp", ops.ErrOption, func(_ *ops.ResampleBackwardArgs, o *ops.ResampleOptions, _ *call) {
			o.Channels = []ops.Channel{{Lo: 2, Hi: 4, Interp: ops.InterpAngle}}
		}},
		{"Options.Launch", ops.ErrOption, func(_ *ops.ResampleBackwardArgs, o *ops.ResampleOptions, _ *call) { o.Launch = 7 }},
		{"Options.DType", ops.ErrDType, func(a *ops.ResampleBackwardArgs, o *ops.ResampleOptions, _ *call) {
			a.SrcGrad, o.DType = nil, tensor.I64
		}},
	} {
		c := &call{put: (*array).host}
		a := ops.ResampleBackwardArgs{SrcGrad: c.new(tensor.F32, 2, 3, 8), DstGrad: c.new(tensor.F32, 2, 4, 8), SrcTimes: c.new(tensor.F64, 2, 3), Targets: ops.At(c.new(tensor.F64, 2, 4))}
		var o ops.ResampleOptions
		m.spoil(&a, &o, c)
		_, err := s.dev.ResampleBackward(context.Background(), a, o)
		var e *ops.ArgError
		if assert.True(t, errors.As(err, &e), "%s: got %v", m.arg, err) {
			assert.Equal(t, [2]string{"ResampleBackward", m.arg}, [2]string{e.Op, e.Arg}, err)
			assert.ErrorIs(t, err, m.kind)
		}
	}
	p := &placed{dev: s.dev}
	defer p.close()
	c := &call{put: p.put}
	_, err := s.dev.PlanResampleBackward(ops.ResampleBackwardArgs{DstGrad: c.new(tensor.F32, 4, 8), SrcTimes: c.new(tensor.F64, 3), Targets: ops.Uniform(0, 1, 4)}, ops.ResampleOptions{})
	assert.ErrorIs(t, err, ops.ErrMissing, "a plan without a SrcGrad")
	require.NoError(t, p.err)
}

// gradientLife: a plan runs again with other gradients, in a batch and in a graph, allocates nothing, and says what is closed.
func (s *suite) gradientLife(t *testing.T) {
	times, grad := s.upload(t, arr([]int64{0, 10, 20}, 3)), s.upload(t, vals(tensor.F32, []float64{1, 2, 4, 8}, 4, 1))
	targets, out := s.upload(t, arr([]int64{0, 5, 20, 25}, 4)), s.alloc(t, tensor.F32, 3, 1)
	args := ops.ResampleBackwardArgs{SrcGrad: out, DstGrad: grad, SrcTimes: times, Targets: ops.At(targets)}
	plan, err := s.dev.PlanResampleBackward(args, ops.ResampleOptions{})
	require.NoError(t, err)
	st := s.stream(t)
	look := func(scale float64) {
		t.Helper()
		require.NoError(t, st.Synchronize(background))
		assert.Equal(t, vals(tensor.F32, []float64{2 * scale, scale, 12 * scale}, 3).raw, s.read(t, out))
	}
	require.NoError(t, plan.Run(st))
	look(1)
	require.NoError(t, s.dev.Copy(context.Background(), grad, vals(tensor.F32, []float64{3, 6, 12, 24}, 4, 1).host()))
	batch, err := s.dev.PlanBatch([]*ops.Plan{plan}, ops.BatchOptions{})
	require.NoError(t, err)
	require.NoError(t, batch.Run(st))
	look(3)
	require.NoError(t, s.dev.Copy(context.Background(), grad, vals(tensor.F32, []float64{2, 4, 8, 16}, 4, 1).host()))
	graph, err := st.Capture(func() error { return plan.Run(st) })
	require.NoError(t, err)
	require.NoError(t, graph.Launch(st))
	look(2)
	assert.Zero(t, fewestAllocations(t, st, func() error { return plan.Run(st) }), "Run allocates")
	other, err := s.dev.PlanResampleBackward(args, ops.ResampleOptions{})
	require.NoError(t, err)
	_, err = s.dev.PlanBatch([]*ops.Plan{plan, other}, ops.BatchOptions{})
	assert.ErrorIs(t, err, ops.ErrOverlap, "two that write one gradient")
	require.NoError(t, s.dev.Copy(context.Background(), targets, arr([]int64{0, 5, 4, 25}, 4).host()))
	for range 2 {
		require.NoError(t, plan.Run(st))
		wantFault(t, st.Synchronize(background), ops.ErrUnsorted, 0, 2)
	}
	require.NoError(t, grad.Close())
	var e *ops.ArgError
	if assert.True(t, errors.As(plan.Run(st), &e)) {
		assert.Equal(t, [2]string{"ResampleBackward", "DstGrad"}, [2]string{e.Op, e.Arg})
	}
	for _, c := range []interface{ Close() error }{graph, batch, other, plan, times, targets, out} {
		assert.NoError(t, c.Close())
	}
}
