package opstest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// windowNaN tests that a window with a NaN has the mean, minimum and maximum NaN, with its bits where it is copied. The last sample
// may be finite.
func (s *suite) windowNaN(t *testing.T) {
	const payload = 0x7fc01234
	raw := []uint64{encode(tensor.F32, 1), payload, 0xffc0abcd, encode(tensor.F32, -0x1p100), encode(tensor.F32, 2)}
	times := arr([]int64{0, 1e9, 2e9, 3e9, 4e9}, 5)
	for _, kind := range []ops.Interp{ops.InterpWindowMean, ops.InterpWindowMin, ops.InterpWindowMax, ops.InterpWindowLast} {
		c := &resampling{Name: kind.String(), Src: packed(tensor.F32, raw, 5, 1), Times: times, Targets: times, Opts: window(kind, 3)}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		switch kind {
		case ops.InterpWindowMean:
			for i, b := range got.dst {
				assert.Equal(t, i > 0, math.IsNaN(decode(tensor.F32, b)), "%v, target %d", kind, i)
			}
		case ops.InterpWindowLast:
			assert.Equal(t, raw, got.dst, "%v", kind)
		default:
			assert.Equal(t, []uint64{raw[0], payload, payload, payload, 0xffc0abcd}, got.dst, "%v: the first NaN, bit for bit", kind)
		}
	}
	zeros := []float64{0, math.Copysign(0, -1), 0}
	for kind, want := range map[ops.Interp]float64{ops.InterpWindowMin: math.Copysign(0, -1), ops.InterpWindowMax: 0, ops.InterpWindowMean: 0} {
		c := &resampling{Name: "zeros " + kind.String(), Src: vals(tensor.F32, zeros, 3, 1), Times: arr([]int64{0, 1, 2}, 3), Targets: arr([]int64{2}, 1), Opts: window(kind, 3)}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		assert.Equal(t, encode(tensor.F32, want), got.dst[0], "%v of zeros", kind)
	}
}

// windowLengths tests windows with numbers of samples around the sizes of a warp and a block, in every dtype.
func (s *suite) windowLengths(t *testing.T) {
	r := rng(9)
	const n, m, d = 1200, 60, 3
	times := ascending(r, n, 1_762_550_000e9)
	for i, samples := range lengths {
		for kind := ops.InterpWindowMean; kind <= ops.InterpWindowLast; kind++ {
			dtype := valueDTypes[(i+int(kind))%4]
			c := &resampling{Name: fmt.Sprint(kind, samples, dtype), Src: vals(dtype, uniformValues(r, n*d), n, d), Times: arr(times, n), Targets: arr(between(r, m, times), m),
				Opts: ops.ResampleOptions{Interp: kind, Window: ops.Within(time.Duration(samples) * 10e6)}}
			s.check(t, c, layouts[i%2])
		}
	}
}

// windowBeside tests windows in a table with kinds that copy the sample at a target's time. Valid depends on the shortest window.
func (s *suite) windowBeside(t *testing.T) {
	v := make([]float64, 5*7)
	for i := range v {
		v[i] = float64(i/7*10 + i%7)
	}
	c := &resampling{Src: vals(tensor.F32, v, 5, 7), Times: arr([]int64{0, 10, 20, 60, 70}, 5), Targets: arr([]int64{20, 24, 26, 59, 70}, 5),
		Opts: ops.ResampleOptions{Interp: ops.InterpWindowMean, Window: ops.Within(25), Channels: []ops.Channel{
			{Lo: 0, Hi: 2, Interp: ops.InterpLinear}, {Lo: 3, Hi: 4, Interp: ops.InterpWindowMin, Window: ops.Within(5)}, {Lo: 5, Hi: 6, Interp: ops.InterpWindowMax, Window: ops.Within(15)}}}}
	s.check(t, c, layouts...)
	got := s.called(t, c)
	nan := math.NaN()
	want := [][]float64{
		{20, 21, 12, 23, 14, 25, 16}, // on a sample: linear copies it, and the windows of 25 hold three samples
		{21, 22, 12, 23, 14, 25, 16}, // 4 after a sample: the window of 5 still holds it
		{21.5, 22.5, 17, nan, 19, 25, 21},
		{29.75, 30.75, nan, nan, nan, nan, nan},
		{40, 41, 37, 43, 39, 45, 41},
	}
	for i, row := range want {
		for d, w := range row {
			g := decode(tensor.F32, got.dst[i*7+d])
			assert.True(t, g == w || g != g && w != w, "target %d, feature %d: got %v, want %v", i, d, g, w)
		}
	}
	assert.Equal(t, []uint64{1, 1, 0, 0, 1}, got.valid)
}

// hermiteMotion tests constant acceleration: position and velocity must be exact, in seconds, on every clock.
func (s *suite) hermiteMotion(t *testing.T) {
	at := []float64{0, .5, 2, 2.25}
	var v []float64
	for _, x := range at {
		v = append(v, x*x, 1-x, 2*x, -1) // two positions, then their velocities
	}
	x := []float64{.25, 1, 1.5, 2, 2.125, 9}
	for _, clock := range clockDTypes {
		c := &resampling{Name: clock.String(), Src: vals(tensor.F64, v, 4, 4), Times: vals(clock, at, 4), Targets: vals(clock, x, len(x)), Opts: ops.ResampleOptions{Interp: ops.InterpHermite}}
		if clock == tensor.I64 {
			c.Times, c.Targets = arr(nanos(at), 4), arr(nanos(x), len(x))
		}
		s.check(t, c, layouts...)
		got := s.called(t, c)
		for i, x := range x {
			x = min(x, 2.25)
			for d, w := range []float64{x * x, 1 - x, 2 * x, -1} {
				assert.InDelta(t, w, decode(tensor.F64, got.dst[i*4+d]), 1e-14, "%v at %v, feature %d", clock, x, d)
			}
		}
	}
}

