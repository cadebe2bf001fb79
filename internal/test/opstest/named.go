package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// literal is a case with the expected values written down.
type literal struct {
	name    string
	v, t, x []float64 // values of one feature, timestamps and targets in seconds
	want    []float64
	valid   []uint64 // expected flags; nil means they are not compared
	opts    ops.ResampleOptions
	dtype   tensor.DType // 0 means f32
}

var literals = []literal{
	{name: "ramp", v: []float64{0, 1, 2}, t: []float64{0, .5, 1}, x: []float64{0, .25, .5, .75, 1}, want: []float64{0, .5, 1, 1.5, 2}, valid: []uint64{1, 1, 1, 1, 1}},
	{name: "uneven", v: []float64{1, 5, 3}, t: []float64{0, .1, 1}, x: []float64{.05, .5}, want: []float64{3, 4.111111111111111}},
	{name: "ends", v: count(1, 10), t: count(1, 10), x: []float64{.5, 11}, want: []float64{1, 10}, valid: []uint64{0, 0}},
	{name: "one-sample", v: []float64{7.25}, t: []float64{3}, x: []float64{-1, 3, 4}, want: []float64{7.25, 7.25, 7.25}, valid: []uint64{0, 1, 0}},
	{name: "one-sample-extrapolated", v: []float64{7.25}, t: []float64{3}, x: []float64{-1, 3, 4}, want: []float64{7.25, 7.25, 7.25}, opts: ops.ResampleOptions{Edge: ops.EdgeExtrapolate}},
	{name: "padded-tail", v: []float64{0, 3.3, 3.3, 3.3}, t: []float64{0, 1, 1, 1}, x: []float64{.5, 1, 1.5}, want: []float64{1.65, 3.3, 3.3}, valid: []uint64{1, 1, 0}},
	{name: "constant", v: []float64{12.345, 12.345, 12.345, 12.345}, t: []float64{0, .3, 1, 1}, x: []float64{-1, .1, .3, .99, 1, 5}, want: []float64{12.345, 12.345, 12.345, 12.345, 12.345, 12.345}},
	{name: "constant-extrapolated", v: []float64{12.345, 12.345, 12.345, 12.345}, t: []float64{0, .3, 1, 1}, x: []float64{-1, 5}, want: []float64{12.345, 12.345}, opts: ops.ResampleOptions{Edge: ops.EdgeExtrapolate}},
	{name: "fine-clock", v: []float64{0, 1, 2}, t: []float64{0, 1e-6, 2e-6}, x: []float64{1e-6}, want: []float64{1}},
	{name: "duplicate", v: []float64{0, 1, 5, 6}, t: []float64{0, .5, .5, 1}, x: []float64{.5}, want: []float64{5}, valid: []uint64{1}},
	{name: "duplicate-both-sides", v: []float64{0, 1, 5, 6}, t: []float64{0, .5, .5, 1}, x: []float64{.25, .75}, want: []float64{.5, 5.5}},
	{name: "previous", v: []float64{1, 2, 4}, t: []float64{0, 1, 2}, x: []float64{.75, 1, 1.25}, want: []float64{1, 2, 2}, opts: ops.ResampleOptions{Interp: ops.InterpPrevious}},
	{name: "next", v: []float64{1, 2, 4}, t: []float64{0, 1, 2}, x: []float64{.25, 1, 1.25}, want: []float64{2, 2, 4}, opts: ops.ResampleOptions{Interp: ops.InterpNext}},
	{name: "nearest-tie-is-earlier", v: []float64{1, 2, 4}, t: []float64{0, 1, 2}, x: []float64{.5, .75, 1.25, 1.5}, want: []float64{1, 2, 2, 2}, opts: ops.ResampleOptions{Interp: ops.InterpNearest}},
	{name: "angle-shorter-arc", v: []float64{170, -170}, t: []float64{0, 1}, x: []float64{.25, .5, .75}, want: []float64{175, -180, -175}, opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}},
	{name: "angle-stays-where-it-is", v: []float64{350, 350, 351}, t: []float64{0, 1, 2}, x: []float64{0, .5, 1, 1.5}, want: []float64{350, 350, 350, 350.5}, opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}},
	{name: "angle-over-the-turn-of-its-range", v: []float64{350, 10, 330}, t: []float64{0, 1, 2}, x: []float64{.25, .5, .75, 1.125, 1.5}, want: []float64{355, 0, 5, 5, 350}, opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}},
	{name: "angle-below-zero-tells-the-range", v: []float64{-10, 350, 190, -20}, t: []float64{0, 1, 2, 3}, x: []float64{.5, 1.5, 2.5}, want: []float64{-10, 270, -95}, opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}},
	{name: "angle-unwrapped-goes-on", v: []float64{900, 1080, 1100}, t: []float64{0, 1, 2}, x: []float64{.5, 1.5}, want: []float64{990, 1090}, opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}},
	{name: "infinite-samples", v: []float64{inf, inf, 1, inf, -inf, -inf, 2, -inf}, t: count(0, 7), x: []float64{.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5}, want: []float64{inf, inf, inf, math.NaN(), -inf, -inf, -inf}},
	{name: "overflowing-difference", v: []float64{3e38, -3e38, 3e38}, t: count(0, 2), x: []float64{.25, .5, 1.5}, want: []float64{1.5e38, 0, 0}},
	{name: "overflowing-difference-f64", dtype: tensor.F64, v: []float64{1.5e308, -1.5e308}, t: count(0, 1), x: []float64{.25, .5}, want: []float64{.75e308, 0}},
	{name: "extrapolate-both-ends", v: []float64{1, 1, 2, 4, 4}, t: []float64{0, 0, 1, 2, 2}, x: []float64{-1, 3}, want: []float64{0, 6}, valid: []uint64{0, 0}, opts: ops.ResampleOptions{Edge: ops.EdgeExtrapolate}},
	{name: "fill", v: []float64{1, 2}, t: []float64{0, 1}, x: []float64{-1, .5, 2}, want: []float64{-7.5, 1.5, -7.5}, valid: []uint64{0, 1, 0}, opts: ops.ResampleOptions{Edge: ops.EdgeFill, Fill: ops.FillWith(-7.5)}},
	{name: "fill-is-nan", v: []float64{1, 2}, t: []float64{0, 1}, x: []float64{-1, 2}, want: []float64{math.NaN(), math.NaN()}, opts: ops.ResampleOptions{Edge: ops.EdgeFill}},
	{name: "gap", v: []float64{1, 2, 4}, t: []float64{0, 1, 3}, x: []float64{.5, 1, 2, 3}, want: []float64{1.5, 2, 3, 4}, valid: []uint64{1, 1, 0, 1}, opts: ops.ResampleOptions{MaxGap: ops.Within(1e9)}},
	{name: "gap-filled", v: []float64{1, 2, 4}, t: []float64{0, 1, 3}, x: []float64{.5, 1, 2, 3}, want: []float64{1.5, 2, 0, 4}, valid: []uint64{1, 1, 0, 1}, opts: ops.ResampleOptions{MaxGap: ops.Within(1e9), FillGaps: true, Fill: ops.FillWith(0)}},
	{name: "tolerance", v: []float64{1, 2}, t: []float64{0, 4}, x: []float64{1, 2, 3}, want: []float64{1, 1, 1}, valid: []uint64{1, 1, 0}, opts: ops.ResampleOptions{Interp: ops.InterpPrevious, Tolerance: ops.Within(2e9)}},
	{name: "nan-target", v: []float64{1, 2}, t: []float64{0, 1}, x: []float64{math.NaN(), .5}, want: []float64{math.NaN(), 1.5}, valid: []uint64{0, 1}},
	{name: "nan-target-filled", v: []float64{1, 2}, t: []float64{0, 1}, x: []float64{math.NaN(), .5}, want: []float64{3, 1.5}, valid: []uint64{0, 1}, opts: ops.ResampleOptions{Edge: ops.EdgeFill, Fill: ops.FillWith(3)}},
	{name: "infinite-targets", v: []float64{1, 2}, t: []float64{0, 1}, x: []float64{math.Inf(-1), math.Inf(1)}, want: []float64{1, 2}, valid: []uint64{0, 0}},
	{name: "pchip-keeps-monotone", v: []float64{0, 0, 1, 1}, t: []float64{0, 1, 2, 3}, x: []float64{.5, 1.5, 2.5}, want: []float64{0, .5, 1}, opts: ops.ResampleOptions{Interp: ops.InterpPchip}},
	{name: "window-mean", v: []float64{1, 2, 6, 7}, t: []float64{0, 1, 2, 3}, x: []float64{0, 1, 2, 2.5, 3}, want: []float64{1, 1.5, 4, 4, 6.5}, valid: []uint64{1, 1, 1, 1, 1}, opts: window(ops.InterpWindowMean, 2)},
	{name: "window-is-open-before-and-closed-at-the-target", v: []float64{1, 2, 4}, t: []float64{0, 1, 2}, x: []float64{1, 2}, want: []float64{2, 4}, opts: window(ops.InterpWindowMean, 1)},
	{name: "window-min", v: []float64{3, -1, 0, 2}, t: []float64{0, 1, 2, 3}, x: []float64{1, 2.5, 3}, want: []float64{-1, -1, 0}, opts: window(ops.InterpWindowMin, 2)},
	{name: "window-max", v: []float64{3, -1, 0, 2}, t: []float64{0, 1, 2, 3}, x: []float64{1, 2.5, 3}, want: []float64{3, 0, 2}, opts: window(ops.InterpWindowMax, 2)},
	{name: "window-last", v: []float64{3, -1, 0, 2}, t: []float64{0, 1, 2, 3}, x: []float64{1, 2.5, 3}, want: []float64{-1, 0, 2}, opts: window(ops.InterpWindowLast, 2)},
	{name: "window-takes-both-samples-of-one-timestamp", v: []float64{1, 2, 6}, t: []float64{0, 1, 1}, x: []float64{1}, want: []float64{4}, opts: window(ops.InterpWindowMean, .5)},
	{name: "window-empty", v: []float64{1, 2, 4}, t: []float64{0, 1, 4}, x: []float64{.5, 1.5, 2, 3, 4}, want: []float64{1, 2, math.NaN(), math.NaN(), 4}, valid: []uint64{1, 1, 0, 0, 1}, opts: window(ops.InterpWindowMean, 1)},
	{name: "window-empty-filled", v: []float64{1, 2, 4}, t: []float64{0, 1, 4}, x: []float64{1.5, 2}, want: []float64{2, -7.5}, valid: []uint64{1, 0}, opts: with(window(ops.InterpWindowLast, 1), func(o *ops.ResampleOptions) { o.FillGaps, o.Fill = true, ops.FillWith(-7.5) })},
	{name: "window-empty-under-the-fill-edge", v: []float64{1, 4}, t: []float64{0, 4}, x: []float64{-1, 2, 5}, want: []float64{-7.5, math.NaN(), -7.5}, valid: []uint64{0, 0, 0}, opts: with(window(ops.InterpWindowLast, 1), func(o *ops.ResampleOptions) { o.Edge, o.Fill = ops.EdgeFill, ops.FillWith(-7.5) })},
	{name: "window-beyond-the-ends-holds-them", v: []float64{1, 2, 4}, t: []float64{0, 1, 2}, x: []float64{-1, 2.5, 9}, want: []float64{1, 4, 4}, valid: []uint64{0, 0, 0}, opts: window(ops.InterpWindowMean, 5)},
	{name: "window-in-a-gap", v: []float64{1, 2, 4}, t: []float64{0, 1, 3}, x: []float64{1, 2}, want: []float64{1.5, 1.5}, valid: []uint64{1, 0}, opts: with(window(ops.InterpWindowMean, 5), func(o *ops.ResampleOptions) { o.MaxGap = ops.Within(1e9) })},
	{name: "window-of-one-sample-has-its-sign", v: []float64{math.Copysign(0, -1), 1}, t: []float64{0, 2}, x: []float64{0, .5}, want: []float64{math.Copysign(0, -1), math.Copysign(0, -1)}, opts: window(ops.InterpWindowMean, 1)},
	{name: "catmull-rom-is-the-parabola", v: []float64{0, 1, 9, 16}, t: []float64{0, 1, 3, 4}, x: []float64{.5, 2, 2.5, 3.5}, want: []float64{.25, 4, 6.25, 12.25}, opts: ops.ResampleOptions{Interp: ops.InterpCatmullRom}},
	{name: "catmull-rom-two-samples-is-a-line", v: []float64{1, 3}, t: []float64{0, 2}, x: []float64{.5, 1}, want: []float64{1.5, 2}, opts: ops.ResampleOptions{Interp: ops.InterpCatmullRom}},
	{name: "catmull-rom-even-timestamps", v: []float64{0, 0, 1, 1}, t: []float64{0, 1, 2, 3}, x: []float64{1.25, 1.5}, want: []float64{.203125, .5}, opts: ops.ResampleOptions{Interp: ops.InterpCatmullRom}},
	{name: "catmull-rom-one-timestamp-twice-ends-a-curve", v: []float64{0, 1, 5, 6}, t: []float64{0, 1, 1, 2}, x: []float64{.5, 1, 1.5}, want: []float64{.5, 5, 5.5}, opts: ops.ResampleOptions{Interp: ops.InterpCatmullRom}},
	{name: "pchip-two-samples-is-a-line", v: []float64{1, 3}, t: []float64{0, 2}, x: []float64{.5, 1}, want: []float64{1.5, 2}, opts: ops.ResampleOptions{Interp: ops.InterpPchip}},
}

