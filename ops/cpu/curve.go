package cpu

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// The formulas of the kinds that look at a feature's value. All are computed in float64, each step rounded on its own, in
// the order written: the CUDA kernel does the same steps.

// wrapAngle returns x less the multiple of period that brings it into [-period/2, period/2). Within three halves of a period
// of 0 that takes no division, and the result is exact.
func wrapAngle(x, period float64) float64 {
	half := float64(period * 0.5)
	r := x
	switch {
	case x >= half:
		r = x - period
	case x < -half:
		r = x + period
	}
	if r >= -half && r < half {
		return r
	}
	r = x - float64(period*math.Floor(x/period+0.5))
	switch {
	case r >= half:
		r -= period
	case r < -half:
		r += period
	}
	return r
}

// unwrapAngle returns x less the multiple of period that brings it into [0, period).
func unwrapAngle(x, period float64) float64 {
	r := x
	switch {
	case x >= period:
		r = x - period
	case x < 0:
		r = x + period
	}
	if r >= 0 && r < period {
		return r
	}
	if r = wrapAngle(x, period); r < 0 {
		r += period
	}
	if r == period { // rounded up from just below
		return 0
	}
	return r
}

// angle goes from v0 towards v1: plainly where they differ by half a period or less, and else along the shorter arc, which stays in
// [0, period) if the samples tell that this is their range, or comes into [-period/2, period/2).
func angle(v0, v1, a, period float64) float64 {
	half, d := float64(period*0.5), v1-v0
	if math.Abs(d) <= half {
		return v0 + float64(a*d)
	}
	r := v0 + float64(a*wrapAngle(d, period))
	if v0 >= 0 && v1 >= 0 && (v0 >= half || v1 >= half) {
		return unwrapAngle(r, period)
	}
	return wrapAngle(r, period)
}

// slerpWeights returns the factors of q0 and q1, and whether the sum has to be normalised: the normalised lerp that takes
// over above a dot product of 0.9999.
func slerpWeights(q0, q1 *[4]float64, a float64) (w0, w1 float64, normalise bool) {
	dot := float64(q0[0] * q1[0])
	for i := 1; i < 4; i++ {
		dot += float64(q0[i] * q1[i])
	}
	sign := 1.0
	if dot < 0 {
		sign, dot = -1, -dot
	}
	if dot > 0.9999 {
		return 1 - a, sign * a, true
	}
	// With theta the angle whose cosine is dot: sin(a*theta)/sin(theta) is a times theta/sin(theta) times sin(a*theta)/(a*theta),
	// and both quotients are polynomials, of 1 - dot and of the square of a*theta.
	u, b := 1-dot, 1-a
	ratio := polynomial(acosRatio[:], u)
	square := float64(float64(ratio*ratio) * float64(u*(1+dot))) // of theta
	w0 = float64(float64(b*ratio) * polynomial(sinRatio[:], float64(float64(b*b)*square)))
	w1 = float64(float64(a*ratio) * polynomial(sinRatio[:], float64(float64(a*a)*square)))
	return w0, float64(sign * w1), false
}

// slerp writes the quaternion at a between q0 and q1.
func slerp(out, q0, q1 *[4]float64, a float64) {
	w0, w1, normalise := slerpWeights(q0, q1, a)
	norm := 0.0
	for i := range out {
		out[i] = float64(w0*q0[i]) + float64(w1*q1[i])
		norm += float64(out[i] * out[i])
	}
	if normalise {
		norm = 1 / math.Sqrt(norm)
		for i := range out {
			out[i] = float64(out[i] * norm)
		}
	}
}

// The Taylor coefficients of sin(x)/x and cos(x) in x*x. On [0, pi/4] what is left out is below 2^-60.
var (
	sinTaylor = [...]float64{1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000}
	cosTaylor = [...]float64{1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000}
)

