package opstest

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// farAngles tests angles for which a difference or a result is half a period, a period or more from 0: just at the limits where the
// kernel needs a division to bring it back, beyond them, and where the rounded quotient leads past half a period on either side. Only
// one feature at a time has such an angle, and a warp's targets are all alike.
func farAngles(test visit) {
	const d, m = 9, 32
	type job struct {
		period, x, h float64      // targets are x/h of the bracket after the first sample
		pairs        [][2]float64 // the two samples of each case
	}
	jobs := []job{{period: 4, x: 1, h: 2}}
	for _, pair := range [][2]float64{{0, 2}, {2, 2}, {5, 5}, {-2, 3}, {-3, 3}, {6, 6}, {-5, 5}, {8, 8}, {-3.5, 3.5}, {10, 10}} {
		jobs[0].pairs = append(jobs[0].pairs, pair, [2]float64{-pair[0], -pair[1]})
	}
	for _, above := range []bool{false, true} {
		v, period := pastHalf(above)
		// A difference of half a period may go either way. Close to the second sample, both ways give the same result.
		jobs = append(jobs, job{period, 1, 2, [][2]float64{{v, v}}}, job{period, 1<<24 - 1, 1 << 24, [][2]float64{{0, v}}})
	}
	for _, job := range jobs {
		n := len(job.pairs) * d
		v, x := make([]float64, 2*n*d), make([]float64, m)
		for i, pair := range job.pairs {
			for f := range d {
				at := (i*d+f)*2*d + f
				v[at], v[at+d] = pair[0], pair[1]
			}
		}
		for i := range x {
			x[i] = job.x
		}
		for _, dtype := range valueDTypes {
			if dtype == tensor.F64 && job.h > 2 {
				continue // equal except for float64's last bits
			}
			for _, clock := range clockDTypes {
				c := &resampling{Name: fmt.Sprint("far angles ", dtype, clock, job.period), Src: vals(dtype, v, n, 2, d), Times: vals(clock, []float64{0, job.h}, 2), Targets: vals(clock, x, m),
					Opts: ops.ResampleOptions{Interp: ops.InterpAngle, Period: job.period}, Planned: true}
				test(c, &fusing{Name: c.Name, Out: dtype, Streams: []*part{{resampling: *c}}, Targets: vals(clock, x[:1], 1), Planned: true}, layouts[0])
			}
		}
	}
}

// pastHalf returns a number x with few bits and a period, where x is at least two and a half periods from 0. Subtracting the multiple
// given by the rounded quotient leaves half a period or more if above is set, and less than minus half a period otherwise.
func pastHalf(above bool) (x, period float64) {
	for x = 1; ; x++ {
		for turns := 2.5; turns < x; turns++ {
			period = x / turns
			for range 2 {
				for _, x := range []float64{x, -x} {
					rest := x - float64(period*math.Floor(x/period+.5))
					if above && rest >= period/2 || !above && rest < -period/2 {
						return x, period
					}
				}
				period = math.Nextafter(period, x)
			}
		}
	}
}

// lerpSteps is the number of steps in a normalised lerp. Step zeroSum adds to zero, so it never rounds.
const lerpSteps, zeroSum = 27, 5

// lerped returns the normalised lerp of two quaternions as a kernel computes it, except that step number wrong (from 0) rounds toward
// zero.
func lerped(q0, q1 [4]float64, a float64, wrong int) (out [4]float64) {
	n := -1
	step := func(x, rest float64) float64 {
		if n++; n == wrong {
			return down(x, rest)
		}
		return x
	}
	times := func(x, y float64) float64 {
		p := float64(x * y)
		return step(p, math.FMA(x, y, -p))
	}
	plus := func(x, y float64) float64 {
		s := x + y
		part := s - x
		return step(s, x-(s-part)+(y-part))
	}
	w0, w1 := plus(1, -a), a
	if dot(q0, q1) < 0 {
		w1 = -a
	}
	norm := 0.0
	for i := range out {
		out[i] = plus(times(w0, q0[i]), times(w1, q1[i]))
		norm = plus(norm, times(out[i], out[i]))
	}
	root := math.Sqrt(norm)
	root = step(root, math.FMA(-root, root, norm))
	scale := 1 / root
	scale = step(scale, math.FMA(-scale, root, 1))
	for i := range out {
		out[i] = times(out[i], scale)
	}
	return out
}

func dot(a, b [4]float64) (sum float64) {
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// lerpTie is a case for a lerp: the bracket's length h, the target's distance x from the bracket's start, and two quaternions.
type lerpTie struct {
	h, x   float64
	q0, q1 [4]float64
}

// lerpTies returns cases for each step of a normalised lerp that rounds. In each, an error in the step's last bit changes the result
// in a dtype.
func lerpTies(dtype tensor.DType) (list []lerpTie) {
	r := rng(72)
	missing := map[int]bool{}
	for n := range lerpSteps {
		missing[n] = n != zeroSum
	}
	for len(list) < lerpSteps-1 {
		var q0, q1 [4]float64
		for i := range q0 {
			q0[i] = r.NormFloat64()
		}
		scale := 1 / math.Sqrt(dot(q0, q0))
		for i := range q0 {
			q0[i] *= scale
			q1[i] = decode(dtype, encode(dtype, q0[i]+float64(.005*r.NormFloat64())))
			q0[i] = decode(dtype, encode(dtype, q0[i]))
		}
		if dot(q0, q1) <= .9999 {
			continue
		}
		if r.IntN(2) == 0 {
			for i := range q1 {
				q1[i] = -q1[i]
			}
		}
		for f := range q0 {
			at := func(m [2]float64) float64 { return lerped(q0, q1, m[0]/m[1], -1)[f] }
			to := at([2]float64{float64(1<<18 + r.IntN(1<<19)), 1 << 20})
			if dtype != tensor.F64 {
				to = middle(dtype, to)
			}
			lo, hi := [2]float64{0, 1}, [2]float64{1, 1}
			above := at(hi) > to
			for (at(lo) > to) != above && lo[1]+hi[1] < 1<<24 {
				m := [2]float64{lo[0] + hi[0], lo[1] + hi[1]}
				x := at(m)
				for n := 0; n < lerpSteps && (dtype == tensor.F64 || math.Abs(x-to) < 0x1p-50); n++ {
					if missing[n] && encode(dtype, x) != encode(dtype, lerped(q0, q1, m[0]/m[1], n)[f]) {
						missing[n] = false
						list = append(list, lerpTie{m[1], m[0], q0, q1})
					}
				}
				if (x > to) == above {
					hi = m
				} else {
					lo = m
				}
			}
		}
	}
	return list
}

// nearTurns tests that each step of the lerp between close quaternions rounds to nearest, on every clock.
func nearTurns(test visit) {
	for _, dtype := range valueDTypes {
		var v, times, targets []float64
		for _, t := range lerpTies(dtype) {
			v, times, targets = append(append(v, t.q0[:]...), t.q1[:]...), append(times, 0, t.h), append(targets, t.x)
		}
		n := len(targets)
		for _, clock := range clockDTypes {
			c := &resampling{Name: fmt.Sprint("near turns ", dtype, clock), Src: vals(dtype, v, n, 2, 4), Times: vals(clock, times, n, 2), Targets: vals(clock, targets, n, 1),
				Opts: ops.ResampleOptions{Interp: ops.InterpSlerp}, Planned: true}
			for _, l := range layouts {
				test(c, plannedFusion(c, dtype), l)
			}
		}
	}
}