var inf = math.Inf(1)

// window returns options for a kind with a window of some seconds.
func window(kind ops.Interp, seconds float64) ops.ResampleOptions {
	return ops.ResampleOptions{Interp: kind, Window: ops.Within(time.Duration(seconds * 1e9))}
}

func with(o ops.ResampleOptions, edit func(*ops.ResampleOptions)) ops.ResampleOptions {
	edit(&o)
	return o
}

// anyWindow is one second. Cases that run every kind use it.
var anyWindow = ops.Within(1e9)

// count returns lo, lo+1, .. hi.
func count(lo, hi int) (out []float64) {
	for i := lo; i <= hi; i++ {
		out = append(out, float64(i))
	}
	return out
}

func nanos(seconds []float64) []int64 {
	out := make([]int64, len(seconds))
	for i, s := range seconds {
		out[i] = int64(math.Round(s * 1e9))
	}
	return out
}

func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// literals tests the cases with values written down.
func (s *suite) literals(t *testing.T) {
	for _, l := range literals {
		t.Run(l.name, func(t *testing.T) { s.literal(t, l) })
	}
}

// literal runs a case on every clock that can represent its times, with f32 values or the case's dtype.
func (s *suite) literal(t *testing.T, l literal) {
	dtype := l.dtype
	if dtype == 0 {
		dtype = tensor.F32
	}
	for _, clock := range []tensor.DType{tensor.I64, tensor.F64, tensor.F32} {
		c := &resampling{Name: l.name + "/" + clock.String(), Src: vals(dtype, l.v, len(l.v), 1), Opts: l.opts}
		if clock == tensor.I64 {
			if !finite(l.x) {
				continue
			}
			c.Times, c.Targets = arr(nanos(l.t), len(l.t)), arr(nanos(l.x), len(l.x))
		} else {
			c.Times, c.Targets = vals(clock, l.t, len(l.t)), vals(clock, l.x, len(l.x))
		}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		for i, w := range l.want {
			// A float32 clock moves a target by 2^-24 of its time, which changes the weight.
			tol := 1e-6 * math.Max(1, math.Abs(w))
			if g := decode(dtype, got.dst[i]); math.IsInf(w, 0) {
				assert.Equal(t, w, g, "%s, target %d", c.Name, i)
			} else if math.IsNaN(w) {
				assert.True(t, math.IsNaN(g), "%s, target %d: got %v, want NaN", c.Name, i, g)
			} else {
				assert.InDelta(t, w, g, tol, "%s, target %d", c.Name, i)
			}
		}
		if l.valid != nil {
			assert.Equal(t, l.valid, got.valid, "%s: Valid", c.Name)
		}
	}
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// ascending returns n ascending timestamps in nanoseconds, about 10 ms apart, from start on.
func ascending(r *rand.Rand, n int, start int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		start += 1 + r.Int64N(20_000_000)
		out[i] = start
	}
	return out
}