// acosRatio is acos(1-u)/sin(acos(1-u)) in u, for u in [0, 1], and sinRatio is sin(x)/x in x*x, for x in [0, pi/2]. They are the
// polynomials of their degrees whose greatest relative errors are least, 1.9e-16 and 1.5e-16, by Remez's algorithm.
var (
	acosRatio = [...]float64{
		0x1.ffffffffffffep-1, 0x1.5555555555f82p-2, 0x1.1111111069e05p-3, 0x1.d41d425c34c22p-5,
		0x1.a019e463897f8p-6, 0x1.7a4a044adc375p-7, 0x1.5cd7d674c5744p-8, 0x1.4b1a22baae8bbp-9,
		0x1.eef1a4774b466p-11, 0x1.8d76da62e0babp-10, -0x1.7578e22319dd0p-9, 0x1.01d9928be5728p-7,
		-0x1.e50b69e52f10ep-7, 0x1.68bbe5d35b43bp-6, -0x1.971add2211940p-6, 0x1.5a18b4edf7f86p-6,
		-0x1.ac0c637646acep-7, 0x1.6d8b99bf0b4c8p-8, -0x1.82653d340237fp-10, 0x1.82de544e186d3p-13,
	}
	sinRatio = [...]float64{
		0x1.fffffffffffffp-1, -0x1.5555555555459p-3, 0x1.1111111108fcbp-7, -0x1.a01a0199c07f6p-13,
		0x1.71de37de52af4p-19, -0x1.ae634b1880842p-26, 0x1.60e55581f0209p-33, -0x1.9eee72299b20bp-41,
	}
)

const (
	halfPiHigh = 1.57079632679489655800e+00 // pi/2 rounded to float64
	halfPiLow  = 6.12323399573676603587e-17 // what that leaves
)

func horner(c []float64, z float64) float64 {
	s := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		s = float64(s*z) + c[i]
	}
	return s
}

// polynomial is horner for a multiple of four coefficients, four at a time, so that fewer steps wait for each other.
func polynomial(c []float64, x float64) (s float64) {
	x2 := float64(x * x)
	x4 := float64(x2 * x2)
	for i := len(c) - 4; i >= 0; i -= 4 {
		four := (c[i] + float64(c[i+1]*x)) + float64((c[i+2]+float64(c[i+3]*x))*x2)
		if i == len(c)-4 {
			s = four
		} else {
			s = float64(s*x4) + four
		}
	}
	return s
}

// beside is a bracket next to the target's: the target's length over its own, and over both; 0 where there is none, and the curve ends.
type beside struct {
	ratio, share float64
}

func besideOf(h, length float64) beside {
	if length == 0 {
		return beside{}
	}
	r := min(max(h/length, 0x1p-1022), 0x1p1023)
	return beside{r, r / (1 + r)}
}

// cubic is what features of a target in [v1, v2] are made of: the samples' values, and the slopes at the target's ends. A slope is a
// rise: how far a line of that slope would rise over the target's bracket, whose own line's is rise. outer is that of the line over a
// bracket beside it. Targets in one bracket have them in common.
type cubic struct {
	before, after beside
	kind          backend.Interp
	from          int // where v1 is in src; -1 while nothing is known
	v1, rise      []float64
	outer         [2][]float64 // before and after, while there are such brackets
	slopes        [2][]float64
}

// newCubic makes room for the widest of the channels of such kinds.
func newCubic(channels []backend.Channel) cubic {
	n := 0
	for _, c := range channels {
		if c.Interp == backend.InterpPchip || c.Interp == backend.InterpCatmullRom {
			n = max(n, c.Hi-c.Lo)
		}
	}
	all := make([]float64, 6*n)
	row := func(i int) []float64 { return all[i*n : (i+1)*n] }
	return cubic{v1: row(0), rise: row(1), outer: [2][]float64{row(2), row(3)}, slopes: [2][]float64{row(4), row(5)}}
}

// bend makes the slopes of n features.
func (c *cubic) bend(n int) {
	rise := c.rise[:n]
	for end, d := range c.slopes {
		d = d[:n]
		near, far := c.before, c.after
		if end == 1 {
			near, far = far, near
		}
		switch inner, outer := c.outer[end][:n], c.outer[1-end][:n]; {
		case near.ratio > 0 && c.kind == backend.InterpPchip:
			for i, m := range rise {
				d[i] = pchipSlope(m, inner[i], near.share)
			}
		case near.ratio > 0:
			for i, m := range rise {
				d[i] = parabola(m, inner[i], near.share)
			}
		case far.ratio > 0 && c.kind == backend.InterpPchip:
			for i, m := range rise {
				d[i] = pchipEnd(m, outer[i], far.share)
			}
		case far.ratio > 0:
			for i, m := range rise {
				d[i] = parabolaEnd(m, outer[i], far.share)
			}
		default:
			copy(d, rise)
		}
	}
}

