package opstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// elsewhere is memory of a device that is not the one under test.
type elsewhere struct{ size int64 }

func (e elsewhere) Addr() uint64   { return 1 << 40 }
func (e elsewhere) Size() int64    { return e.size }
func (e elsewhere) Device() string { return "elsewhere:0" }
func (e elsewhere) Close() error   { return nil }

// call is a Resample that would work, to be spoiled.
type call struct {
	ops.ResampleArgs
	opts ops.ResampleOptions
	put  func(*array) *tensor.Tensor // onto the device, or the host
}

func (c *call) new(dtype tensor.DType, shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	raw := make([]uint64, n)
	for i := range raw {
		raw[i] = encode(dtype, float64(i))
	}
	return c.put(packed(dtype, raw, shape...))
}

// apart returns a tensor whose last dimension is not contiguous.
func (c *call) apart(dtype tensor.DType, shape ...int) *tensor.Tensor {
	last := len(shape) - 1
	wide := append(append([]int(nil), shape[:last]...), shape[last]*2)
	t := c.new(dtype, wide...)
	strides := t.Strides()
	strides[last] = 2
	return tensor.Must(t.AsStrided(shape, strides, 0))
}

func (c *call) closed(dtype tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.Must(tensor.New(dtype, shape...))
	t.Close()
	return t
}

func (c *call) foreign(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.OnDevice(elsewhere{1 << 20}, dtype, shape...))
}

func (c *call) ints(data ...int64) *tensor.Tensor { return c.put(arr(data, len(data))) }

// slot is a tensor argument of Resample with the shape and dtype it has in these tests.
type slot struct {
	name  string
	dtype tensor.DType
	shape []int
	at    func(*call) **tensor.Tensor
}

// The call under test has B 2, S 3, T 4, D 8, values f32, times f64 and lengths for both sides.
var slots = []slot{
	{"Src", tensor.F32, []int{2, 3, 8}, func(c *call) **tensor.Tensor { return &c.Src }},
	{"SrcTimes", tensor.F64, []int{2, 3}, func(c *call) **tensor.Tensor { return &c.SrcTimes }},
	{"SrcLengths", tensor.I64, []int{2}, func(c *call) **tensor.Tensor { return &c.SrcLengths }},
	{"Targets", tensor.F64, []int{2, 4}, func(c *call) **tensor.Tensor { return &c.Targets.Times }},
	{"DstLengths", tensor.I64, []int{2}, func(c *call) **tensor.Tensor { return &c.DstLengths }},
	{"Dst", tensor.F32, []int{2, 4, 8}, func(c *call) **tensor.Tensor { return &c.Dst }},
	{"Valid", tensor.U8, []int{2, 4}, func(c *call) **tensor.Tensor { return &c.Valid }},
	{"Age", tensor.F64, []int{2, 4}, func(c *call) **tensor.Tensor { return &c.Age }},
}

func newCall(put func(*array) *tensor.Tensor) *call {
	c := &call{put: put}
	for _, s := range slots {
		*s.at(c) = c.new(s.dtype, s.shape...)
	}
	c.SrcLengths, c.DstLengths = c.ints(3, 2), c.ints(4, 4)
	return c
}

// misuse is one way to spoil the call, and the error that names it.
type misuse struct {
	name  string
	spoil func(*call)
	arg   string
	kind  error
	plan  bool // only the plan refuses it
}