func uniformValues(r *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.Float64()*20 - 10
	}
	return out
}

// between returns n targets: most lie in the range of times, some on a timestamp, some outside.
func between(r *rand.Rand, n int, times []int64) []int64 {
	out := make([]int64, n)
	lo, hi := times[0], times[len(times)-1]
	for i := range out {
		out[i] = lo - 5_000_000 + r.Int64N(hi-lo+10_000_000)
		if r.IntN(4) == 0 {
			out[i] = times[r.IntN(len(times))]
		}
	}
	return out
}

func (s *suite) exactHit(t *testing.T) {
	r := rng(1)
	for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
		for _, kind := range ops.Interps() {
			times := ascending(r, 129, 1_762_550_000e9)
			c := &resampling{Name: fmt.Sprint(dtype, kind), Src: vals(dtype, uniformValues(r, 129*12), 129, 12), Times: arr(times, 129), Targets: arr(times, 129), Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(1)}}
			s.check(t, c, layouts[0])
			got := s.called(t, c)
			assert.Equal(t, c.Src.raw, got.dst, "%v %v: not the source's bits", dtype, kind)
		}
	}
}

func (s *suite) longRow(t *testing.T) {
	for _, n := range []int{511, 512, 513, 1025, 4095, 4096, 4097, 10000} {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i) / float64(n-1)
		}
		c := &resampling{Name: fmt.Sprint(n), Src: vals(tensor.F32, v, n, 1), Times: vals(tensor.F64, v, n), Targets: arr([]float64{.75}, 1)}
		s.check(t, c, layouts[0])
		got := s.called(t, c)
		assert.InDelta(t, .75, decode(tensor.F32, got.dst[0]), 1e-7, "S=%d", n)
	}
}

