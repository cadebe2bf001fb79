package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"time"
)

// clock lists the types of times: nanoseconds or seconds.
type clock interface{ int64 | float64 | float32 }

// place says where a target lies in a row of timestamps.
type place uint8

const (
	exact   place = iota // on sample k
	inside               // between samples k and k+1
	below                // before the first sample
	above                // after the last sample
	nowhere              // the target is NaN
)

// located is a target's place: everything that does not depend on the feature.
type located struct {
	place place
	k     int     // the last sample at or before the target; 0 if below
	end   int     // the last sample of windows, if the target is exact or inside
	later bool    // inside: sample k+1 is nearer than k
	x     float64 // inside: the target less t[k]
	h     float64 // inside: t[k+1] less t[k]
	base  int     // below or above: the bracket to extrapolate from is base, base+1
	line  bool    // below or above: there is such a bracket
	a     float64 // inside: x/h; below or above with line: the same in the bracket at base
	gap   bool    // inside a bracket longer than MaxGap, out of tolerance, or with an empty window
}

// distance is y less x as float64, for y >= x; the difference is taken in the clock's own type.
func distance[C clock](x, y C) float64 {
	d := y - x
	if d < 0 { // int64, of 2^63
		return float64(uint64(int64(d)))
	}
	return float64(d)
}

// longer reports whether y less x, for y >= x, is above limit, which is not negative.
func longer[C clock](x, y, limit C) bool {
	d := y - x
	return d > limit || d < 0 // below 0: int64, of 2^63
}

// firstInWindow returns the smallest i whose timestamp is in a window that begins `from` before x; len(t) if none is.
func firstInWindow[C clock](t []C, x, from C) int {
	return firstWhere(len(t), func(i int) bool { return begun(t[i], x, from) })
}

// firstWhere returns the smallest i below n for which is holds, n if there is none; it holds for all that follow.
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

// begun reports whether t is after x less from, which may be negative.
func begun[C clock](t, x, from C) bool {
	if t <= x {
		return from > 0 && within(t, x, from)
	}
	return from > 0 || longer(x, t, -from)
}

// within reports whether y less x, for y >= x, is below w.
func within[C clock](x, y, w C) bool {
	if d, ok := any(y - x).(int64); ok {
		return uint64(d) < uint64(any(w).(int64))
	}
	return y-x < w
}

// lastAtOrBefore returns the greatest k with t[k] <= x, given t[0] <= x. It begins at the guess, goes from there in steps that
// double until it has passed x, and halves what is between.
func lastAtOrBefore[C clock](t []C, x C, guess int) int {
	lo, hi := 0, len(t) // t[lo] <= x, and x < t[hi] if there is one
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

// firstAtOrAfter returns the smallest k with t[k] >= x, given t[len-1] >= x.
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

// limits are Snap, MaxGap, Tolerance and where the shortest window begins, in the clock's own type, and what Tolerance applies to.
type limits[C clock] struct {
	snap, gap, tolerance, window             C
	hasSnap, hasGap, hasTolerance, hasWindow bool
	previous, next, nearby                   bool // the row has such channels
	hold                                     bool // targets after the last sample are on it
}

// lengthIn returns a length of time in the clock's own type.
func lengthIn[C clock](d time.Duration) C {
	var z C
	if _, ok := any(z).(int64); ok {
		return C(d)
	}
	return C(float64(d) / 1e9)
}

// inClock returns a limit in the clock's own type, and whether there is one.
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

// locate finds x in a row's timestamps, of which there is at least one.
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

// hit is a target that counts as on sample k. With Snap its windows may end after that, and hold nothing.
func (l *limits[C]) hit(t []C, x C, k int) located {
	p := located{place: exact, k: k, end: k}
	if l.hasSnap && l.hasWindow {
		p.end = firstWhere(len(t), func(i int) bool { return t[i] > x && longer(x, t[i], l.snap) }) - 1
		p.gap = !begun(t[p.end], x, l.window)
	}
	return p
}

// tick returns the time of tick i of a uniform clock in the clock's own type.
func tick[C clock](c *backend.Clock, i int) C {
	var z C
	if _, ok := any(z).(int64); !ok {
		return C(c.Second(i))
	}
	return C(c.Tick(i))
}