func misuses() []misuse {
	var all []misuse
	add := func(name, arg string, kind error, spoil func(*call)) {
		all = append(all, misuse{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	for _, s := range slots {
		set := func(what string, kind error, make func(*call) *tensor.Tensor) {
			add(s.name+" "+what, s.name, kind, func(c *call) { *s.at(c) = make(c) })
		}
		set("closed", ops.ErrClosed, func(c *call) *tensor.Tensor { return c.closed(s.dtype, s.shape...) })
		set("of another device", ops.ErrWrongDevice, func(c *call) *tensor.Tensor { return c.foreign(s.dtype, s.shape...) })
		set("of i32", ops.ErrDType, func(c *call) *tensor.Tensor { return c.new(tensor.I32, s.shape...) })
		set("not contiguous in the last dimension", ops.ErrStride, func(c *call) *tensor.Tensor { return c.apart(s.dtype, s.shape...) })
		set("of rank 4", ops.ErrShape, func(c *call) *tensor.Tensor { return c.new(s.dtype, 1, 2, 2, 2) })
		set("of rank 0", ops.ErrShape, func(c *call) *tensor.Tensor { return c.put(packed(s.dtype, []uint64{0})) })
		if s.name != "Src" { // whose batch decides the others'
			set("with a batch of 3", ops.ErrShape, func(c *call) *tensor.Tensor { return c.new(s.dtype, append([]int{3}, s.shape[1:]...)...) })
		}
	}
	add("Src missing", "Src", ops.ErrMissing, func(c *call) { c.Src = nil })
	add("SrcTimes missing", "SrcTimes", ops.ErrMissing, func(c *call) { c.SrcTimes = nil })
	all = append(all, misuse{name: "Dst missing", arg: "Dst", kind: ops.ErrMissing, plan: true, spoil: func(c *call) { c.Dst = nil }})
	add("no samples", "Src", ops.ErrShape, func(c *call) { c.Src, c.SrcTimes = c.new(tensor.F32, 2, 0, 8), c.new(tensor.F64, 2, 0) })
	add("SrcTimes of f32 with Targets of f64", "Targets", ops.ErrDType, func(c *call) { c.SrcTimes = c.new(tensor.F32, 2, 3) })
	add("lengths and offsets of the source", "SrcLengths", ops.ErrOption, func(c *call) { c.SrcOffsets = c.ints(0, 1, 3) })
	add("lengths and offsets of the targets", "DstLengths", ops.ErrOption, func(c *call) { c.DstOffsets = c.ints(0, 1, 4) })
	add("SrcOffsets with a batched source", "Src", ops.ErrShape, func(c *call) { c.SrcLengths, c.SrcOffsets = nil, c.ints(0, 1, 3) })
	add("SrcOffsets empty", "SrcOffsets", ops.ErrShape, func(c *call) {
		c.SrcLengths, c.Src, c.SrcTimes, c.SrcOffsets = nil, c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints()
	})
	add("DstOffsets too short", "DstOffsets", ops.ErrShape, func(c *call) { c.DstLengths, c.DstOffsets = nil, c.ints(0, 8) })
	add("SrcOffsets of no rows for 6 samples", "SrcOffsets", ops.ErrShape, func(c *call) {
		c.SrcLengths, c.Src, c.SrcTimes, c.SrcOffsets = nil, c.new(tensor.F32, 6, 8), c.new(tensor.F64, 6), c.ints(0)
	})
	noRows := func(c *call) {
		c.Src, c.SrcTimes, c.SrcLengths, c.DstLengths, c.DstOffsets = c.new(tensor.F32, 0, 3, 8), c.new(tensor.F64, 0, 3), nil, nil, c.ints(0)
	}
	add("DstOffsets of no rows for 4 targets", "DstOffsets", ops.ErrShape, func(c *call) {
		noRows(c)
		c.Dst, c.Valid, c.Age, c.Targets.Times = c.new(tensor.F32, 4, 8), c.new(tensor.U8, 4), c.new(tensor.F64, 4), c.new(tensor.F64, 4)
	})
	add("DstOffsets of no rows and a uniform clock for a Dst of 4", "DstOffsets", ops.ErrShape, func(c *call) {
		noRows(c)
		c.Dst, c.Valid, c.Age, c.Targets = c.new(tensor.F32, 4, 8), c.new(tensor.U8, 4), c.new(tensor.F64, 4), ops.Uniform(0, 1, 4)
	})
	add("DstOffsets and a uniform clock with a Dst of rank 0", "Dst", ops.ErrShape, func(c *call) {
		c.DstLengths, c.DstOffsets, c.Targets = nil, c.ints(0, 4, 8), ops.Uniform(0, 1, 4)
		c.Dst = c.put(packed(tensor.F32, []uint64{0}))
	})
	add("kind", "Options.Interp", ops.ErrOption, func(c *call) { c.opts.Interp = 99 })
	add("edge", "Options.Edge", ops.ErrOption, func(c *call) { c.opts.Edge = 9 })
	add("launch", "Options.Launch", ops.ErrOption, func(c *call) { c.opts.Launch = 3 })
	add("quaternion order", "Options.Quat", ops.ErrOption, func(c *call) { c.opts.Interp, c.opts.Quat = ops.InterpSlerp, 5 })
	for _, p := range []float64{-1, math.NaN(), math.Inf(1)} {
		add(fmt.Sprint("period ", p), "Options.Period", ops.ErrOption, func(c *call) { c.opts.Interp, c.opts.Period = ops.InterpAngle, p })
		add(fmt.Sprint("rate ", p), "Targets.Rate", ops.ErrOption, func(c *call) { c.Targets = ops.Uniform(0, p, 4) })
	}
	add("no targets", "Targets.Rate", ops.ErrOption, func(c *call) { c.Targets = ops.Clock{} })
	add("count", "Targets.Count", ops.ErrShape, func(c *call) { c.Targets = ops.Uniform(0, 1, -1) })
	add("clock beyond 2^62 ns", "Targets", ops.ErrTooLarge, func(c *call) { c.Targets = ops.Uniform(1<<62, 1, 4) })
	add("more targets than a row can have", "Targets.Count", ops.ErrTooLarge, func(c *call) { c.Targets = ops.Uniform(0, 1e3, 1<<31) })
	add("Snap", "Options.Snap", ops.ErrOption, func(c *call) { c.opts.Snap = ops.Within(-1) })
	add("MaxGap", "Options.MaxGap", ops.ErrOption, func(c *call) { c.opts.MaxGap = ops.Within(-1) })
	add("Tolerance", "Options.Tolerance", ops.ErrOption, func(c *call) { c.opts.Tolerance = ops.Within(-1) })
	channel := func(what, arg string, kind error, list ...ops.Channel) {
		add("channels "+what, arg, kind, func(c *call) { c.opts.Channels = list })
	}
	channel("empty", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 2, Hi: 2})
	channel("beyond D", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 2, Hi: 9})
	channel("below 0", "Channels[0]", ops.ErrShape, ops.Channel{Lo: -1, Hi: 2})
	channel("out of order", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 4, Hi: 6}, ops.Channel{Lo: 0, Hi: 2})
	channel("overlapping", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 4}, ops.Channel{Lo: 3, Hi: 6})
	channel("with slerp of 3", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpSlerp})
	channel("with a bad kind", "Channels[1].Interp", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3}, ops.Channel{Lo: 3, Hi: 4, Interp: 42})
	channel("with a bad period", "Channels[0].Period", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpAngle, Period: -2})
	channel("with a hermite of 3", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 3, Interp: ops.InterpHermite})
	channel("with rotation vectors of 4", "Channels[1]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 1}, ops.Channel{Lo: 2, Hi: 6, Interp: ops.InterpRotVec})
	channel("with 6-D rotations of 8", "Channels[0]", ops.ErrShape, ops.Channel{Lo: 0, Hi: 8, Interp: ops.InterpRot6D})
	add("6-D rotations of 8 features", "Options", ops.ErrShape, func(c *call) { c.opts.Interp = ops.InterpRot6D })
	for kind := ops.InterpWindowMean; kind <= ops.InterpWindowLast; kind++ {
		add(fmt.Sprint(kind, " without a window"), "Options.Window", ops.ErrOption, func(c *call) { c.opts.Interp = kind })
		channel(fmt.Sprint("with ", kind, " without a window"), "Channels[0].Window", ops.ErrOption, ops.Channel{Lo: 0, Hi: 3, Interp: kind})
	}
	for _, w := range []ops.Limit{ops.Within(0), ops.Within(-1)} {
		add(fmt.Sprint("window ", w), "Options.Window", ops.ErrOption, func(c *call) { c.opts.Interp, c.opts.Window = ops.InterpWindowMean, w })
		add(fmt.Sprint("channels with window ", w), "Channels[0].Window", ops.ErrOption, func(c *call) {
			c.opts.Window, c.opts.Channels = ops.Within(1e9), []ops.Channel{{Lo: 0, Hi: 3, Interp: ops.InterpWindowMax, Window: w}}
		})
	}
	add("slerp of 6 features", "Options", ops.ErrShape, func(c *call) {
		c.opts.Interp, c.opts.Channels = ops.InterpSlerp, []ops.Channel{{Lo: 0, Hi: 2}}
	})
	all = append(all, misuse{name: "Dst with rows on each other", arg: "Dst", kind: ops.ErrOverlap, plan: true, spoil: func(c *call) {
		c.Dst = tensor.Must(c.new(tensor.F32, 1, 4, 8).Expand(2, 4, 8))
	}}, misuse{name: "Valid with rows on each other", arg: "Valid", kind: ops.ErrOverlap, plan: true, spoil: func(c *call) {
		c.Valid = tensor.Must(c.new(tensor.U8, 1, 4).Expand(2, 4))
	}})
	add("Dst over Src", "Dst", ops.ErrOverlap, func(c *call) {
		both := c.new(tensor.F32, 200)
		c.Src = tensor.Must(both.AsStrided([]int{2, 3, 8}, []int{24, 8, 1}, 0))
		c.Dst = tensor.Must(both.AsStrided([]int{2, 4, 8}, []int{32, 8, 1}, 47))
	})
	add("Age over Targets", "Age", ops.ErrOverlap, func(c *call) { c.Age = c.Targets.Times })
	rowMisuses(add)
	return all
}