// rotVecTurns tests rotation vectors: interpolation takes the shorter arc, also for vectors longer than pi, and results are at most
// pi long.
func (s *suite) rotVecTurns(t *testing.T) {
	pi := math.Pi
	for _, c := range []struct{ r0, r1, at1, at2 float64 }{ // rotations about z, with results at 1/4 and 2/4
		{0, 1, .25, .5},
		{3, -3, 3 + (pi-3)/2, pi}, // passes the half turn, where either sign is correct
		{-3, 3, -3 - (pi-3)/2, pi},
		{1, 1 + 2*pi, 1, 1},         // a whole turn is no rotation
		{.5, 20*pi - .5, .25, 0},    // ten turns
		{0, 1e-12, .25e-12, .5e-12}, // almost no rotation
		{0, 3 * pi / 2, -pi / 8, -pi / 4},
		{0, .01, .0025, .005}, // small enough for the lerp
	} {
		k := &resampling{Name: fmt.Sprint(c.r0, c.r1), Src: vals(tensor.F64, []float64{0, 0, c.r0, 0, 0, c.r1}, 2, 3), Times: arr([]int64{0, 4}, 2), Targets: arr([]int64{1, 2}, 2), Opts: ops.ResampleOptions{Interp: ops.InterpRotVec}}
		got := s.called(t, k)
		for i, w := range []float64{c.at1, c.at2} {
			z := decode(tensor.F64, got.dst[3*i+2])
			if w == pi {
				z = math.Abs(z)
			}
			tolerance := 1e-14 * math.Max(1, math.Abs(c.r1))
			if angle := math.Abs(c.r1 - c.r0); angle < .02 {
				tolerance = math.Pow(angle, 3) / 200 // the bound for the lerp
			}
			assert.InDelta(t, w, z, tolerance, "%s at %d", k.Name, i+1)
			assert.Equal(t, [2]float64{}, [2]float64{decode(tensor.F64, got.dst[3*i]), decode(tensor.F64, got.dst[3*i+1])}, k.Name)
		}
	}
}

// rot6DTurns tests a quarter turn about z, given by columns with any length that are not orthogonal.
func (s *suite) rot6DTurns(t *testing.T) {
	v := []float64{2, 0, 0, -5, .5, 0, // the identity
		0, 3, 0, -1, 7, 0} // x to y, y to -x
	c := &resampling{Src: vals(tensor.F64, v, 2, 6), Times: arr([]int64{0, 3}, 2), Targets: arr([]int64{0, 1, 2}, 3), Opts: ops.ResampleOptions{Interp: ops.InterpRot6D}}
	s.check(t, c, layouts...)
	got := s.called(t, c)
	assert.Equal(t, c.Src.raw[:6], got.dst[:6], "on a sample it is the sample, not made orthonormal")
	for i := 1; i < 3; i++ {
		sin, cos := math.Sincos(float64(i) * math.Pi / 6)
		for d, w := range []float64{cos, sin, 0, -sin, cos, 0} {
			assert.InDelta(t, w, decode(tensor.F64, got.dst[6*i+d]), 1e-14, "at %d, feature %d", i, d)
		}
	}
}

// noRotation tests that columns that define no rotation give NaN in their brackets and nowhere else.
func (s *suite) noRotation(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	bad := map[ops.Interp][][]float64{
		ops.InterpRotVec: {{nan, 0, 0}, {0, inf, 0}, {0x1p21, 0, 0}},
		ops.InterpRot6D:  {{0, 0, 0, 0, 1, 0}, {1, 2, 3, -2, -4, -6}, {1, 0, 0, 1, 1e-7, 0}, {nan, 0, 0, 0, 1, 0}, {1, 0, 0, 0, inf, 0}},
	}
	good := map[ops.Interp][]float64{ops.InterpRotVec: {.1, .2, .3}, ops.InterpRot6D: {1, 0, 0, 0, 0, 1}}
	for kind, list := range bad {
		for _, b := range list {
			g := good[kind]
			w := len(g)
			v := append(append(append(append([]float64(nil), g...), g...), b...), g...)
			c := &resampling{Name: fmt.Sprint(kind, b), Src: vals(tensor.F32, v, 4, w), Times: arr([]int64{0, 10, 20, 30}, 4), Targets: arr([]int64{5, 10, 15, 20, 25, 30}, 6), Opts: ops.ResampleOptions{Interp: kind}}
			s.check(t, c, layouts...)
			got := s.called(t, c)
			for i := range 6 {
				x := decode(tensor.F32, got.dst[i*w])
				assert.Equal(t, i == 2 || i == 4 || i == 3 && b[0] != b[0], math.IsNaN(x), "%s, target %d: got %v", c.Name, i, x)
			}
		}
	}
}
