package ops

import "math"

// channel makes one range of features of a target that is on a sample, inside a bracket, or beyond an end with the end sample
// held or the line continued. row is where the source row begins, out where the target's features do in dst.
func (p *cpuResample[C]) channel(c *Channel, l *located, times []C, x C, row int, dst values, out int, s *scratch) {
	n := c.Hi - c.Lo
	from := row + l.k*p.SrcStep + c.Lo
	to := from + p.SrcStep
	out += c.Lo
	if c.Kind.Windowed() && (l.place == inside || l.place == exact) {
		w, _ := inClock[C](c.Window)
		first := firstInWindow(times[:l.k+1], x, w)
		p.window(dst, c.Kind, row+first*p.SrcStep+c.Lo, l.k+1-first, n, out, s)
		return
	}
	if l.place != inside {
		if c.Kind == Linear && p.Edge == Extrapolate && l.line {
			base := row + l.base*p.SrcStep + c.Lo
			dst.lerp(out, p.src, base, base+p.SrcStep, n, l.a, s)
		} else {
			dst.copyFrom(out, p.src, from, n, s.a)
		}
		return
	}
	switch c.Kind {
	case Linear:
		dst.lerp(out, p.src, from, to, n, l.a, s)
		return
	case Nearest:
		if l.later {
			from = to
		}
		dst.copyFrom(out, p.src, from, n, s.a)
		return
	case Previous:
		dst.copyFrom(out, p.src, from, n, s.a)
		return
	case Next:
		dst.copyFrom(out, p.src, to, n, s.a)
		return
	case Slerp:
		for i := 0; i < n; i += 4 {
			var q0, q1 [4]float64
			p.src.floats(q0[:], from+i)
			p.src.floats(q1[:], to+i)
			slerp((*[4]float64)(s.wide[i:]), &q0, &q1, l.a)
		}
	case RotVec:
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
	case Rot6D:
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
	case Angle:
		for i := range n {
			s.wide[i] = angle(p.src.float(from+i), p.src.float(to+i), l.a, c.Period)
		}
	case Hermite:
		h := l.h
		if _, ok := any(x).(int64); ok {
			h /= 1e9
		}
		half := n / 2
		for i := range half {
			v, to := from+half+i, to+i
			s.wide[i], s.wide[half+i] = hermite(p.src.float(from+i), p.src.float(to), p.src.float(v), p.src.float(to+half), h, l.a)
		}
	case Pchip, CatmullRom:
		p.spline(c.Kind, l, times, from, n, s)
	}
	dst.put64(out, s.wide[:n])
}

// spline makes the n features from those of sample k, at from, and of its neighbours, with the curve cut where two samples have
// one stamp.
func (p *cpuResample[C]) spline(kind Kind, l *located, times []C, from, n int, s *scratch) {
	b := &s.bracket // which a call through a variable would move to the heap
	*b = bracket{h: l.h, x: l.x}
	if l.k > 0 {
		b.before = distance(times[l.k-1], times[l.k])
	}
	if l.k+2 < len(times) {
		b.after = distance(times[l.k+1], times[l.k+2])
	}
	curve := pchip
	if kind == CatmullRom {
		curve = catmullRom
	}
	for i := range n {
		var v0, v3 float64
		at := from + i
		if b.before > 0 {
			v0 = p.src.float(at - p.SrcStep)
		}
		if b.after > 0 {
			v3 = p.src.float(at + 2*p.SrcStep)
		}
		s.wide[i] = curve(v0, p.src.float(at), p.src.float(at+p.SrcStep), v3, b)
	}
}

// window reduces n features of count samples, the first of which is at from.
func (p *cpuResample[C]) window(dst values, kind Kind, from, count, n, out int, s *scratch) {
	switch {
	case count == 0:
		dst.fill(out, n, math.NaN(), s)
	case kind == WindowLast:
		dst.copyFrom(out, p.src, from+(count-1)*p.SrcStep, n, s.a)
	case kind == WindowMean:
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
				if u := p.src.float(at); u != u || kind == WindowMin && lesser(u, v) || kind == WindowMax && lesser(v, u) {
					best, v = at, u
				}
			}
			dst.copyFrom(out+i, p.src, best, 1, s.a)
		}
	}
}

// lesser reports whether x is less than y, -0 being less than +0.
func lesser(x, y float64) bool {
	return x < y || x == y && math.Signbit(x) && !math.Signbit(y)
}
