package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestAtanIsWithinSixUlps(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	worst, at := 0.0, 0.0
	for i := range 10001 {
		x := float64(i) / 10000
		if u := ulps(atan(x), math.Atan(x)); u > worst {
			worst, at = u, x
		}
	}
	assert.LessOrEqual(t, worst, 6.0, "at %v", at)
	for _, x := range []float64{0, 1e-300, 1e-9, 0x1p-30, math.Nextafter(1, 0), 1} {
		assert.LessOrEqual(t, ulps(atan(x), math.Atan(x)), 6.0, "at %v", x)
	}
}

// The quaternion of a long rotation vector is that of its remainder: sine and cosine are within a few roundings of 1.
func TestQuaternionOfARotationVectorOfAnyLength(t *testing.T) {
	for i := range 4000 {
		angle := float64(i) * .01
		if i > 2000 {
			angle = math.Pow(1<<20, float64(i-2000)/2000) // up to the longest
		}
		var q [4]float64
		quatOfVec(&q, &[3]float64{angle * .6, 0, -angle * .8})
		s, c := math.Sincos(angle / 2)
		// The length of the vector is good to 2 roundings.
		tolerance := 4*0x1p-53 + angle*0x1p-52
		assert.InDeltaSlice(t, []float64{s * .6, 0, -s * .8, c}, q[:], tolerance, "angle %v", angle)
	}
}

// Every multiple of a quarter turn is where one series hands over to the other.
func TestQuarterTurnsLeaveLessThanHalfOfOne(t *testing.T) {
	for n := range 5000 {
		for _, off := range []float64{-.7853981, -1e-9, 0, 1e-9, .7853981} {
			x := max(float64(n)*math.Pi/2+off, 0)
			quarter, rest := quarterTurns(x)
			assert.LessOrEqual(t, math.Abs(rest), math.Pi/4+1e-9, "%v", x)
			s, c := math.Sincos(x)
			sr, cr := math.Sincos(rest + math.Mod(quarter, 4)*math.Pi/2)
			assert.InDelta(t, s, sr, 4*0x1p-52, "%v", x)
			assert.InDelta(t, c, cr, 4*0x1p-52, "%v", x)
		}
	}
}

func TestRotationVectorsComeBack(t *testing.T) {
	for _, axis := range [][3]float64{{1, 0, 0}, {0, -1, 0}, {.6, 0, .8}, {-2. / 3, 2. / 3, 1. / 3}} {
		for _, angle := range []float64{0, 1e-300, 1e-160, 1e-8, .1, 1, math.Pi / 2, 2, 3, math.Pi - 1e-9, math.Nextafter(math.Pi, 0)} {
			r := [3]float64{angle * axis[0], angle * axis[1], angle * axis[2]}
			var q, p [4]float64
			var back [3]float64
			var six [6]float64
			quatOfVec(&q, &r)
			vecOfQuat(&back, &q)
			tolerance := 8 * 0x1p-53 * angle // a dozen roundings, of which each moves it by a part
			assert.InDeltaSlice(t, r[:], back[:], tolerance, "%v about %v", angle, axis)
			sixOfQuat(&six, &q)
			quatOf6D(&p, (*[3]float64)(six[:3]), (*[3]float64)(six[3:]))
			sign := 1.0
			if q[0]*p[0]+q[1]*p[1]+q[2]*p[2]+q[3]*p[3] < 0 {
				sign = -1
			}
			for i := range q {
				assert.InDelta(t, q[i], sign*p[i], 8*0x1p-53, "%v about %v", angle, axis)
			}
		}
	}
}

// Negated quaternions are the same rotation, and the vector is the shorter one.
func TestRotationVectorsAreAtMostPiLong(t *testing.T) {
	for i := range 629 {
		half := float64(i) / 100
		s, c := math.Sincos(half)
		var r [3]float64
		vecOfQuat(&r, &[4]float64{0, s, 0, c})
		assert.LessOrEqual(t, math.Abs(r[1]), math.Pi, "half angle %v", half)
		want := math.Remainder(2*half, 2*math.Pi)
		assert.InDelta(t, want, r[1], 1e-14, "half angle %v", half)
	}
}

func TestWhatIsNoRotationIsNaN(t *testing.T) {
	var q [4]float64
	for _, r := range [][3]float64{{0x1p20 + 1, 0, 0}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}, {1e200, 1e200, 0}} {
		quatOfVec(&q, &r)
		assert.True(t, math.IsNaN(q[0]) && math.IsNaN(q[3]), "%v: got %v", r, q)
	}
	for _, m := range [][6]float64{{0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 0, 0}, {1, 2, 3, 1, 2, 3}, {1, 0, 0, -1, 1e-7, 0}, {1e200, 0, 0, 0, 1, 0},
		{1, 0, 0, 0, math.Inf(1), 0}, {math.NaN(), 0, 0, 0, 1, 0}} {
		quatOf6D(&q, (*[3]float64)(m[:3]), (*[3]float64)(m[3:]))
		assert.True(t, math.IsNaN(q[0]) && math.IsNaN(q[3]), "%v: got %v", m, q)
	}
	quatOf6D(&q, &[3]float64{3, 0, 0}, &[3]float64{-1, 1e-5, 0})
	assert.Equal(t, [4]float64{0, 0, 0, 1}, q, "lengths and the angle between do not matter")
}
