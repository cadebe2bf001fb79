package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// floats returns the values that a case computes, as float64.
func (s *suite) floats(t *testing.T, c *resampling) []float64 {
	t.Helper()
	got := s.called(t, c)
	out := make([]float64, len(got.dst))
	for i, b := range got.dst {
		out[i] = decode(c.out(), b)
	}
	return out
}

func (s *suite) meanBetween(t *testing.T) {
	r := rng(24)
	for range 8 {
		c := sample(r, ops.InterpWindowMean, 2, 90, 200)
		c.Opts.FillGaps, c.Opts.Edge = false, ops.EdgeClamp
		var got [4][]float64
		for i := range got {
			one := *c
			one.Opts.Interp = ops.InterpWindowMean + ops.Interp(i)
			got[i] = s.floats(t, &one)
		}
		mean, least, greatest, last := got[0], got[1], got[2], got[3]
		for i := range mean {
			if mean[i] != mean[i] {
				assert.True(t, least[i] != least[i] && greatest[i] != greatest[i] && last[i] != last[i], "element %d: one window is empty, another is not", i)
				continue
			}
			if !(least[i] <= mean[i] && mean[i] <= greatest[i] && least[i] <= last[i] && last[i] <= greatest[i]) {
				t.Fatalf("element %d: least %v, mean %v, last %v, greatest %v", i, least[i], mean[i], last[i], greatest[i])
			}
		}
	}
}

// wholeWindow tests a window longer than the recording: InterpWindowLast equals InterpPrevious, and the mean covers all samples up to
// the target.
func (s *suite) wholeWindow(t *testing.T) {
	r := rng(25)
	c := sample(r, ops.InterpPrevious, 3, 50, 120)
	c.Opts.FillGaps = false
	want := s.called(t, c)
	c.Opts.Interp, c.Opts.Window = ops.InterpWindowLast, ops.Within(math.MaxInt64)
	got := s.called(t, c)
	assert.Equal(t, want, got)
	// The mean of 0 to k is k/2.
	const n = 300
	k := &resampling{Src: vals(tensor.F64, count(0, n-1), n, 1), Times: arr(ascending(r, n, -1e9), n), Opts: ops.ResampleOptions{Interp: ops.InterpWindowMean, Window: c.Opts.Window}}
	k.Targets = k.Times
	for i, v := range s.floats(t, k) {
		assert.Equal(t, float64(i)/2, v)
	}
}

// polynomials tests that Catmull-Rom reproduces parabolas with any timestamps, and that Hermite reproduces cubics.
func (s *suite) polynomials(t *testing.T) {
	r := rng(26)
	const n, m = 40, 200
	for range 5 {
		times := ascending(r, n, 0)
		x := between(r, m, times)
		var a, b, c [4]float64
		for i := range a {
			a[i], b[i], c[i] = r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		}
		at := func(p [4]float64, ns int64) (value, slope float64) {
			x := float64(ns) / 1e9
			return p[0] + x*(p[1]+x*(p[2]+x*p[3])), p[1] + x*(2*p[2]+x*3*p[3])
		}
		a[3], b[3] = 0, 0
		var parabolas, cubics []float64
		for _, ns := range times {
			va, _ := at(a, ns)
			vb, _ := at(b, ns)
			vc, sc := at(c, ns)
			parabolas, cubics = append(parabolas, va, vb), append(cubics, vc, sc)
		}
		first := &resampling{Src: vals(tensor.F64, parabolas, n, 2), Times: arr(times, n), Targets: arr(x, m), Opts: ops.ResampleOptions{Interp: ops.InterpCatmullRom}}
		second := *first
		second.Src, second.Opts.Interp = vals(tensor.F64, cubics, n, 2), ops.InterpHermite
		p, h := s.floats(t, first), s.floats(t, &second)
		for i, ns := range x {
			ns = min(max(ns, times[0]), times[n-1])
			va, _ := at(a, ns)
			vb, _ := at(b, ns)
			vc, sc := at(c, ns)
			// A velocity is the difference of two samples over as little as a microsecond, so it has the samples' rounding error
			// divided by that. A bracket of 20 ms multiplies it by 1e4.
			for d, w := range []float64{va, vb, vc, sc} {
				got := [4]float64{p[2*i], p[2*i+1], h[2*i], h[2*i+1]}[d]
				assert.InDelta(t, w, got, 1e-10, "target %d, feature %d", i, d)
			}
		}
	}
}

