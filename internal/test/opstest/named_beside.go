package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// besideMiddles tests that results computed in float64 are rounded to 16 bits once. For each feature there is a target just before,
// and one just after, the time at which the result passes the midpoint of two 16-bit numbers. Both are too close to it for float32 to
// separate, on every clock.
func besideMiddles(test visit) {
	const h, d = int64(1) << 36, 12
	for _, dtype := range []tensor.DType{tensor.F16, tensor.BF16} {
		for k, kind := range []ops.Interp{ops.InterpSlerp, ops.InterpAngle, ops.InterpPchip, ops.InterpCatmullRom, ops.InterpHermite, ops.InterpRotVec, ops.InterpRot6D} {
			samples := uniformValues(rng(uint64(110+k)), 2*d)
			if kind == ops.InterpHermite { // velocities are 0, so the bracket's length has no effect
				clear(samples[d/2 : d])
				clear(samples[d+d/2:])
			}
			c := &resampling{Name: fmt.Sprint("beside ", kind, dtype), Src: vals(dtype, samples, 2, d), Times: arr([]int64{0, h}, 2), Opts: ops.ResampleOptions{Interp: kind}, Planned: true}
			if kind == ops.InterpAngle {
				c.Opts = ops.ResampleOptions{Channels: []ops.Channel{{Hi: 9, Interp: kind}}}
			}
			at := func(x int64, feature int) float64 {
				one := *c
				one.Targets = arr([]int64{x}, 1)
				return solve(&one).dst[feature].want
			}
			var v, times, targets []float64
			add := func(x, h int64) {
				v, times, targets = append(v, samples...), append(times, 0, float64(h)), append(targets, float64(x))
			}
			for f := range d {
				to := middle(dtype, at(h/2, f))
				lo, hi := h/8, h-h/8
				above := at(hi, f) > to
				if (at(lo, f) > to) == above {
					continue
				}
				for hi-lo > 1 {
					if mid := lo + (hi-lo)/2; (at(mid, f) > to) == above {
						hi = mid
					} else {
						lo = mid
					}
				}
				below, _ := fractions(lo, h)
				_, beyond := fractions(hi, h)
				add(below[0], below[1])
				add(beyond[0], beyond[1])
			}
			n := len(targets)
			for _, clock := range clockDTypes {
				c.Src, c.Times, c.Targets = vals(dtype, v, n, 2, d), vals(clock, times, n, 2), vals(clock, targets, n, 1)
				for _, l := range layouts {
					test(c, plannedFusion(c, dtype), l)
				}
			}
		}
	}
}

// fractions returns the nearest fractions below and above x/h with terms below 2^24. lo may equal x/h.
func fractions(x, h int64) (lo, hi [2]int64) {
	lo, hi = [2]int64{0, 1}, [2]int64{1, 1}
	for lo[1]+hi[1] < 1<<24 {
		if m := [2]int64{lo[0] + hi[0], lo[1] + hi[1]}; m[0]*h <= x*m[1] {
			lo = m
		} else {
			hi = m
		}
	}
	return lo, hi
}

// halfPeriods tests that an angle half a period from 0 becomes -period/2 if the interpolation crosses it, and that an angle half a
// period from another is reached without a crossing.
func (s *suite) halfPeriods(t *testing.T) {
	const b, d = 3, 9
	from, to, want := []float64{170, 0, 90}, []float64{-170, 180, -90}, []float64{-180, 90, 0}
	for _, dtype := range valueDTypes {
		var v, w []float64
		for row := range b {
			for _, list := range [][]float64{from, to} {
				for f := range d {
					v = append(v, list[(f+row)%3])
				}
			}
			for f := range d {
				w = append(w, want[(f+row)%3])
			}
		}
		c := &resampling{Name: dtype.String(), Src: vals(dtype, v, b, 2, d), Times: arr([]int64{0, 2}, 2), Targets: arr([]int64{1}, 1), Opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: 360}}
		s.check(t, c, layouts...)
		s.check(t, c.lengthened(), layouts...)
		got := s.called(t, c)
		assert.Equal(t, vals(dtype, w, b, 1, d).raw, got.dst, dtype)
	}
}

// beyondLines tests that all features of a table are extrapolated beyond both ends of the timestamps, along the nearest bracket.
func beyondLines(test visit) {
	const n, d = 4, 34
	table := []ops.Channel{{Lo: d - 1, Hi: d, Interp: ops.InterpAngle}}
	x := []float64{-2, -1, 4, 7, -3, 5, 9, -8, 4, 6, -1}
	for _, in := range valueDTypes {
		for _, out := range []tensor.DType{in, tensor.F64} {
			c := &resampling{Name: fmt.Sprint("beyond ", in, out), Src: vals(in, uniformValues(rng(97), n*d), n, d), Times: vals(tensor.F64, count0(n), n), Targets: vals(tensor.F64, x, len(x)), Out: out,
				Opts: ops.ResampleOptions{Channels: table, Edge: ops.EdgeExtrapolate}, Planned: true}
			test(c, plannedFusion(c, out), layouts[0])
		}
	}
}

// askingNothing tests float32 jobs on a nanosecond clock with no options and with trusted timestamps. The rows have two targets each,
// and gaps between the rows of timestamps and of outputs.
func (s *suite) askingNothing(t *testing.T) {
	const b, n, m, d = 3, 4, 2, 7
	for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpAngle, ops.InterpPchip} {
		times := arr([]int64{0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32}, b, n).restride([]int{n + 1, 1}, 0, 0, 0)
		c := &resampling{Name: fmt.Sprint(kind), Src: vals(tensor.F32, uniformValues(rng(98), b*n*d), b, n, d), Times: times, Targets: arr([]int64{3, 25}, m),
			Opts: ops.ResampleOptions{Channels: []ops.Channel{{Lo: 1, Hi: 2, Interp: kind}}, TrustTimes: true, Launch: ops.LaunchDependent}, Planned: true}
		s.check(t, c, layouts...)
	}
}

// shares tests so many rows of whole chunks that on a device with one multiprocessor each thread has its maximum of work, and one
// more round if rows have three chunks. The weights are so close below a half that a sum truncated to float32 gives another 16-bit
// number. Other rows of a thread are copies.
func (s *suite) shares(t *testing.T) {
	const h = 2_000_000
	for i, dtype := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		for _, form := range []struct {
			chunks, n int
			edge      ops.Edge
		}{{1, 1100, ops.EdgeClamp}, {1, 2100, ops.EdgeClamp}, {3, 700, ops.EdgeExtrapolate}} {
			r := rng(uint64(42_000 + i))
			d := form.chunks * 16 / dtype.Size()
			v, x := make([]float64, 2*d), make([]int64, form.n)
			one := encode(dtype, 1)
			for f := range d {
				scale := float64(int(1)<<r.IntN(4)) * float64(1-2*r.IntN(2))
				v[f], v[d+f] = decode(dtype, one+1)*scale, decode(dtype, one+2)*scale
			}
			for k := range x {
				if x[k] = h/2 - 1; r.IntN(4) == 0 {
					x[k] = []int64{0, h}[r.IntN(2)]
				}
			}
			c := &resampling{Name: fmt.Sprint("shares of ", form.chunks), Src: vals(dtype, v, 2, d), Times: arr([]int64{0, h}, 2), Targets: arr(x, form.n), Opts: ops.ResampleOptions{Edge: form.edge}, Planned: true}
			s.check(t, c, layouts[0])
			if form.edge == ops.EdgeClamp {
				s.check(t, plannedFusion(c, dtype), layouts[0])
			}
		}
	}
}
