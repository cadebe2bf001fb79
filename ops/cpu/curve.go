package cpu

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// Formulas of the interpolations that depend on feature values. They are computed in float64, and each step rounds separately in the
// written order, because the CUDA kernel does the same steps.

// wrapAngle returns x minus the multiple of period that brings it into [-period/2, period/2). If |x| is at most 1.5 periods, no
// division is needed and the result is exact.
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

// unwrapAngle returns x minus the multiple of period that brings it into [0, period).
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
	if r == period { // r was rounded up from just below the period
		return 0
	}
	return r
}

// angle interpolates from v0 towards v1. If they differ by at most half a period, it is linear. Otherwise it follows the shorter arc.
// The result stays in [0, period) if the samples show that range, and is wrapped to [-period/2, period/2) if not.
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

// slerpWeights returns the factors for q0 and q1. normalise reports whether the sum must be normalised, which is the case above a dot
// product of 0.9999, where a normalised lerp is used.
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
	// Let theta be the angle with cosine dot. sin(a*theta)/sin(theta) equals a times theta/sin(theta) times sin(a*theta)/(a*theta).
	// Both quotients are polynomials: in 1 - dot, and in the square of a*theta.
	u, b := 1-dot, 1-a
	ratio := polynomial(acosRatio[:], u)
	square := float64(float64(ratio*ratio) * float64(u*(1+dot))) // theta squared
	w0 = float64(float64(b*ratio) * polynomial(sinRatio[:], float64(float64(b*b)*square)))
	w1 = float64(float64(a*ratio) * polynomial(sinRatio[:], float64(float64(a*a)*square)))
	return w0, float64(sign * w1), false
}

// slerp writes the quaternion between q0 and q1 at fraction a.
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

// The Taylor coefficients of sin(x)/x and cos(x) in x*x. On [0, pi/4] the remainder is below 2^-60.
var (
	sinTaylor = [...]float64{1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000}
	cosTaylor = [...]float64{1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000}
)

// acosRatio approximates acos(1-u)/sin(acos(1-u)) as a polynomial in u on [0, 1]. sinRatio approximates sin(x)/x in x*x, for x in [0,
// pi/2]. Both minimise the greatest relative error for their degree, 1.9e-16 and 1.5e-16, by Remez's algorithm.
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
	halfPiLow  = 6.12323399573676603587e-17 // the rounding error of halfPiHigh
)

func horner(c []float64, z float64) float64 {
	s := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		s = float64(s*z) + c[i]
	}
	return s
}

// polynomial evaluates like horner but takes four coefficients per step, so that fewer steps depend on each other. len(c) is a multiple
// of four.
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

// beside describes the bracket next to the target's: ratio is the length of the target's bracket divided by this one's, and share by
// both together. Both are 0 if there is no such bracket and the curve ends.
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

// cubic holds the values and slopes for features of targets in one bracket [v1, v2], so that these targets share them. A slope is
// stored as a rise over the target's bracket. rise is the rise of the bracket's own line, and outer the same for the lines in the
// brackets before and after.
type cubic struct {
	before, after beside
	kind          backend.Interp
	from          int // position of v1 in src; -1 if nothing is cached
	v1, rise      []float64
	outer         [2][]float64 // before and after, where such brackets exist
	slopes        [2][]float64
}

// newCubic allocates memory for the widest pchip or Catmull-Rom channel.
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

// bend computes the slopes for n features.
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

// at writes a target's features at fraction u of the bracket.
func (c *cubic) at(out []float64, u float64) {
	v1, rise, d1, d2 := c.v1[:len(out)], c.rise[:len(out)], c.slopes[0][:len(out)], c.slopes[1][:len(out)]
	for i := range out {
		out[i] = hermite(v1[i], rise[i], d1[i], d2[i], 1, u)
	}
}

// parabola returns the slope at a sample, of the parabola through the sample and its two neighbours.
func parabola(rise, outer, share float64) float64 {
	return float64(share*outer) + float64((1-share)*rise)
}

// parabolaEnd returns that parabola's slope at the outer end of the target's bracket.
func parabolaEnd(rise, outer, share float64) float64 {
	return float64((1+share)*rise) - float64(share*outer)
}

// hermite evaluates a cubic at fraction u. The cubic goes from v1 with slope d1 to v1+rise with slope d2, over length h. Because slopes
// may be steep, each has a factor that is 0 at the other end.
func hermite(v1, rise, d1, d2, h, u float64) float64 {
	r := 1 - u
	both := float64(u * r)
	bend := float64(float64(h*both) * (float64(r*d1) - float64(u*d2)))
	return v1 + float64(float64(float64(u*u)*(3-float64(2*u)))*rise) + bend
}

// hermiteSlope returns the slope of the hermite cubic at fraction u.
func hermiteSlope(rise, d1, d2, h, u float64) float64 {
	r := 1 - u
	return float64(float64(6*float64(u*r))*(rise/h)) + float64(float64(r*(1-float64(3*u)))*d1) - float64(float64(u*(2-float64(3*u)))*d2)
}

// pchipSlope returns the slope at a sample between two brackets, like scipy's PchipInterpolator: the weighted harmonic mean by Fritsch
// and Butland (A method for constructing local monotone piecewise cubic interpolants, 1984), and 0 at a local extremum. The weight of
// outer is (2h + l) / (3 (h + l)), where l is the length of its bracket. The weight of rise is the rest of 1.
func pchipSlope(rise, outer, share float64) float64 {
	const least, most, sign = (1023 - 960) << 52, (1023 + 1000) << 52, 1 << 63
	both := float64(rise * outer)
	bits := math.Float64bits(both)
	if bits&^sign-least > most-least {
		return pchipSteep(rise, outer, share)
	}
	// A branch on whether the data turns would be hard to predict. Instead, the quotient is masked out if the product is negative.
	w := float64((1 + share) * (1.0 / 3))
	d := both / (float64(w*rise) + float64((1-w)*outer))
	return math.Float64frombits(math.Float64bits(d) &^ uint64(int64(bits)>>63))
}

// pchipSteep computes pchipSlope if the product is too small, too large or NaN.
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

// pchipEnd returns the slope at the end of a curve, by the one-sided three-point formula. It is limited so that it keeps the data's
// direction (Moler, Numerical Computing with MATLAB, 2004, section 3.6).
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

// sign returns 1, 0 or -1, and 2 for NaN. NaN therefore differs from every number's sign, so that a slope computed from it is 0.
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
