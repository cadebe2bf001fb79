package cpu

import (
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// channel computes one channel's features for a target: on a sample, inside a bracket, or outside the samples with the end held or
// extrapolated. row is the start of the source row, out the start of the target's features in dst.
func (p *resamplePlan[C]) channel(c *backend.Channel, l *located, times []C, x C, row int, dst values, out int, s *scratch) {
	n := c.Hi - c.Lo
	from := row + l.k*p.SrcStep + c.Lo
	to := from + p.SrcStep
	out += c.Lo
	if c.Interp.Windowed() && (l.place == inside || l.place == exact) {
		first := firstInWindow(times[:l.end+1], x, lengthIn[C](p.WindowFrom(c.Window)))
		p.window(dst, c.Interp, row+first*p.SrcStep+c.Lo, l.end+1-first, n, out, s)
		return
	}
	if l.place != inside {
		if c.Interp == backend.InterpLinear && p.Edge == backend.EdgeExtrapolate && l.line {
			base := row + l.base*p.SrcStep + c.Lo
			dst.lerp(out, p.src, base, base+p.SrcStep, n, l.a, s)
		} else {
			dst.copyFrom(out, p.src, from, n, s.a)
		}
		return
	}
	switch c.Interp {
	case backend.InterpLinear:
		dst.lerp(out, p.src, from, to, n, l.a, s)
		return
	case backend.InterpNearest:
		if l.later {
			from = to
		}
		dst.copyFrom(out, p.src, from, n, s.a)
		return
	case backend.InterpPrevious:
		dst.copyFrom(out, p.src, from, n, s.a)
		return
	case backend.InterpNext:
		dst.copyFrom(out, p.src, to, n, s.a)
		return
	case backend.InterpSlerp:
		for i := 0; i < n; i += 4 {
			var q0, q1 [4]float64
			p.src.floats(q0[:], from+i)
			p.src.floats(q1[:], to+i)
			slerp((*[4]float64)(s.wide[i:]), &q0, &q1, l.a)
		}
	case backend.InterpRotVec:
		for i := 0; i < n; i += 3 {
			var q, q0, q1 [4]float64
			var r0, r1 [3]float64
			p.src.floats(r0[:], from+i)
			p.src.floats(r1[:], to+i)
			quatOfVec(&q0, &r0)
			quatOfVec(&q1, &r1)
			turn(&q, &q0, &q1, l.a)
			vecOfQuat((*[3]float64)(s.wide[i:]), &q)
		}
	case backend.InterpRot6D:
		for i := 0; i < n; i += 6 {
			var q, q0, q1 [4]float64
			var m0, m1 [6]float64
			p.src.floats(m0[:], from+i)
			p.src.floats(m1[:], to+i)
			quatOf6D(&q0, (*[3]float64)(m0[:]), (*[3]float64)(m0[3:]))
			quatOf6D(&q1, (*[3]float64)(m1[:]), (*[3]float64)(m1[3:]))
			turn(&q, &q0, &q1, l.a)
			sixOfQuat((*[6]float64)(s.wide[i:]), &q)
		}
	case backend.InterpAngle:
		for i := range n {
			s.wide[i] = angle(p.src.float(from+i), p.src.float(to+i), l.a, c.Period)
		}
	case backend.InterpHermite:
		h := l.h
		if _, ok := any(x).(int64); ok {
			h /= 1e9
		}
		half := n / 2
		for i := range half {
			v1, v2 := p.src.float(from+i), p.src.float(to+i)
			d1, d2 := p.src.float(from+half+i), p.src.float(to+half+i)
			s.wide[i] = hermite(v1, v2-v1, d1, d2, h, l.a)
			s.wide[half+i] = hermiteSlope(v2-v1, d1, d2, h, l.a)
		}
	case backend.InterpPchip, backend.InterpCatmullRom:
		p.spline(c.Interp, l, times, from, n, s)
	}
	dst.put64(out, s.wide[:n])
}

// spline interpolates n features between sample k, at from, and the next sample. It also uses their outer neighbours, unless those have
// the same timestamp, where the curve is cut.
func (p *resamplePlan[C]) spline(kind backend.Interp, l *located, times []C, from, n int, s *scratch) {
	c := &s.cubic
	var before, after beside
	if l.k > 0 {
		before = besideOf(l.h, distance(times[l.k-1], times[l.k]))
	}
	if l.k+2 < len(times) {
		after = besideOf(l.h, distance(times[l.k+1], times[l.k+2]))
	}
	// The cached slopes may be for another bracket, because batch rows can share samples but have different times.
	if c.from == from && c.kind == kind && c.before == before && c.after == after {
		c.at(s.wide[:n], l.a)
		return
	}
	c.from, c.kind, c.before, c.after = from, kind, before, after
	v1, v2 := c.v1[:n], c.rise[:n]
	p.src.floats(v1, from)
	p.src.floats(v2, from+p.SrcStep)
	if before.ratio > 0 {
		v0 := c.outer[0][:n]
		p.src.floats(v0, from-p.SrcStep)
		for i, v := range v1 {
			v0[i] = float64((v - v0[i]) * before.ratio)
		}
	}
	if after.ratio > 0 {
		v3 := c.outer[1][:n]
		p.src.floats(v3, from+2*p.SrcStep)
		for i, v := range v2 {
			v3[i] = float64((v3[i] - v) * after.ratio)
		}
	}
	for i, v := range v1 {
		v2[i] -= v
	}
	c.bend(n)
	c.at(s.wide[:n], l.a)
}

// window reduces n features over count samples, starting at from.
func (p *resamplePlan[C]) window(dst values, kind backend.Interp, from, count, n, out int, s *scratch) {
	switch {
	case count == 0:
		dst.fill(out, n, math.NaN(), s)
	case kind == backend.InterpWindowLast:
		dst.copyFrom(out, p.src, from+(count-1)*p.SrcStep, n, s.a)
	case kind == backend.InterpWindowMean:
		sum := s.wide[:n]
		p.src.floats(sum, from)
		for k := 1; k < count; k++ {
			p.src.add(sum, from+k*p.SrcStep)
		}
		for i := range sum {
			sum[i] /= float64(count)
		}
		dst.put64(out, sum)
	default:
		for i := range n {
			best := from + i
			v := p.src.float(best)
			for k := 1; k < count && v == v; k++ {
				at := from + k*p.SrcStep + i
				if u := p.src.float(at); u != u || kind == backend.InterpWindowMin && lesser(u, v) || kind == backend.InterpWindowMax && lesser(v, u) {
					best, v = at, u
				}
			}
			dst.copyFrom(out+i, p.src, best, 1, s.a)
		}
	}
}

// lesser reports whether x < y, where -0 is less than +0.
func lesser(x, y float64) bool {
	return x < y || x == y && math.Signbit(x) && !math.Signbit(y)
}
