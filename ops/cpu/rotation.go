package cpu

import "math"

// Rotation vectors and 6-D rotations are converted to unit quaternions xyzw, interpolated by slerp, and converted back. As in curve.go,
// each step rounds separately and the CUDA kernel does the same steps.

// Pi/2 in three parts. The first two have 33 bits, so that their product with a number below 2^20 is exact.
const (
	halfPi1 = 0x1.921fb544p+0
	halfPi2 = 0x1.0b4611a6p-34
	halfPi3 = 0x1.3198a2e037073p-69

	quarterPerRad = 0.63661977236758134308 // 2/pi
)

// maxHalfAngle is the largest half angle of a rotation vector, in radians. Beyond it float64 is too imprecise.
const maxHalfAngle = 1 << 19

// quarterTurns returns the multiple of pi/2 that is nearest to x, in [0, 2^19], and the remainder (Cody and Waite, Software Manual for
// the Elementary Functions, 1980).
func quarterTurns(x float64) (n, rest float64) {
	n = math.Floor(float64(x*quarterPerRad) + 0.5)
	return n, ((x - float64(n*halfPi1)) - float64(n*halfPi2)) - float64(n*halfPi3)
}

// The Taylor coefficients of atan(x)/x in x*x. Up to tan(pi/16) the remainder is below 2^-60.
var atanTaylor = [...]float64{1, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23}

// atan returns the arc tangent of x in [0, 1], within 6 units in the last place. It halves the angle twice, by tan(t/2) = tan(t) / (1 +
// sqrt(1 + tan(t)^2)).
func atan(x float64) float64 {
	for range 2 {
		x /= 1 + math.Sqrt(1+float64(x*x))
	}
	return float64(4 * float64(x*horner(atanTaylor[:], float64(x*x))))
}

func dot3(a, b *[3]float64) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}

// unit4 scales a quaternion to length 1.
func unit4(q *[4]float64) {
	norm := 0.0
	for i := range q {
		norm += float64(q[i] * q[i])
	}
	norm = 1 / math.Sqrt(norm)
	for i := range q {
		q[i] = float64(q[i] * norm)
	}
}

// turn writes the unit quaternion between q0 and q1 at fraction a.
func turn(q, q0, q1 *[4]float64, a float64) {
	slerp(q, q0, q1, a)
	unit4(q)
}

// quatOfVec converts a rotation vector to a quaternion.
func quatOfVec(q *[4]float64, r *[3]float64) {
	half := float64(math.Sqrt(dot3(r, r)) * 0.5)
	if !(half <= maxHalfAngle) {
		half = math.NaN()
	}
	n, y := quarterTurns(half)
	z := float64(y * y)
	series := horner(sinTaylor[:], z)
	s, c := float64(y*series), horner(cosTaylor[:], z)
	f := float64(series * 0.5) // sin(half) / |r|
	if n != 0 {
		n -= float64(4 * math.Floor(float64(n*0.25)))
		if n == 1 || n == 3 {
			s, c = c, -s
		}
		if n >= 2 {
			s, c = -s, -c
		}
		f = s / float64(2*half)
	}
	for i := range r {
		q[i] = float64(r[i] * f)
	}
	q[3] = c
}

// vecOfQuat converts a unit quaternion to a rotation vector with an angle in [0, pi].
func vecOfQuat(r *[3]float64, q *[4]float64) {
	v, w := [3]float64{q[0], q[1], q[2]}, q[3]
	if w < 0 {
		v[0], v[1], v[2], w = -v[0], -v[1], -v[2], -w
	}
	s := math.Sqrt(dot3(&v, &v)) // the sine of half the angle; w is its cosine
	f := 2.0                     // the angle / s
	switch {
	case s == 0:
	case s <= w:
		f = float64(2*atan(s/w)) / s
	default:
		f = float64(2*((halfPiHigh-atan(w/s))+halfPiLow)) / s
	}
	for i := range v {
		r[i] = float64(v[i] * f)
	}
}

// parallel is the sine of the smallest angle allowed between the two columns of a 6-D rotation.
const parallel = 0x1p-20

// quatOf6D converts a 6-D rotation to a quaternion. The rotation's first column has the direction of a, the second that of b's part
// perpendicular to a.
func quatOf6D(q *[4]float64, a, b *[3]float64) {
	var x, y [3]float64 // the first two columns
	na, nb := math.Sqrt(dot3(a, a)), math.Sqrt(dot3(b, b))
	for i := range a {
		x[i] = a[i] / na
	}
	along := dot3(&x, b)
	for i := range b {
		y[i] = b[i] - float64(along*x[i])
	}
	across := math.Sqrt(dot3(&y, &y))
	if !(across > float64(parallel*nb)) || na-na != 0 || nb-nb != 0 {
		across = math.NaN()
	}
	for i := range y {
		y[i] /= across
	}
	z := [3]float64{
		float64(x[1]*y[2]) - float64(x[2]*y[1]),
		float64(x[2]*y[0]) - float64(x[0]*y[2]),
		float64(x[0]*y[1]) - float64(x[1]*y[0]),
	}
	// The largest of the quaternion's four components, squared, is at least 1/4, so the division is safe (Shepperd, Quaternion from
	// Rotation Matrix, 1978).
	switch trace := x[0] + y[1] + z[2]; {
	case trace >= x[0] && trace >= y[1] && trace >= z[2]:
		*q = [4]float64{y[2] - z[1], z[0] - x[2], x[1] - y[0], 1 + trace}
	case x[0] >= y[1] && x[0] >= z[2]:
		*q = [4]float64{1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2], y[2] - z[1]}
	case y[1] >= z[2]:
		*q = [4]float64{y[0] + x[1], 1 - x[0] + y[1] - z[2], z[1] + y[2], z[0] - x[2]}
	default:
		*q = [4]float64{z[0] + x[2], z[1] + y[2], 1 - x[0] - y[1] + z[2], x[1] - y[0]}
	}
	unit4(q)
}

// sixOfQuat writes the first two columns of a unit quaternion's rotation matrix.
func sixOfQuat(out *[6]float64, q *[4]float64) {
	x, y, z, w := q[0], q[1], q[2], q[3]
	out[0] = 1 - float64(2*(float64(y*y)+float64(z*z)))
	out[1] = float64(2 * (float64(x*y) + float64(z*w)))
	out[2] = float64(2 * (float64(x*z) - float64(y*w)))
	out[3] = float64(2 * (float64(x*y) - float64(z*w)))
	out[4] = 1 - float64(2*(float64(x*x)+float64(z*z)))
	out[5] = float64(2 * (float64(y*z) + float64(x*w)))
}
