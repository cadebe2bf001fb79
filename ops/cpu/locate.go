package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"time"
)

// clock lists the types for times: nanoseconds (int64) or seconds.
type clock interface{ int64 | float64 | float32 }

// place is a target's position relative to a row's timestamps.
type place uint8

const (
	exact   place = iota // on sample k
	inside               // between samples k and k+1
	below                // before the first sample
	above                // after the last sample
	nowhere              // the target is NaN
)

// located is the location of a target: all data that does not depend on the feature.
type located struct {
	place place
	k     int     // the last sample at or before the target; 0 if below
	end   int     // the last sample in windows, if the target is exact or inside
	later bool    // inside: sample k+1 is nearer than k
	x     float64 // inside: the target minus t[k]
	h     float64 // inside: t[k+1] minus t[k]
	base  int     // below or above: extrapolate from samples base and base+1
	line  bool    // below or above: there are two samples to extrapolate from
	a     float64 // inside: x/h; below or above with line: the same fraction in the bracket at base
	gap   bool    // inside a bracket longer than MaxGap, outside the tolerance, or with an empty window
}

// distance returns y - x as float64, for y >= x. The subtraction uses the clock's own type.
func distance[C clock](x, y C) float64 {
	d := y - x
	if d < 0 { // an int64 difference of at least 2^63 overflows
		return float64(uint64(int64(d)))
	}
	return float64(d)
}

// longer reports whether y - x is above limit, for y >= x and limit >= 0.
func longer[C clock](x, y, limit C) bool {
	d := y - x
	return d > limit || d < 0 // d < 0: an int64 difference of at least 2^63 overflows
}

// firstInWindow returns the smallest i with t[i] in the window that begins `from` before x, or len(t) if none is.
func firstInWindow[C clock](t []C, x, from C) int {
	return firstWhere(len(t), func(i int) bool { return begun(t[i], x, from) })
}

