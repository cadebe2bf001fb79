package opstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseCall is a Fuse of two streams that would work, to be spoiled: B 2, T 4, widths 8 and 3, times f64.
type fuseCall struct {
	call // its put and its ways to make tensors
	args ops.FuseArgs
	opts ops.FuseOptions
}

func newFuseCall(put func(*array) *tensor.Tensor) *fuseCall {
	c := &fuseCall{call: call{put: put}}
	c.args.Streams = []ops.FuseStream{
		{Src: c.new(tensor.F32, 2, 3, 8), SrcTimes: c.new(tensor.F64, 2, 3), SrcLengths: c.ints(3, 2)},
		{Src: c.new(tensor.BF16, 2, 5, 3), SrcTimes: c.new(tensor.F64, 5), Shift: make([]float32, 3), Scale: make([]float32, 3)},
	}
	c.args.Targets = ops.At(c.new(tensor.F64, 2, 4))
	c.args.DstLengths = c.ints(4, 4)
	c.args.Dst, c.args.Valid, c.args.Age = c.new(tensor.F32, 2, 4, 11), c.new(tensor.U8, 2, 4, 2), c.new(tensor.F64, 2, 4, 2)
	return c
}

type fuseMisuse struct {
	name, arg string
	kind      error
	spoil     func(*fuseCall)
	plan      bool // only the plan refuses it
}