// refused runs a call that must return an *ArgError of a kind about an argument, and must not write to the outputs. Outputs may be nil.
func (s *suite) refused(t *testing.T, form, op, arg string, kind error, run func() error, outputs ...*tensor.Tensor) {
	t.Helper()
	before := map[*tensor.Tensor][]uint64{}
	for _, x := range outputs {
		if x != nil && !x.Closed() && (x.OnHost() || x.Device() == s.home()) && x.IsContiguous() {
			before[x] = s.read(t, x)
		}
	}
	err := run()
	var e *ops.ArgError
	if !assert.True(t, errors.As(err, &e), "%s: got %v, want an *ArgError", form, err) {
		return
	}
	assert.ErrorIs(t, err, kind, form)
	assert.Equal(t, [2]string{op, arg}, [2]string{e.Op, e.Arg}, "%s: %v", form, err)
	assert.NotEmpty(t, e.Want, "%s: says nothing of what it wanted", form)
	for x, bits := range before {
		assert.Equal(t, bits, s.read(t, x), "%s: something was written", form)
	}
}

// misuse runs every way to call Resample wrongly. Nothing may be written, and the device must work afterwards.
func (s *suite) misuse(t *testing.T) {
	p := &placed{dev: s.dev}
	defer p.close()
	for _, m := range misuses() {
		t.Run(m.name, func(t *testing.T) {
			check := func(form string, c *call, run func() error) {
				m.spoil(c)
				s.refused(t, form, "Resample", m.arg, m.kind, run, c.Dst)
			}
			c := newCall(p.put)
			check("plan", c, func() error { _, err := s.dev.PlanResample(c.ResampleArgs, c.opts); return err })
			if !m.plan {
				c := newCall((*array).host)
				check("call", c, func() error { _, err := s.dev.Resample(context.Background(), c.ResampleArgs, c.opts); return err })
			}
		})
	}
	require.NoError(t, p.err)
	t.Run("the device works afterwards", func(t *testing.T) { s.literal(t, literals[0]) })
	t.Run("dtype of the output", func(t *testing.T) {
		c := newCall((*array).host)
		c.Dst, c.opts.DType = nil, tensor.I32
		_, err := s.dev.Resample(context.Background(), c.ResampleArgs, c.opts)
		assert.ErrorIs(t, err, ops.ErrDType)
	})
}