// firstWhere returns the smallest i below n with is(i), or n if there is none. If is(i) holds, it must hold for all later i.
func firstWhere(n int, is func(i int) bool) int {
	lo, hi := -1, n
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); is(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// begun reports whether t is after x - from. from may be negative.
func begun[C clock](t, x, from C) bool {
	if t <= x {
		return from > 0 && within(t, x, from)
	}
	return from > 0 || longer(x, t, -from)
}

// within reports whether y - x is below w, for y >= x.
func within[C clock](x, y, w C) bool {
	if d, ok := any(y - x).(int64); ok {
		return uint64(d) < uint64(any(w).(int64))
	}
	return y-x < w
}

// lastAtOrBefore returns the greatest k with t[k] <= x, given t[0] <= x. It starts at guess, doubles its steps until it passes x, and
// then bisects.
func lastAtOrBefore[C clock](t []C, x C, guess int) int {
	lo, hi := 0, len(t) // invariant: t[lo] <= x, and x < t[hi] if hi < len(t)
	switch {
	case uint(guess) >= uint(len(t)):
	case t[guess] <= x:
		lo = guess
		for step := 1; step < hi-lo; step *= 2 {
			if !(t[lo+step] <= x) {
				hi = lo + step
				break
			}
			lo += step
		}
	default:
		hi = guess
		for step := 1; step < hi; step *= 2 {
			if t[hi-step] <= x {
				lo = hi - step
				break
			}
			hi -= step
		}
	}
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); t[mid] <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// firstAtOrAfter returns the smallest k with t[k] >= x, given that the last timestamp is at least x.
func firstAtOrAfter[C clock](t []C, x C) int {
	lo, hi := -1, len(t)-1
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) / 2); t[mid] >= x {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// limits holds Snap, MaxGap, Tolerance and the start of the shortest window in the clock's own type, with the conditions for Tolerance.
type limits[C clock] struct {
	snap, gap, tolerance, window             C
	hasSnap, hasGap, hasTolerance, hasWindow bool
	previous, next, nearby                   bool // the row has channels with this interpolation (nearby: nearest)
	hold                                     bool // targets after the last sample count as on it (EdgeHold)
}

// lengthIn returns a duration in the clock's own type.
func lengthIn[C clock](d time.Duration) C {
	var z C
	if _, ok := any(z).(int64); ok {
		return C(d)
	}
	return C(float64(d) / 1e9)
}

// inClock returns a limit in the clock's own type, and whether it is set.
func inClock[C clock](l backend.Limit) (C, bool) {
	d, given := l.Get()
	return lengthIn[C](d), given
}

func newLimits[C clock](j *backend.ResampleJob) limits[C] {
	var l limits[C]
	l.gap, l.hasGap = inClock[C](j.Slack(j.MaxGap))
	l.tolerance, l.hasTolerance = inClock[C](j.Slack(j.Tolerance))
	l.snap, l.hasSnap = inClock[C](j.Snap)
	shortest := j.ShortestWindow()
	_, l.hasWindow = shortest.Get()
	l.window = lengthIn[C](j.WindowFrom(shortest))
	l.hold = j.Edge == backend.EdgeHold
	for _, c := range j.Channels {
		l.previous = l.previous || c.Interp == backend.InterpPrevious
		l.next = l.next || c.Interp == backend.InterpNext
		l.nearby = l.nearby || c.Interp == backend.InterpNearest
	}
	return l
}

// locate finds x in a row's timestamps. The row has at least one.
func locate[C clock](t []C, x C, guess int, l *limits[C]) located {
	n := len(t)
	switch {
	case x != x:
		return located{place: nowhere}
	case x < t[0]:
		b := lastAtOrBefore(t, t[0], 0)
		if l.hasSnap && !longer(x, t[0], l.snap) {
			return l.hit(t, x, b)
		}
		p := located{place: below}
		if b+1 < n {
			p.base, p.line = b, true
			p.a = -distance(x, t[b]) / distance(t[b], t[b+1])
		}
		return p
	}
	k := lastAtOrBefore(t, x, guess)
	if x == t[k] {
		return l.hit(t, x, k)
	}
	if k == n-1 {
		if l.hasSnap && !longer(t[k], x, l.snap) {
			return l.hit(t, x, k)
		}
		p := located{place: above, k: k, end: k, gap: l.hold && l.hasTolerance && (l.previous || l.next || l.nearby) && longer(t[k], x, l.tolerance)}
		if b := firstAtOrAfter(t, t[k]) - 1; b >= 0 {
			p.base, p.line = b, true
			p.a = distance(t[b], x) / distance(t[b], t[b+1])
		}
		return p
	}
	p := located{place: inside, k: k, end: k, later: longer(t[k], x, t[k+1]-x)}
	if l.hasSnap {
		switch {
		case p.later && !longer(x, t[k+1], l.snap):
			return l.hit(t, x, lastAtOrBefore(t, t[k+1], k+1))
		case !p.later && !longer(t[k], x, l.snap):
			return l.hit(t, x, k)
		}
	}
	p.x, p.h = distance(t[k], x), distance(t[k], t[k+1])
	p.a = p.x / p.h
	p.gap = l.hasGap && longer(t[k], t[k+1], l.gap) || l.hasWindow && !begun(t[k], x, l.window)
	if l.hasTolerance {
		before, after := longer(t[k], x, l.tolerance), longer(x, t[k+1], l.tolerance)
		p.gap = p.gap || l.previous && before || l.next && after || l.nearby && (p.later && after || !p.later && before)
	}
	return p
}

// hit returns a location for a target that counts as on sample k. With Snap, the windows may end after k, and may be empty.
func (l *limits[C]) hit(t []C, x C, k int) located {
	p := located{place: exact, k: k, end: k}
	if l.hasSnap && l.hasWindow {
		p.end = firstWhere(len(t), func(i int) bool { return t[i] > x && longer(x, t[i], l.snap) }) - 1
		p.gap = !begun(t[p.end], x, l.window)
	}
	return p
}

// tick returns tick i's time on a uniform clock, in the clock's own type.
func tick[C clock](c *backend.Clock, i int) C {
	var z C
	if _, ok := any(z).(int64); !ok {
		return C(c.Second(i))
	}
	return C(c.Tick(i))
}
