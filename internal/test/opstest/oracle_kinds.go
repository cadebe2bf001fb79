package opstest

import (
	"math"

	"github.com/robocache/robocache/ops"
)

// window returns the samples in (x-w, x], in order.
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

// reduce is a window's feature.
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

// catmullRom blends two parabolas, each through three samples (Barry and Goldman, A recursive evaluation algorithm for a class
// of Catmull-Rom splines, 1988). Where there is only one, it is that, and the line where there is none.
func (t *target[C]) catmullRom(d int) expect {
	k := t.k
	// The brackets before, at and after the target, and the target in its own. Sums of lengths lose no short one beside a long one.
	h, x := gapOf(t.times[k], t.times[k+1]), gapOf(t.times[k], t.x)
	var before, after float64
	if k > 0 {
		before = gapOf(t.times[k-1], t.times[k])
	}
	if k+2 < len(t.times) {
		after = gapOf(t.times[k+1], t.times[k+2])
	}
	from := [4]float64{before + x, x, x - h, x - h - after} // from samples k-1, k, k+1, k+2 to the target
	apart := [3]float64{before, h, after}
	size := largest(t.v(k, d), t.v(k+1, d))
	// parabola is Neville's scheme over samples k+i to k+i+2. Steep parabolas cancel where they meet: what they are made of counts.
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
	// A rounding of the weight moves the target by that part of the bracket, along slopes that a short neighbour makes steep.
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

// hermite is the cubic in its basis functions, for the first half of the channel, and their derivatives for the second.
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

// matrix is a rotation by rows. The oracle of the rotations uses no quaternion.
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

// rotation is Rodrigues' formula.
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

// axisAngle returns a rotation's axis and its angle in [0, pi].
func (a matrix) axisAngle() (axis [3]float64, angle float64) {
	skew := [3]float64{(a[2][1] - a[1][2]) / 2, (a[0][2] - a[2][0]) / 2, (a[1][0] - a[0][1]) / 2} // axis * sin
	c := (a[0][0] + a[1][1] + a[2][2] - 1) / 2
	s := norm3(skew)
	angle = math.Atan2(s, c)
	if axis = skew; c < 0 {
		// Near a half turn the sine is small. (1-c) axis axis' = (a + a')/2 - c is not.
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

// turned is the rotation at a of the way between two. Up to a half angle whose cosine is 0.9999, the definition takes the
// normalised lerp of quaternions.
func turned(m0, m1 matrix, a float64) matrix {
	axis, angle := m0.transposed().times(m1).axisAngle()
	part := a * angle
	if s, c := math.Sincos(angle / 2); c > .9999 {
		part = 2 * math.Atan2(a*s, 1-a+a*c)
	}
	return m0.times(rotation(axis, part))
}

// ofVec is the rotation of a rotation vector, of NaNs if it is too long.
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

// of6D is the rotation whose first column is along a and whose second is across it towards b, and the sine of the angle between them.
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
	// What rounding turns the second column by is that much more the nearer it is to the first.
	return expect{rule: near, want: turned(r0, r1, a)[i%3][i/3], size: largest(1, 1/s0, 1/s1)}
}
