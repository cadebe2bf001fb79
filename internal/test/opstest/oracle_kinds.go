package opstest

import (
	"math"

	"github.com/robocache/robocache/ops"
)

// window returns the indices of the samples in (x-w, x], in order.
func (t *target[C]) window(w ops.Limit) (in []int) {
	length, _ := w.Get()
	snap, _ := t.c.Opts.Snap.Get()
	from, to := int64(length-snap), int64(snap) // before the target and after it
	for i, s := range t.times {
		begun, ended := false, false
		if ns, ok := any(s).(int64); ok {
			x := any(t.x).(int64)
			if ns <= x {
				begun = from > 0 && uint64(x)-uint64(ns) < uint64(from)
			} else {
				late := uint64(ns) - uint64(x)
				begun, ended = from > 0 || late > uint64(-from), late > uint64(to)
			}
		} else {
			begun, ended = t.x-s < inClock[C](from), s > t.x && s-t.x > inClock[C](to)
		}
		if begun && !ended {
			in = append(in, i)
		}
	}
	return in
}

// reduce returns the expected value of a feature of a window kind.
func (t *target[C]) reduce(d int) expect {
	ch := &t.of[d]
	in := t.window(ch.Window)
	if len(in) == 0 {
		return expect{rule: rounded, bits: encode(t.c.out(), math.NaN())}
	}
	if ch.Interp == ops.InterpWindowLast {
		return t.take(in[len(in)-1], d)
	}
	if ch.Interp == ops.InterpWindowMean {
		sum := t.v(in[0], d)
		for _, k := range in[1:] {
			sum += t.v(k, d)
		}
		return expect{rule: rounded, bits: encode(t.c.out(), sum/float64(len(in)))}
	}
	for _, k := range in {
		if v := t.v(k, d); v != v {
			return t.take(k, d)
		}
	}
	best := in[0]
	for _, k := range in[1:] {
		a, b := t.v(k, d), t.v(best, d)
		if ch.Interp == ops.InterpWindowMax {
			a, b = -a, -b
		}
		if a < b || a == b && math.Copysign(1, a) < math.Copysign(1, b) {
			best = k
		}
	}
	return t.take(best, d)
}

// catmullRom returns a blend of two parabolas, each through three samples (Barry and Goldman, A recursive evaluation algorithm for a
// class of Catmull-Rom splines, 1988). At the ends there is only one parabola, and for two samples a line.
func (t *target[C]) catmullRom(d int) expect {
	k := t.k
	// h is the bracket's length, and x the target's distance from its start; before and after are the lengths of the neighbouring
	// brackets. Adding lengths must not lose a short one next to a long one.
	h, x := gapOf(t.times[k], t.times[k+1]), gapOf(t.times[k], t.x)
	var before, after float64
	if k > 0 {
		before = gapOf(t.times[k-1], t.times[k])
	}
	if k+2 < len(t.times) {
		after = gapOf(t.times[k+1], t.times[k+2])
	}
	from := [4]float64{before + x, x, x - h, x - h - after} // distances of samples k-1, k, k+1, k+2 from the target
	apart := [3]float64{before, h, after}
	size := largest(t.v(k, d), t.v(k+1, d))
	// parabola is Neville's scheme for samples k+i to k+i+2. Steep parabolas cancel where they meet, so the tolerance depends on
	// their terms.
	parabola := func(i int) float64 {
		p := func(i, j int, a, b float64) float64 {
			length := apart[i+1]
			if j == i+2 {
				length += apart[i+2]
			}
			wa, wb := -from[j+1]/length, from[i+1]/length
			size = math.Max(size, largest(wa*a, wb*b))
			return wa*a + wb*b
		}
		return p(i, i+2, p(i, i+1, t.v(k+i, d), t.v(k+i+1, d)), p(i+1, i+2, t.v(k+i+1, d), t.v(k+i+2, d)))
	}
	left, right := before > 0, after > 0
	// Rounding the weight moves the target by that fraction of the bracket, along slopes that a short neighbouring bracket makes
	// steep.
	if left {
		size = math.Max(size, largest((t.v(k, d)-t.v(k-1, d))/before*h))
	}
	if right {
		size = math.Max(size, largest((t.v(k+2, d)-t.v(k+1, d))/after*h))
	}
	var want float64
	switch u := x / h; {
	case left && right:
		want = (1-u)*parabola(-1) + u*parabola(0)
	case left:
		want = parabola(-1)
	case right:
		want = parabola(0)
	default:
		want = (1-u)*t.v(k, d) + u*t.v(k+1, d)
	}
	return expect{rule: near, want: want, size: size}
}

// hermite returns the cubic by its basis functions for the first half of the channel, and its derivative for the second half.
func (t *target[C]) hermite(d int, ch ops.Channel) expect {
	h, x := gapOf(t.times[t.k], t.times[t.k+1]), gapOf(t.times[t.k], t.x)
	u := x / h
	if _, ok := any(t.x).(int64); ok {
		h /= 1e9
	}
	half := (ch.Hi - ch.Lo) / 2
	velocity := d-ch.Lo >= half
	if velocity {
		d -= half
	}
	p0, p1, v0, v1 := t.v(t.k, d), t.v(t.k+1, d), t.v(t.k, d+half), t.v(t.k+1, d+half)
	if velocity {
		want := 6*u*(1-u)*((p1-p0)/h) + (1-u)*(1-3*u)*v0 + u*(3*u-2)*v1
		return expect{rule: near, want: want, size: largest(v0, v1, p0/h, p1/h)}
	}
	want := (1+2*u)*(1-u)*(1-u)*p0 + u*(1-u)*(1-u)*h*v0 + u*u*(3-2*u)*p1 - u*u*(1-u)*h*v1
	return expect{rule: near, want: want, size: largest(p0, p1, h*v0, h*v1)}
}