func fuseMisuses() (all []fuseMisuse) {
	add := func(name, arg string, kind error, spoil func(*fuseCall)) {
		all = append(all, fuseMisuse{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	for _, slot := range []struct {
		name  string
		dtype tensor.DType
		shape []int
		at    func(*fuseCall) **tensor.Tensor
	}{
		{"Dst", tensor.F32, []int{2, 4, 11}, func(c *fuseCall) **tensor.Tensor { return &c.args.Dst }},
		{"Valid", tensor.U8, []int{2, 4, 2}, func(c *fuseCall) **tensor.Tensor { return &c.args.Valid }},
		{"Age", tensor.F64, []int{2, 4, 2}, func(c *fuseCall) **tensor.Tensor { return &c.args.Age }},
		{"Targets", tensor.F64, []int{2, 4}, func(c *fuseCall) **tensor.Tensor { return &c.args.Targets.Times }},
		{"DstLengths", tensor.I64, []int{2}, func(c *fuseCall) **tensor.Tensor { return &c.args.DstLengths }},
		{"Streams[0].Src", tensor.F32, []int{2, 3, 8}, func(c *fuseCall) **tensor.Tensor { return &c.args.Streams[0].Src }},
		{"Streams[0].SrcLengths", tensor.I64, []int{2}, func(c *fuseCall) **tensor.Tensor { return &c.args.Streams[0].SrcLengths }},
		{"Streams[1].Src", tensor.BF16, []int{2, 5, 3}, func(c *fuseCall) **tensor.Tensor { return &c.args.Streams[1].Src }},
		{"Streams[1].SrcTimes", tensor.F64, []int{5}, func(c *fuseCall) **tensor.Tensor { return &c.args.Streams[1].SrcTimes }},
	} {
		set := func(what string, kind error, make func(*fuseCall) *tensor.Tensor) {
			add(slot.name+" "+what, slot.name, kind, func(c *fuseCall) { *slot.at(c) = make(c) })
		}
		set("closed", ops.ErrClosed, func(c *fuseCall) *tensor.Tensor { return c.closed(slot.dtype, slot.shape...) })
		set("of another device", ops.ErrWrongDevice, func(c *fuseCall) *tensor.Tensor { return c.foreign(slot.dtype, slot.shape...) })
		set("of i32", ops.ErrDType, func(c *fuseCall) *tensor.Tensor { return c.new(tensor.I32, slot.shape...) })
		set("not contiguous in the last dimension", ops.ErrStride, func(c *fuseCall) *tensor.Tensor { return c.apart(slot.dtype, slot.shape...) })
		set("of rank 4", ops.ErrShape, func(c *fuseCall) *tensor.Tensor { return c.new(slot.dtype, 1, 2, 2, 2) })
	}
	stream := func(name, arg string, kind error, spoil func(s *ops.FuseStream, c *fuseCall)) {
		add(name, "Streams[1]."+arg, kind, func(c *fuseCall) { spoil(&c.args.Streams[1], c) })
	}
	add("no streams", "Streams", ops.ErrShape, func(c *fuseCall) { c.args.Streams = nil })
	add("17 streams", "Streams", ops.ErrShape, func(c *fuseCall) { c.args.Streams = make([]ops.FuseStream, 17) })
	add("all streams missing", "Streams", ops.ErrMissing, func(c *fuseCall) { c.args.Streams = []ops.FuseStream{{Width: 8}, {Width: 3}} })
	stream("SrcTimes missing", "SrcTimes", ops.ErrMissing, func(s *ops.FuseStream, _ *fuseCall) { s.SrcTimes = nil })
	stream("missing without a width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { *s = ops.FuseStream{} })
	stream("missing with a negative width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { *s = ops.FuseStream{Width: -3} })
	stream("missing with times", "SrcTimes", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Src, s.Width = nil, 3 })
	stream("without features", "Width", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 2, 5, 0) })
	stream("with another width", "Width", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Width = 4 })
	stream("with a clock of another dtype", "SrcTimes", ops.ErrDType, func(s *ops.FuseStream, c *fuseCall) { s.SrcTimes = c.new(tensor.I64, 2, 5) })
	stream("with another batch", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 3, 5, 3) })
	stream("without a batch", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) { s.Src = c.new(tensor.F32, 5, 3) })
	stream("with packed rows that are not as many", "Src", ops.ErrShape, func(s *ops.FuseStream, c *fuseCall) {
		s.Src, s.SrcTimes, s.SrcOffsets = c.new(tensor.F32, 5, 3), c.new(tensor.F64, 5), c.ints(0, 2, 3, 5)
	})
	stream("with lengths and offsets", "SrcLengths", ops.ErrOption, func(s *ops.FuseStream, c *fuseCall) { s.SrcLengths, s.SrcOffsets = c.ints(1, 2), c.ints(0, 2, 5) })
	noRows := func(c *fuseCall) {
		c.args.DstLengths, c.args.Streams = nil, []ops.FuseStream{{Width: 8}, {Src: c.new(tensor.BF16, 0, 3), SrcTimes: c.new(tensor.F64, 0), SrcOffsets: c.ints(0)}}
		c.args.Targets.Times, c.args.Dst, c.args.Valid, c.args.Age = c.new(tensor.F64, 0, 4), c.new(tensor.F32, 0, 4, 11), c.new(tensor.U8, 0, 4, 2), c.new(tensor.F64, 0, 4, 2)
	}
	add("offsets of no rows for 5 samples", "Streams[1].SrcOffsets", ops.ErrShape, func(c *fuseCall) {
		noRows(c)
		c.args.Streams[1].Src, c.args.Streams[1].SrcTimes = c.new(tensor.BF16, 5, 3), c.new(tensor.F64, 5)
	})
	add("offsets of no rows for 4 targets", "DstOffsets", ops.ErrShape, func(c *fuseCall) {
		noRows(c)
		c.args.DstOffsets, c.args.Targets.Times = c.ints(0), c.new(tensor.F64, 4)
	})
	stream("with an offset beyond 2^62", "Offset", ops.ErrTooLarge, func(s *ops.FuseStream, _ *fuseCall) { s.Offset = time.Duration(1<<62 + 1) })
	stream("with an offset of the least int64", "Offset", ops.ErrTooLarge, func(s *ops.FuseStream, _ *fuseCall) { s.Offset = math.MinInt64 })
	stream("with a dtype", "Options.DType", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.DType = tensor.F32 })
	stream("with trust", "Options.TrustTimes", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.TrustTimes = true })
	stream("with a launch", "Options.Launch", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Launch = ops.LaunchDependent })
	add("a bad launch", "Options.Launch", ops.ErrOption, func(c *fuseCall) { c.opts.Launch = 3 })
	stream("with a bad kind", "Options.Interp", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Interp = 99 })
	stream("with a bad edge", "Options.Edge", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Edge = 99 })
	stream("with slerp of 3", "Options", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Interp = ops.InterpSlerp })
	stream("with a negative gap", "Options.MaxGap", ops.ErrOption, func(s *ops.FuseStream, _ *fuseCall) { s.Options.MaxGap = ops.Within(-1) })
	stream("with a channel beyond its features", "Channels[0]", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Options.Channels = []ops.Channel{{Lo: 0, Hi: 4}} })
	stream("with a short shift", "Shift", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Shift = s.Shift[:2] })
	stream("with a long scale", "Scale", ops.ErrShape, func(s *ops.FuseStream, _ *fuseCall) { s.Scale = make([]float32, 11) })
	clipMisuses(add)
	add("a clock without a rate", "Targets.Rate", ops.ErrOption, func(c *fuseCall) { c.args.Targets = ops.Clock{} })
	add("Targets of another dtype", "Targets", ops.ErrDType, func(c *fuseCall) { c.args.Targets = ops.At(c.new(tensor.F32, 2, 4)) })
	add("lengths and offsets of the targets", "DstLengths", ops.ErrOption, func(c *fuseCall) { c.args.DstOffsets = c.ints(0, 1, 4) })
	add("Dst of one stream's width", "Dst", ops.ErrShape, func(c *fuseCall) { c.args.Dst = c.new(tensor.F32, 2, 4, 8) })
	add("Valid without streams", "Valid", ops.ErrShape, func(c *fuseCall) { c.args.Valid = c.new(tensor.U8, 2, 4) })
	add("Age over a stream's times", "Age", ops.ErrOverlap, func(c *fuseCall) {
		both := c.new(tensor.F64, 20)
		c.args.Age = tensor.Must(both.AsStrided([]int{2, 4, 2}, []int{8, 2, 1}, 0))
		c.args.Streams[1].SrcTimes = tensor.Must(both.AsStrided([]int{5}, []int{1}, 15))
	})
	all = append(all, fuseMisuse{"Dst missing", "Dst", ops.ErrMissing, func(c *fuseCall) { c.args.Dst = nil }, true},
		fuseMisuse{"Dst with rows on each other", "Dst", ops.ErrOverlap, func(c *fuseCall) { c.args.Dst = tensor.Must(c.new(tensor.F32, 1, 4, 11).Expand(2, 4, 11)) }, true})
	return all
}

