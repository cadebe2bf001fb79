package opstest

import (
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// target is one target of a row in a case.
type target[C clockType] struct {
	c     *resampling
	of    []ops.Channel // channel of each feature, from channels
	row   int
	times []C
	x     C

	k                 int // the last sample at or before x; 0 if x is before the first
	exact, nan        bool
	below, above, gap bool
	laterIsNearer     bool
}

// gapOf returns y - x as float64, for y >= x. The difference is taken in the clock's type; int64 differences may reach 2^63.
func gapOf[C clockType](x, y C) float64 {
	if a, ok := any(x).(int64); ok {
		return float64(uint64(any(y).(int64)) - uint64(a))
	}
	return float64(y - x)
}

// exceeds reports whether y - x is more than limit, for y >= x.
func exceeds[C clockType](x, y C, limit ops.Limit) bool {
	d, on := limit.Get()
	if !on {
		return false
	}
	if a, ok := any(x).(int64); ok {
		return uint64(any(y).(int64))-uint64(a) > uint64(d)
	}
	return y-x > inClock[C](int64(d))
}

// slack returns a limit extended by the case's Snap.
func (t *target[C]) slack(limit ops.Limit) ops.Limit {
	d, on := limit.Get()
	if more, _ := t.c.Opts.Snap.Get(); on {
		return ops.Within(d + min(more, math.MaxInt64-d))
	}
	return limit
}

// snap returns the sample that x counts as equal to, and true. It is the nearer of the neighbours, or the last of several with one
// timestamp. Otherwise it returns false.
func (t *target[C]) snap() (k int, on bool) {
	limit, given := t.c.Opts.Snap.Get()
	before, after := -1, -1
	for i, s := range t.times {
		switch {
		case s <= t.x:
			before = i
		case after < 0 || s == t.times[after]:
			after = i
		}
	}
	near := func(i int) bool { // within Snap
		return i >= 0 && given && !exceeds(min(t.x, t.times[i]), max(t.x, t.times[i]), ops.Within(limit))
	}
	if before >= 0 && after >= 0 && near(before) && near(after) {
		if t.nearer(t.times[before], t.times[after]) {
			return after, true
		}
		return before, true
	}
	if near(before) {
		return before, true
	}
	return after, near(after)
}

// nearer reports whether x is nearer to after than to before.
func (t *target[C]) nearer(before, after C) bool {
	if _, ok := any(t.x).(int64); ok {
		return uint64(any(t.x).(int64))-uint64(any(before).(int64)) > uint64(any(after).(int64))-uint64(any(t.x).(int64))
	}
	return t.x-before > after-t.x
}

// empty reports whether the window of some feature has no samples.
func (t *target[C]) empty() bool {
	for i := range t.of {
		if ch := &t.of[i]; ch.Interp.Windowed() && len(t.window(ch.Window)) == 0 {
			return true
		}
	}
	return false
}

// channels returns the channel of each feature, with the options' defaults filled in.
func (c *resampling) channels() []ops.Channel {
	_, _, _, features := c.dims()
	list := make([]ops.Channel, features)
	for d := range list {
		list[d] = c.channelAt(d, features)
	}
	return list
}

func (c *resampling) channelAt(d, features int) ops.Channel {
	o := &c.Opts
	at := ops.Channel{Hi: features, Interp: o.Interp, Period: o.Period}
	for _, ch := range o.Channels {
		switch {
		case ch.Hi <= d:
			at.Lo = ch.Hi
		case ch.Lo <= d:
			at = ch
		default:
			at.Hi = min(at.Hi, ch.Lo)
		}
	}
	if _, given := at.Window.Get(); !given {
		at.Window = o.Window
	}
	if at.Period == 0 {
		at.Period = 2 * math.Pi
	}
	return at
}

// find sets k by a search through all timestamps.
func (t *target[C]) find() {
	if t.x != t.x {
		t.nan = true
		return
	}
	if k, on := t.snap(); on {
		t.k, t.exact, t.gap = k, true, t.empty()
		return
	}
	t.k = -1
	for i, s := range t.times {
		if s <= t.x {
			t.k = i
		}
	}
	last := len(t.times) - 1
	switch {
	case t.k < 0:
		t.k, t.below = 0, true
		return
	case t.times[t.k] == t.x:
		t.exact = true
		return
	case t.k == last:
		t.above = true
		for i := range t.of {
			kind := t.of[i].Interp
			one := kind == ops.InterpPrevious || kind == ops.InterpNext || kind == ops.InterpNearest
			t.gap = t.gap || t.c.Opts.Edge == ops.EdgeHold && one && exceeds(t.times[last], t.x, t.slack(t.c.Opts.Tolerance))
		}
		return
	}
	before, after := t.times[t.k], t.times[t.k+1]
	t.laterIsNearer = t.nearer(before, after)
	t.gap = exceeds(before, after, t.slack(t.c.Opts.MaxGap)) || t.empty()
	tolerance := t.slack(t.c.Opts.Tolerance)
	for i := range t.of {
		kind := t.of[i].Interp
		prev, next := exceeds(before, t.x, tolerance), exceeds(t.x, after, tolerance)
		t.gap = t.gap || kind == ops.InterpPrevious && prev || kind == ops.InterpNext && next ||
			kind == ops.InterpNearest && (t.laterIsNearer && next || !t.laterIsNearer && prev)
	}
}

// at returns the index of feature d of sample k in the source.
func (t *target[C]) at(k, d int) int {
	if len(t.c.Src.shape) == 3 {
		return t.c.Src.at(t.row, k, d)
	}
	if t.c.SrcOffsets == nil && t.c.SrcStarts == nil {
		return t.c.Src.at(k, d)
	}
	start, _ := t.c.srcSpan(t.row)
	return t.c.Src.at(start+k, d)
}

func (t *target[C]) v(k, d int) float64 { return t.c.Src.float(t.at(k, d)) }

// take returns sample k, converted to the output's dtype.
func (t *target[C]) take(k, d int) expect {
	b := t.c.Src.raw[t.at(k, d)]
	if t.c.out() == t.c.Src.dtype {
		return expect{rule: copied, bits: b}
	}
	return expect{rule: rounded, bits: encode(t.c.out(), decode(t.c.Src.dtype, b))}
}

// line returns the value at weight a on the line through samples k and k+1.
func (t *target[C]) line(k, d int, a float64) expect {
	v0, v1 := t.v(k, d), t.v(k+1, d)
	if t.c.Src.dtype == tensor.F64 {
		return expect{rule: rounded, bits: encode(t.c.out(), straight(v0, v1, a))}
	}
	return expect{rule: rounded, bits: encode(t.c.out(), float64(straight(float32(v0), float32(v1), float32(a))))}
}

// straight returns v0 + a*(v1-v0), or the defined result if an input is infinite or the difference overflows.
func straight[W float32 | float64](v0, v1, a W) W {
	infinite := func(v W) bool { return math.IsInf(float64(v), 0) }
	step := v1 - v0
	r := v0 + W(a*step)
	switch {
	case !infinite(r) && r == r, v0 != v0, v1 != v1:
		return r
	case v0 == v1 || infinite(v0) && !infinite(v1):
		return v0
	case infinite(v1) && !infinite(v0):
		return v1
	case infinite(v0):
		return W(math.NaN())
	case infinite(step):
		return W((1-a)*v0) + W(a*v1)
	}
	return r
}

func (t *target[C]) features(out []expect, fill expect) {
	edge := t.c.Opts.Edge
	for d := range out {
		switch {
		case t.nan && edge == ops.EdgeFill, (t.below || t.above) && edge == ops.EdgeFill, t.below && edge == ops.EdgeHold, t.gap && t.c.Opts.FillGaps:
			out[d] = fill
		case t.nan:
			out[d] = expect{rule: rounded, bits: encode(t.c.out(), math.NaN())}
		case !t.below && !t.above && t.of[d].Interp.Windowed():
			out[d] = t.reduce(d)
		case t.exact:
			out[d] = t.take(t.k, d)
		case t.below || t.above:
			out[d] = t.beyond(d)
		default:
			out[d] = t.inside(d)
		}
	}
}

// beyond returns the value of a target outside the timestamps: the end sample, or a point on the extrapolated line.
func (t *target[C]) beyond(d int) expect {
	if t.of[d].Interp == ops.InterpLinear && t.c.Opts.Edge == ops.EdgeExtrapolate {
		if t.below {
			for b := 0; b+1 < len(t.times); b++ {
				if h := gapOf(t.times[b], t.times[b+1]); h > 0 {
					return t.line(b, d, -gapOf(t.x, t.times[b])/h)
				}
			}
		} else {
			for b := len(t.times) - 2; b >= 0; b-- {
				if h := gapOf(t.times[b], t.times[b+1]); h > 0 {
					return t.line(b, d, gapOf(t.times[b], t.x)/h)
				}
			}
		}
	}
	return t.take(t.k, d)
}

func (t *target[C]) inside(d int) expect {
	k := t.k
	a := gapOf(t.times[k], t.x) / gapOf(t.times[k], t.times[k+1])
	ch := &t.of[d]
	lo, period := ch.Lo, ch.Period
	size := largest(t.v(k, d), t.v(k+1, d))
	switch ch.Interp {
	case ops.InterpPrevious:
		return t.take(k, d)
	case ops.InterpNext:
		return t.take(k+1, d)
	case ops.InterpNearest:
		if t.laterIsNearer {
			k++
		}
		return t.take(k, d)
	case ops.InterpSlerp:
		i := (d - lo) % 4
		var p, q [4]float64
		for j := range 4 {
			p[j], q[j] = t.v(k, d-i+j), t.v(k+1, d-i+j)
			size = largest(size, p[j], q[j])
		}
		return expect{rule: near, want: slerpAt(p, q, a)[i], size: size}
	case ops.InterpAngle:
		v0, v1 := t.v(k, d), t.v(k+1, d)
		e := expect{rule: near, want: v0 + a*(v1-v0), size: largest(size, period)}
		if !(math.Abs(v1-v0) <= period/2) { // the interpolation crosses half a period
			e.want, e.period, e.low = wrap(v0+a*wrap(v1-v0, period), period), period, -period/2
			if min(v0, v1) >= 0 && max(v0, v1) >= period/2 {
				e.low = 0
			}
		}
		return e
	case ops.InterpPchip:
		want, far := t.pchip(d)
		return expect{rule: near, want: want, size: largest(size, far)}
	case ops.InterpCatmullRom:
		return t.catmullRom(d)
	case ops.InterpHermite:
		return t.hermite(d, *ch)
	case ops.InterpRotVec:
		return t.rotVec(lo+(d-lo)/3*3, (d-lo)%3, a)
	case ops.InterpRot6D:
		return t.rot6D(lo+(d-lo)/6*6, (d-lo)%6, a)
	}
	return t.line(k, d, a)
}

// largest returns the greatest magnitude of the finite values.
func largest(values ...float64) (size float64) {
	for _, v := range values {
		if v-v == 0 {
			size = math.Max(size, math.Abs(v))
		}
	}
	return size
}

// slerpAt returns Shoemake's slerp, computed with the standard library's functions.
func slerpAt(p, q [4]float64, a float64) (out [4]float64) {
	dot := p[0]*q[0] + p[1]*q[1] + p[2]*q[2] + p[3]*q[3]
	if dot < 0 {
		dot = -dot
		for i := range q {
			q[i] = -q[i]
		}
	}
	w0, w1, length := 1-a, a, 1.0
	if dot <= 0.9999 {
		theta := math.Acos(dot)
		w0, w1 = math.Sin((1-a)*theta)/math.Sin(theta), math.Sin(a*theta)/math.Sin(theta)
	}
	for i := range out {
		out[i] = w0*p[i] + w1*q[i]
	}
	if dot > 0.9999 {
		length = math.Sqrt(out[0]*out[0] + out[1]*out[1] + out[2]*out[2] + out[3]*out[3])
	}
	for i := range out {
		if dot != dot {
			out[i] = math.NaN()
		}
		out[i] /= length
	}
	return out
}

// wrap returns x moved by whole periods into [-period/2, period/2).
func wrap(x, period float64) float64 {
	r := math.Mod(x, period)
	if r >= period/2 {
		r -= period
	}
	if r < -period/2 {
		r += period
	}
	return r
}

// pchip returns the cubic Hermite by its basis functions with Fritsch and Butland's slopes. far is the greatest magnitude of the
// outer samples used.
func (t *target[C]) pchip(d int) (want, far float64) {
	// One curve covers the samples between two brackets of length 0.
	lo, hi := t.k, t.k+1
	for lo > 0 && t.times[lo-1] < t.times[lo] {
		lo--
	}
	for hi+1 < len(t.times) && t.times[hi] < t.times[hi+1] {
		hi++
	}
	h := func(i int) float64 { return gapOf(t.times[i], t.times[i+1]) }
	m := func(i int) float64 { return (t.v(i+1, d) - t.v(i, d)) / h(i) }
	end := func(h0, h1, m0, m1 float64) float64 {
		s := ((2*h0+h1)*m0 - h0*m1) / (h0 + h1)
		if !(s > 0 && m0 > 0 || s < 0 && m0 < 0) {
			return 0
		}
		if !(m0 > 0 && m1 > 0 || m0 < 0 && m1 < 0) && math.Abs(s) > 3*math.Abs(m0) {
			return 3 * m0
		}
		return s
	}
	slope := func(i int) float64 {
		switch {
		case hi-lo == 1:
			return m(lo)
		case i == lo:
			return end(h(i), h(i+1), m(i), m(i+1))
		case i == hi:
			return end(h(i-1), h(i-2), m(i-1), m(i-2))
		}
		a, b := m(i-1), m(i)
		if !(a > 0 && b > 0 || a < 0 && b < 0) {
			return 0
		}
		w1, w2 := 2*h(i)+h(i-1), h(i)+2*h(i-1)
		return (w1 + w2) / (w1/a + w2/b)
	}
	if t.k > lo {
		far = largest(t.v(t.k-1, d))
	}
	if t.k+2 <= hi {
		far = largest(far, t.v(t.k+2, d))
	}
	u := gapOf(t.times[t.k], t.x) / h(t.k)
	h00, h10 := (1+2*u)*(1-u)*(1-u), u*(1-u)*(1-u)
	h01, h11 := u*u*(3-2*u), u*u*(u-1)
	want = h00*t.v(t.k, d) + h10*h(t.k)*slope(t.k) + h01*t.v(t.k+1, d) + h11*h(t.k)*slope(t.k+1)
	return want, far
}