// read returns the bits of a contiguous tensor, wherever it is.
func (s *suite) read(t *testing.T, x *tensor.Tensor) []uint64 {
	t.Helper()
	host := tensor.Must(tensor.New(x.DType(), x.Shape()...))
	require.NoError(t, s.dev.Copy(context.Background(), host, x))
	return bitsOf(host)
}

// badValues: errors in values are found where the work is done. Of several the first by class, row and index is
// reported, and the stream works afterwards.
func (s *suite) badValues(t *testing.T) {
	src := vals(tensor.F32, make([]float64, 12), 2, 3, 2)
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	packedSrc := vals(tensor.F32, make([]float64, 12), 6, 2)
	c := func(name string, times []int64, edit func(*resampling)) *resampling {
		c := &resampling{Name: name, Src: src, Times: arr(times, 2, 3), Targets: arr([]int64{0, 1, 2, 1}, 2, 2)}
		edit(c)
		return c
	}
	pack := func(offsets ...int64) func(*resampling) {
		return func(c *resampling) {
			c.Src, c.Times, c.SrcOffsets = packedSrc, arr([]int64{0, 1, 2, 3, 4, 5}, 6), arr(offsets, len(offsets))
		}
	}
	cases := []*resampling{
		c("unsorted in the second row", back, func(*resampling) {}),
		c("two unsorted rows", []int64{0, 2, 1, 2, 1, 0}, func(*resampling) {}),
		c("unsorted beyond the length", back, func(c *resampling) { c.SrcLengths = arr([]int64{3, 2}, 2) }),
		c("length too long", good, func(c *resampling) { c.SrcLengths = arr([]int64{3, 4}, 2) }),
		c("length negative, and unsorted", []int64{2, 1, 0, 0, 0, 0}, func(c *resampling) { c.SrcLengths = arr([]int64{3, -1}, 2) }),
		c("length 0 with targets", good, func(c *resampling) { c.SrcLengths = arr([]int64{3, 0}, 2) }),
		c("length 0 without targets", good, func(c *resampling) { c.SrcLengths, c.DstLengths = arr([]int64{3, 0}, 2), arr([]int64{2, 0}, 2) }),
		c("target length too long", good, func(c *resampling) { c.DstLengths = arr([]int64{3, 2}, 2) }),
		c("target length negative", good, func(c *resampling) { c.DstLengths = arr([]int64{1, math.MinInt64}, 2) }),
		c("offsets that do not begin at 0", good, pack(1, 3, 6)),
		c("offsets that end early", good, pack(0, 3, 5)),
		c("offsets that end late", good, pack(0, 3, 7)),
		c("offsets that go back", good, pack(0, 4, 3, 6)),
		c("an offset far outside", good, pack(0, math.MaxInt64, 6)),
		c("a packed row without samples", good, pack(0, 6, 6)),
		c("packed rows, the second unsorted", good, func(c *resampling) { pack(0, 2, 6)(c); c.Times = arr([]int64{5, 6, 1, 3, 2, 9}, 6) }),
		c("packed rows that go back between rows", good, func(c *resampling) { pack(0, 2, 6)(c); c.Times = arr([]int64{5, 6, 0, 1, 2, 3}, 6) }),
		c("target out of range", good, func(c *resampling) { c.Targets = arr([]int64{0, 2, 1, 3}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("targets out of range in both rows", good, func(c *resampling) { c.Targets = arr([]int64{0, -1, 9, 3}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("target out of range beyond the length", good, func(c *resampling) {
			c.Targets, c.DstLengths, c.Opts.Edge = arr([]int64{0, 9, 1, 9}, 2, 2), arr([]int64{1, 1}, 2), ops.EdgeError
		}),
		c("target beyond 2^62", good, func(c *resampling) { c.Targets = arr([]int64{0, 1, 1<<62 + 1, 0}, 2, 2) }),
		c("target at 2^62", good, func(c *resampling) { c.Targets = arr([]int64{1 << 62, -1 << 62, 0, 0}, 2, 2) }),
		c("unsorted, and a target out of range", back, func(c *resampling) { c.Targets = arr([]int64{-9, 9, 0, 0}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("trusted target beyond 2^62", good, func(c *resampling) { c.Targets = arr([]int64{0, 1, 1<<62 + 1, 0}, 2, 2); c.Opts.TrustTimes = true }),
	}
	cases[12].Targets = arr(make([]int64, 6), 3, 2)
	cases = append(cases, noRows()...)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { s.check(t, c, layouts...) })
	}
	t.Run("trusted bad times write nothing else", func(t *testing.T) {
		for _, times := range [][]int64{back, {math.MaxInt64, math.MinInt64, 0, 5, -5, math.MaxInt64}, {9, 8, 7, 6, 5, 4}} {
			for _, n := range []int64{math.MinInt64, -1, 0, 3, 4, math.MaxInt64} {
				c := c("", times, func(c *resampling) {
					c.SrcLengths, c.DstLengths, c.Opts.TrustTimes = arr([]int64{n, 3}, 2), arr([]int64{2, n}, 2), true
				})
				_, err := planned(s.dev, c, layouts[1], ops.LaunchDefault, 1)
				assert.NoError(t, err)
				c = &resampling{Src: packedSrc, Times: arr(times, 6), SrcOffsets: arr([]int64{n, 3, n}, 3), Targets: arr([]int64{0, 1, 2, 1}, 4), DstOffsets: arr([]int64{0, n, 4}, 3), Opts: ops.ResampleOptions{TrustTimes: true}}
				_, err = planned(s.dev, c, layouts[1], ops.LaunchDefault, 1)
				assert.NoError(t, err)
			}
		}
		require.NoError(t, s.dev.Synchronize(context.Background()))
	})
}