// velocityIsSlope compares the second half of Hermite's output with difference quotients of the first.
func (s *suite) velocityIsSlope(t *testing.T) {
	r := rng(27)
	v := uniformValues(r, 20*2)
	times := make([]int64, 20)
	for i := range times {
		times[i] = int64(i) * 1e9
	}
	var x []int64
	for range 50 {
		at := 1000 + r.Int64N(19e9-2000)
		x = append(x, at-1000, at, at+1000)
	}
	got := s.floats(t, &resampling{Src: vals(tensor.F64, v, 20, 2), Times: arr(times, 20), Targets: arr(x, 150), Opts: ops.ResampleOptions{Interp: ops.InterpHermite}})
	for i := 0; i < 150; i += 3 {
		slope := (got[2*i+4] - got[2*i]) / 2e-6
		// The second derivative is below 300, and its sign changes at most once within the microsecond.
		assert.InDelta(t, slope, got[2*i+3], 300*1e-6+1e-8, "target %d", i)
	}
}

// constantRate tests that rotation vectors about one axis at a constant rate are linear in time.
func (s *suite) constantRate(t *testing.T) {
	axis := [3]float64{2. / 3, -1. / 3, 2. / 3}
	const n = 9
	for _, rate := range []float64{.3, 3e-4, -.3} { // rad per sample
		var v, six []float64
		for i := range n {
			for d := range 3 {
				v = append(v, axis[d]*rate*float64(i))
			}
			m := rotation(axis, rate*float64(i))
			six = append(six, m[0][0], m[1][0], m[2][0], m[0][1], m[1][1], m[2][1])
		}
		times := make([]int64, n)
		for i := range times {
			times[i] = int64(i) * 1e6
		}
		x := make([]int64, 200)
		for i := range x {
			x[i] = int64(i) * 40_000
		}
		c := &resampling{Src: vals(tensor.F64, v, n, 3), Times: arr(times, n), Targets: arr(x, 200), Opts: ops.ResampleOptions{Interp: ops.InterpRotVec}}
		got := s.floats(t, c)
		c.Src, c.Opts.Interp = vals(tensor.F64, six, n, 6), ops.InterpRot6D
		columns := s.floats(t, c)
		tolerance := 1e-14
		if math.Abs(rate) < .02 {
			tolerance += math.Pow(math.Abs(rate), 3) / 200 // the lerp of small angles does not turn evenly
		}
		for i := range x {
			angle := rate * float64(x[i]) / 1e6
			m := rotation(axis, angle)
			for d := range 3 {
				assert.InDelta(t, axis[d]*angle, got[3*i+d], tolerance, "rate %v, target %d", rate, i)
				assert.InDelta(t, m[d][0], columns[6*i+d], tolerance, "rate %v, target %d", rate, i)
				assert.InDelta(t, m[d][1], columns[6*i+3+d], tolerance, "rate %v, target %d", rate, i)
			}
		}
	}
}

// formsAgree tests that one motion gives equal rotations as quaternions, rotation vectors, and the columns or rows of matrices.
func (s *suite) formsAgree(t *testing.T) {
	r := rng(28)
	const n, m = 30, 100
	var quats, vecs, columns, rows []float64
	for range n {
		axis := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		length := norm3(axis)
		angle := r.Float64() * 3
		for d := range axis {
			axis[d] /= length
			vecs = append(vecs, axis[d]*angle)
		}
		sin, cos := math.Sincos(angle / 2)
		quats = append(quats, axis[0]*sin, axis[1]*sin, axis[2]*sin, cos)
		a := rotation(axis, angle)
		columns = append(columns, a[0][0], a[1][0], a[2][0], a[0][1], a[1][1], a[2][1])
		rows = append(rows, append(a[0][:], a[1][:]...)...)
	}
	times := ascending(r, n, 0)
	c := &resampling{Times: arr(times, n), Targets: arr(between(r, m, times), m)}
	run := func(kind ops.Interp, v []float64) []float64 {
		one := *c
		one.Src, one.Opts.Interp = vals(tensor.F64, v, n, len(v)/n), kind
		return s.floats(t, &one)
	}
	q, v, six, byRow := run(ops.InterpSlerp, quats), run(ops.InterpRotVec, vecs), run(ops.InterpRot6D, columns), run(ops.InterpRot6D, rows)
	for i := range m {
		a := ofVec([3]float64(v[3*i:]))
		axis, angle := a.axisAngle()
		sin, cos := math.Sincos(angle / 2)
		want := []float64{axis[0] * sin, axis[1] * sin, axis[2] * sin, cos}
		dot := 0.0
		for d, w := range want {
			dot += w * q[4*i+d]
		}
		what := fmt.Sprint("target ", i)
		assert.InDelta(t, 1, math.Abs(dot), 1e-13, what)
		for d := range 3 {
			assert.InDelta(t, a[d][0], six[6*i+d], 1e-13, what)
			assert.InDelta(t, a[d][1], six[6*i+3+d], 1e-13, what)
			assert.InDelta(t, a[0][d], byRow[6*i+d], 1e-13, what)
			assert.InDelta(t, a[1][d], byRow[6*i+3+d], 1e-13, what)
		}
	}
}