// fuseMisuse: every wrong call is a typed error that names the argument, with the stream's index, before anything is written.
func (s *suite) fuseMisuse(t *testing.T) {
	p := &placed{dev: s.dev}
	defer p.close()
	for _, m := range fuseMisuses() {
		check := func(form string, c *fuseCall, run func() error) {
			m.spoil(c)
			s.refused(t, m.name+", "+form, "Fuse", m.arg, m.kind, run, c.args.Dst)
		}
		c := newFuseCall(p.put)
		check("plan", c, func() error { _, err := s.dev.PlanFuse(c.args, c.opts); return err })
		if !m.plan {
			c := newFuseCall((*array).host)
			check("call", c, func() error { _, err := s.dev.Fuse(context.Background(), c.args, c.opts); return err })
		}
	}
	require.NoError(t, p.err)
	c := newFuseCall((*array).host)
	c.args.Dst, c.opts.DType = nil, tensor.I32
	_, err := s.dev.Fuse(context.Background(), c.args, c.opts)
	assert.ErrorIs(t, err, ops.ErrDType)
	c = newFuseCall((*array).host)
	_, err = s.dev.Fuse(context.Background(), c.args, c.opts)
	assert.NoError(t, err, "the call that was spoiled")
}

// fuseValues: of several bad values the first by class, stream, row and index is reported, and its stream named.
func (s *suite) fuseValues(t *testing.T) {
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	stream := func(times []int64, edit ...func(*part)) *part {
		p := &part{resampling: resampling{Src: vals(tensor.F32, make([]float64, 12), 2, 3, 2), Times: arr(times, 2, 3)}}
		for _, e := range edit {
			e(p)
		}
		return p
	}
	length := func(a, b int64) func(*part) { return func(p *part) { p.SrcLengths = arr([]int64{a, b}, 2) } }
	edge := func(p *part) { p.Opts.Edge = ops.EdgeError }
	offset := func(d time.Duration) func(*part) { return func(p *part) { p.Offset = d } }
	cases := map[string][]*part{
		"unsorted in the second":                    {stream(good), stream(back)},
		"unsorted in both":                          {stream([]int64{0, 1, 2, 2, 1, 0}), stream([]int64{2, 1, 0, 0, 0, 0})},
		"unsorted in the first, rows in the second": {stream(back), stream(good, length(1, 4))},
		"rows in both":                              {stream(good, length(1, 4)), stream(good, length(-1, 2))},
		"out of range in the second":                {stream(good), stream(good, edge, offset(1))},
		"out of range in both, unsorted in a third": {stream(good, edge, offset(-1)), stream(good, edge, offset(1)), stream(back)},
		"out of range in a stream that may hold":    {stream(good, offset(1)), stream(good)},
		"targets beyond 2^62 through an offset":     {stream(good), stream(good, offset(1<<62)), stream(good, offset(-1<<62))},
		"no samples is no error":                    {stream(good, length(0, 0), edge), stream(good, length(3, 0))},
	}
	for name, streams := range cases {
		f := &fusing{Name: name, Out: tensor.F32, Streams: streams, Targets: arr([]int64{0, 2, 1, 0}, 2, 2)}
		if name == "targets beyond 2^62 through an offset" {
			f.Targets = arr([]int64{0, -1, 1, 0}, 2, 2)
		}
		s.check(t, f, layouts...)
		f.Out = tensor.F16 // another kernel
		s.check(t, f, layouts...)
		first := f.Streams[0].Opts
		f.Streams[0].Opts.Interp = ops.InterpAngle // a third, which makes the others' features as the second does
		s.check(t, f, layouts...)
		f.Out, f.Streams[0].Opts = tensor.F32, first
		f.DstLengths = arr([]int64{2, 3}, 2)
		s.check(t, f, layouts...)
	}
	bad := &fusing{Name: "trusted", Out: tensor.F32, Trust: true, Streams: []*part{stream([]int64{math.MaxInt64, math.MinInt64, 5, -5, 0, 9}, length(math.MinInt64, 9)), {Width: 4}}, Targets: arr([]int64{0, 1, 2, math.MaxInt64}, 2, 2)}
	bad.DstLengths = arr([]int64{-1, math.MaxInt64}, 2)
	_, err := planned(s.dev, bad, layouts[1], ops.LaunchDefault, 1)
	assert.NoError(t, err, "trusted bad times write nothing else")
}