// at writes the features of a target at u of the way.
func (c *cubic) at(out []float64, u float64) {
	v1, rise, d1, d2 := c.v1[:len(out)], c.rise[:len(out)], c.slopes[0][:len(out)], c.slopes[1][:len(out)]
	for i := range out {
		out[i] = hermite(v1[i], rise[i], d1[i], d2[i], 1, u)
	}
}

// parabola is the slope at a sample of the parabola through it and its neighbours.
func parabola(rise, outer, share float64) float64 {
	return float64(share*outer) + float64((1-share)*rise)
}

// parabolaEnd is that at the parabola's end, of the target's bracket.
func parabolaEnd(rise, outer, share float64) float64 {
	return float64((1+share)*rise) - float64(share*outer)
}

// hermite is the cubic from v1 with slope d1 to rise above it with slope d2, h further, at u of the way. Slopes may be steep, so each has a
// factor that is 0 at the other end.
func hermite(v1, rise, d1, d2, h, u float64) float64 {
	r := 1 - u
	both := float64(u * r)
	bend := float64(float64(h*both) * (float64(r*d1) - float64(u*d2)))
	return v1 + float64(float64(float64(u*u)*(3-float64(2*u)))*rise) + bend
}

// hermiteSlope is its slope.
func hermiteSlope(rise, d1, d2, h, u float64) float64 {
	r := 1 - u
	return float64(float64(6*float64(u*r))*(rise/h)) + float64(float64(r*(1-float64(3*u)))*d1) - float64(float64(u*(2-float64(3*u)))*d2)
}

// pchipSlope is the slope at a sample between two brackets, as scipy's PchipInterpolator has it: the weighted harmonic mean of Fritsch and
// Butland (A method for constructing local monotone piecewise cubic interpolants, 1984), 0 where the data turns. The weight of outer is (2h + l) / (3 (h + l)), l being its
// bracket's length, and that of rise what is left of 1.
func pchipSlope(rise, outer, share float64) float64 {
	const least, most, sign = (1023 - 960) << 52, (1023 + 1000) << 52, 1 << 63
	both := float64(rise * outer)
	bits := math.Float64bits(both)
	if bits&^sign-least > most-least {
		return pchipSteep(rise, outer, share)
	}
	// Whether data turns can hardly be foreseen, so there is no branch: below 0, what was divided is left out.
	w := float64((1 + share) * (1.0 / 3))
	d := both / (float64(w*rise) + float64((1-w)*outer))
	return math.Float64frombits(math.Float64bits(d) &^ uint64(int64(bits)>>63))
}

// pchipSteep is pchipSlope where the product is too small, too great or no number.
func pchipSteep(rise, outer, share float64) float64 {
	if !(rise > 0 && outer > 0 || rise < 0 && outer < 0) {
		return 0
	}
	w := float64((1 + share) * (1.0 / 3))
	if math.Abs(outer) > math.Abs(rise) {
		return rise / (float64(w*(rise/outer)) + (1 - w))
	}
	return outer / (w + float64((1-w)*(outer/rise)))
}

// pchipEnd is the slope at the end of a curve: the one-sided three-point formula, kept in the data's direction (Moler,
// Numerical Computing with MATLAB, 2004, section 3.6).
func pchipEnd(rise, outer, share float64) float64 {
	d := parabolaEnd(rise, outer, share)
	switch {
	case sign(d) != sign(rise):
		return 0
	case sign(rise) != sign(outer) && math.Abs(d) > float64(3*math.Abs(rise)):
		return float64(3 * rise)
	}
	return d
}

// sign is 1, 0 or -1, and 2 for a NaN. A NaN is like nothing else but another NaN, so that a slope made of one is 0.
func sign(x float64) int {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return 2
}
