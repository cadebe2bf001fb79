package ops

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

// ulps returns how many steps of want's size got is away from it.
func ulps(got, want float64) float64 {
	step := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	return math.Abs(got-want) / step
}

// exactSin is the Taylor series in 200 bits.
func exactSin(x float64) float64 {
	z := new(big.Float).SetPrec(200).SetFloat64(x)
	square := new(big.Float).Mul(z, z)
	sum, term := new(big.Float).Copy(z), new(big.Float).Copy(z)
	for n := 2; n < 60; n += 2 {
		term.Mul(term, square)
		term.Quo(term, new(big.Float).SetPrec(200).SetInt64(int64(-n*(n+1))))
		sum.Add(sum, term)
	}
	out, _ := sum.Float64()
	return out
}

func TestSinIsWithinTwoUlps(t *testing.T) {
	worst, at := 0.0, 0.0
	for i := range 4001 {
		x := math.Pi / 2 * float64(i) / 4000
		if u := ulps(sin(x), exactSin(x)); u > worst {
			worst, at = u, x
		}
	}
	assert.LessOrEqual(t, worst, 2.0, "at %v", at)
	for _, x := range []float64{0, 1e-300, 1e-9, math.Pi / 4, math.Nextafter(math.Pi/4, 1), math.Pi / 2} {
		assert.LessOrEqual(t, ulps(sin(x), exactSin(x)), 2.0, "at %v", x)
	}
}

// The cosine is only used where the angle is above 0.01, so an absolute bound says enough near its zero.
func TestCosIsWithinTwoUlpsOfOne(t *testing.T) {
	for i := range 4001 {
		x := math.Pi / 2 * float64(i) / 4000
		assert.InDelta(t, math.Cos(x), cos(x), 0x1p-52, "at %v", x)
	}
}

// At small angles the arc cosine magnifies its argument's rounding by 1/sin: what is asked is that the cosine of the
// result is the argument, within a rounding of it.
func TestAcosInvertsTheCosine(t *testing.T) {
	for i := range 10001 {
		x := 0.9999 * float64(i) / 10000
		theta := acos(x)
		assert.InDelta(t, x, math.Cos(theta), 3*0x1p-53, "at %v", x)
		assert.InDelta(t, math.Acos(x), theta, 4*0x1p-53/math.Sin(theta), "at %v", x)
	}
	assert.Equal(t, math.Pi/2, acos(0))
}

func TestSlerpKeepsUnitLength(t *testing.T) {
	for i := range 1000 {
		angle := float64(i) / 1000 * math.Pi
		for _, a := range []float64{0x1p-40, .25, .5, .9, 1 - 0x1p-40} {
			q0, q1 := [4]float64{0, 0, 0, 1}, [4]float64{0, 0, math.Sin(angle), math.Cos(angle)}
			var q [4]float64
			slerp(&q, &q0, &q1, a)
			// Weights are good to a few roundings, and at most 1 / sin(acos(0.9999)) of them could show.
			assert.InDelta(t, 1, math.Sqrt(q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3]), 1e-14, "angle %v at %v", angle, a)
		}
	}
}

func TestWrapAngleStaysInItsHalfOpenRange(t *testing.T) {
	for _, period := range []float64{1, 2 * math.Pi, 360, 1e-3} {
		for _, x := range []float64{0, .5, -.5, .25, 1, -1, 1e6, -1e6, 0.49999999999999994, -0.5000000000000001, 12345.678} {
			got := wrapAngle(x*period, period)
			assert.True(t, got >= -period/2 && got < period/2, "%v of period %v: got %v", x*period, period, got)
		}
	}
	assert.Equal(t, -180.0, wrapAngle(180, 360))
	assert.Equal(t, -180.0, wrapAngle(-180, 360))
	assert.True(t, math.IsNaN(wrapAngle(math.Inf(1), 360)))
}