// epoch tests times since 1970. As int64 they must give the same bits as relative times. As float64 they are rounded to 2.4e-7 s.
func (s *suite) epoch(t *testing.T) {
	const start = 1_762_550_000e9
	r := rng(2)
	n := 100
	rel, abs, sec := make([]int64, n), make([]int64, n), make([]float64, n)
	for i := range rel {
		rel[i] = int64(i) * 10_000_000
		abs[i] = start + rel[i]
		sec[i] = float64(abs[i]) / 1e9
	}
	v := uniformValues(r, n*3)
	x, xs, xf := between(r, 200, rel), make([]int64, 200), make([]float64, 200)
	for i := range x {
		xs[i] = start + x[i]
		xf[i] = float64(xs[i]) / 1e9
	}
	relative := &resampling{Name: "relative", Src: vals(tensor.F32, v, n, 3), Times: arr(rel, n), Targets: arr(x, 200)}
	absolute := &resampling{Name: "absolute", Src: relative.Src, Times: arr(abs, n), Targets: arr(xs, 200)}
	seconds := &resampling{Name: "float64", Src: relative.Src, Times: arr(sec, n), Targets: arr(xf, 200)}
	var got [3]*result
	for i, c := range []*resampling{relative, absolute, seconds} {
		s.check(t, c, layouts...)
		var err error
		got[i], err = c.call(s.dev)
		require.NoError(t, err)
	}
	assert.Equal(t, got[0], got[1], "int64 epoch timestamps and relative ones differ")
	for i := range got[0].dst {
		// Each of the three times is off by at most 1.2e-7 s, and values change by at most 20 in 10 ms.
		assert.InDelta(t, decode(tensor.F32, got[0].dst[i]), decode(tensor.F32, got[2].dst[i]), 4*1.2e-7*20/.01)
	}
}

func (s *suite) nanRow(t *testing.T) {
	v := []float64{0, 1, 2, math.NaN(), 4, 5, 6}
	x := []float64{0, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 6}
	for _, kind := range ops.Interps() {
		if kind.Width() > 1 || kind == ops.InterpCatmullRom {
			continue // skip rotations, and cubics that use one more sample
		}
		c := &resampling{Name: kind.String(), Src: vals(tensor.F32, v, 7, 1), Times: vals(tensor.F64, count(0, 6), 7), Targets: vals(tensor.F64, x, len(x)), Opts: ops.ResampleOptions{Interp: kind, Window: anyWindow}}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		for i, at := range x {
			clean := at <= 2 || at >= 4
			g := decode(tensor.F32, got.dst[i])
			assert.False(t, clean && math.IsNaN(g), "%v at %v: NaN outside the two brackets of the NaN sample", kind, at)
			assert.False(t, kind == ops.InterpLinear && !clean && !math.IsNaN(g), "at %v: got %v, want NaN", at, g)
		}
	}
}