// matrix is a rotation matrix by rows. The oracle for rotations uses no quaternions.
type matrix [3][3]float64

func (a matrix) times(b matrix) (out matrix) {
	for i := range 3 {
		for j := range 3 {
			out[i][j] = a[i][0]*b[0][j] + a[i][1]*b[1][j] + a[i][2]*b[2][j]
		}
	}
	return out
}

func (a matrix) transposed() (out matrix) {
	for i := range 3 {
		for j := range 3 {
			out[i][j] = a[j][i]
		}
	}
	return out
}

// rotation returns the rotation about a unit axis by Rodrigues' formula.
func rotation(axis [3]float64, angle float64) (out matrix) {
	s, c := math.Sincos(angle)
	half := math.Sin(angle / 2)
	for i := range 3 {
		for j := range 3 {
			out[i][j] = 2 * half * half * axis[i] * axis[j]
		}
	}
	for i := range 3 {
		out[i][i] += c
		j, k := (i+1)%3, (i+2)%3
		out[k][j] += s * axis[i]
		out[j][k] -= s * axis[i]
	}
	return out
}

// axisAngle returns a rotation's unit axis and its angle in [0, pi].
func (a matrix) axisAngle() (axis [3]float64, angle float64) {
	skew := [3]float64{(a[2][1] - a[1][2]) / 2, (a[0][2] - a[2][0]) / 2, (a[1][0] - a[0][1]) / 2} // axis * sine
	c := (a[0][0] + a[1][1] + a[2][2] - 1) / 2
	s := norm3(skew)
	angle = math.Atan2(s, c)
	if axis = skew; c < 0 {
		// Near a half turn the sine is small, but (1-cos) axis axis' = (a + a')/2 - cos is not.
		best := 0
		for i := range 3 {
			if a[i][i] > a[best][best] {
				best = i
			}
		}
		for i := range 3 {
			axis[i] = (a[best][i] + a[i][best]) / 2
		}
		axis[best] -= c
		if axis[0]*skew[0]+axis[1]*skew[1]+axis[2]*skew[2] < 0 {
			axis = [3]float64{-axis[0], -axis[1], -axis[2]}
		}
	}
	if n := norm3(axis); n > 0 {
		axis = [3]float64{axis[0] / n, axis[1] / n, axis[2] / n}
	}
	return axis, angle
}

func norm3(v [3]float64) float64 { return math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2]) }

// turned returns the rotation at fraction a of the way between two. If the cosine of the half angle is above 0.9999, it is the
// normalised lerp of the quaternions, as defined for the operation.
func turned(m0, m1 matrix, a float64) matrix {
	axis, angle := m0.transposed().times(m1).axisAngle()
	part := a * angle
	if s, c := math.Sincos(angle / 2); c > .9999 {
		part = 2 * math.Atan2(a*s, 1-a+a*c)
	}
	return m0.times(rotation(axis, part))
}

// ofVec returns the rotation of a rotation vector, or NaNs if the vector is too long.
func ofVec(r [3]float64) matrix {
	angle := norm3(r)
	switch {
	case !(angle <= 1<<20):
		angle = math.NaN()
	case angle > 0:
		r = [3]float64{r[0] / angle, r[1] / angle, r[2] / angle}
	}
	return rotation(r, angle)
}

func (t *target[C]) rotVec(first, i int, a float64) expect {
	var r0, r1 [3]float64
	for j := range 3 {
		r0[j], r1[j] = t.v(t.k, first+j), t.v(t.k+1, first+j)
	}
	axis, angle := turned(ofVec(r0), ofVec(r1), a).axisAngle()
	return expect{rule: near, want: axis[i] * angle, size: largest(append(r0[:], r1[:]...)...)}
}

// of6D returns the rotation with the first column along a and the second orthogonal to it, towards b. s is the sine of the angle
// between a and b.
func of6D(six [6]float64) (out matrix, s float64) {
	a, b := [3]float64(six[:3]), [3]float64(six[3:])
	na, nb := norm3(a), norm3(b)
	cross := func(a, b [3]float64) (out [3]float64) {
		for i := range 3 {
			j, k := (i+1)%3, (i+2)%3
			out[i] = a[j]*b[k] - a[k]*b[j]
		}
		return out
	}
	for i := range 3 {
		a[i] /= na
		b[i] /= nb
	}
	z := cross(a, b)
	s = norm3(z)
	if !(s > 0x1p-20) {
		s = math.NaN()
	}
	for i := range 3 {
		z[i] /= s
	}
	y := cross(z, a)
	for i := range 3 {
		out[i] = [3]float64{a[i], y[i], z[i]}
	}
	return out, s
}

func (t *target[C]) rot6D(first, i int, a float64) expect {
	var m0, m1 [6]float64
	for j := range 6 {
		m0[j], m1[j] = t.v(t.k, first+j), t.v(t.k+1, first+j)
	}
	r0, s0 := of6D(m0)
	r1, s1 := of6D(m1)
	// The closer the second column is to the first, the more a rounding of it turns the rotation.
	return expect{rule: near, want: turned(r0, r1, a)[i%3][i/3], size: largest(1, 1/s0, 1/s1)}
}
