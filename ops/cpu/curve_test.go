package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/test/thorough"
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

func TestSinRatioIsWithinThreeUlps(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for i := range 4001 {
		x := math.Pi / 2 * float64(i+1) / 4001
		assert.LessOrEqual(t, ulps(polynomial(sinRatio[:], x*x), exactSin(x)/x), 3.0, "at %v", x)
	}
	assert.LessOrEqual(t, ulps(polynomial(sinRatio[:], 0), 1), 1.0)
}

// The ratio is told by the angle: 1 - cos(x) is twice the square of sin(x/2), which is exact to some roundings where 1 - dot is.
func TestAcosRatioIsWithinFourUlps(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for i := range 4001 {
		x := math.Pi / 2 * float64(i+1) / 4001
		half := exactSin(x / 2)
		assert.LessOrEqual(t, ulps(polynomial(acosRatio[:], 2*half*half), x/exactSin(x)), 4.0, "at %v", x)
	}
	assert.LessOrEqual(t, ulps(polynomial(acosRatio[:], 0), 1), 2.0)
}

func TestSlerpWeightsAreSines(t *testing.T) {
	for i := range 500 {
		x := math.Pi / 2 * float64(i+10) / 509
		q0, q1 := [4]float64{0, 0, 0, 1}, [4]float64{0, math.Sin(x), 0, math.Cos(x)}
		for _, sign := range []float64{1, -1} {
			q2 := [4]float64{0, sign * q1[1], 0, sign * q1[3]}
			for _, a := range []float64{0x1p-40, .25, .5, .9, 1 - 0x1p-40} {
				w0, w1, normalise := slerpWeights(&q0, &q2, a)
				assert.False(t, normalise)
				assert.InDelta(t, math.Sin((1-a)*x)/math.Sin(x), w0, 1e-14, "angle %v at %v", x, a)
				if q2[3] != 0 {
					assert.InDelta(t, sign*math.Sin(a*x)/math.Sin(x), w1, 1e-14, "angle %v at %v", x, a)
				}
			}
		}
	}
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