// fuseLife: a plan is made once and runs many times, in a graph too, without allocating; what is closed says so.
func (s *suite) fuseLife(t *testing.T) {
	p := &placed{dev: s.dev}
	c := newFuseCall(p.put)
	require.NoError(t, p.err)
	plan, err := s.dev.PlanFuse(c.args, c.opts)
	require.NoError(t, err)
	c.args.Streams[1].Scale[0] = 5 // copied when the plan was made
	c.args.Streams = nil
	st := s.stream(t)
	run := func() error { return plan.Run(st) }
	require.NoError(t, run())
	require.NoError(t, st.Synchronize(background))
	first := s.read(t, c.args.Dst)
	g, err := st.Capture(run)
	require.NoError(t, err)
	for name, again := range map[string]func() error{"Run": run, "Launch": func() error { return g.Launch(st) }} {
		require.NoError(t, s.dev.Copy(context.Background(), c.args.Dst, tensor.Must(tensor.New(tensor.F32, 2, 4, 11))))
		least := 1e9
		for range 3 { // the runtime itself may allocate at any time
			var failed error
			least = min(least, testing.AllocsPerRun(10, func() { failed = errors.Join(failed, again()) }))
			require.NoError(t, failed)
			require.NoError(t, st.Synchronize(background))
		}
		assert.Zero(t, least, name)
		assert.Equal(t, first, s.read(t, c.args.Dst), name)
	}
	again := newFuseCall(p.put)
	again.args.Streams[0].SrcLengths = s.upload(t, arr([]int64{3, 2}, 2))
	require.NoError(t, s.dev.Copy(context.Background(), again.args.Streams[1].SrcTimes, tensor.Must(tensor.Of([]float64{0, 1, 3, 2, 4}, 5))))
	bad, err := s.dev.PlanFuse(again.args, again.opts)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, bad.Run(st))
		require.NoError(t, plan.Run(st))
		err := st.Synchronize(background)
		wantFault(t, err, ops.ErrUnsorted, 0, 3)
		assert.ErrorContains(t, err, "ops.Fuse: Streams[1].SrcTimes: ")
		assert.NoError(t, st.Synchronize(background), "the same error twice")
	}
	require.NoError(t, again.args.Streams[0].SrcLengths.Close())
	var e *ops.ArgError
	require.True(t, errors.As(bad.Run(st), &e))
	assert.Equal(t, [2]any{"Streams[0].SrcLengths", ops.ErrClosed}, [2]any{e.Arg, e.Kind})
	require.NoError(t, errors.Join(g.Close(), bad.Close(), plan.Close(), plan.Close()))
	assert.ErrorIs(t, plan.Run(st), ops.ErrClosed)
	require.NoError(t, p.close())
	memory := func() int64 {
		if s.cfg.MemoryInUse == nil {
			return 0
		}
		return s.cfg.MemoryInUse()
	}
	before := int64(0)
	for i := range 51 {
		if i == 1 { // what the last call freed may still be on its way
			before = memory()
		}
		f := &fusing{Name: fmt.Sprint("call ", i), Out: tensor.F32, Streams: []*part{constant(1, 3, 2), {Width: 2}}, Targets: vals(tensor.F64, []float64{0, 1}, 2)}
		f.Streams[0].Times.raw[i%3] = encode(tensor.F64, []float64{0, 1, 2}[i%3]-float64(i%2*2))
		_, err := f.call(s.dev)
		var e *ops.ValueError
		require.True(t, err == nil || errors.As(err, &e), "%v", err)
	}
	assert.LessOrEqual(t, memory(), before, "bytes of device memory in use")
}
