package doctor

import (
	"math"
)

// The rules for the correlation of two columns over a lag between them.
const (
	sameMotion = 0.95
	sameStill  = 0.5   // correlation without a lag from which the lag is short: less than a sixth of the motion's period
	otherPeaks = 0.6   // share of the peak from which another peak makes the lag uncertain, because the motion repeats itself
	otherTimes = 0.9   // the same if the lag is short
	leastLoss  = 0.005 // least difference between the correlation at the lag and without it
	sharper    = 4     // 1 minus the correlation must be this many times larger without the lag than at the peak
)

// differences are the changes of a column over some steps, and the prefix sums of their squares.
type differences struct{ list, squares, room []float64 }

// match is the best correlation of two columns.
type match struct {
	lag         float64 // in steps; positive if the second column is later
	peak, still float64 // the correlation at the lag, and without a lag
	sharp       bool    // the correlation is much better at the lag than without one, and no other lag is nearly as good
	curve       []float64
	columns     [2]int
}

// compare returns the lag at which two series of changes correlate best; nil if they correlate at none.
func compare(a, b *differences, lags int) *match {
	if a == nil || b == nil || !a.like(b, lags) {
		return nil
	}
	curve := make([]float64, 2*lags+1)
	best := 0
	for l := -lags; l <= lags; l++ {
		if lo, hi, power := a.shared(b, l); power > 0 {
			curve[l+lags] = product(a.list[lo:hi], b.list[lo+l:hi+l]) / math.Sqrt(power)
		}
		if curve[l+lags] > curve[best] {
			best = l + lags
		}
	}
	peak := curve[best]
	if peak < sameMotion || best == 0 || best == len(curve)-1 {
		return nil
	}
	m := &match{peak: peak, still: curve[lags], curve: curve}
	before, after := curve[best-1], curve[best+1]
	m.lag = float64(best - lags)
	if bend := before - 2*peak + after; bend < 0 {
		m.lag += (before - after) / (2 * bend)
	}
	m.sharp = 1-m.still >= sharper*(1-peak) && peak-m.still >= leastLoss && !echoes(curve, best, m.still >= sameStill)
	return m
}

// shared returns the range [lo,hi) of a that overlaps b at a lag, where a[i] meets b[i+lag], and the product of both sums of squares there.
func (a *differences) shared(b *differences, lag int) (lo, hi int, power float64) {
	lo, hi = max(0, -lag), min(len(a.list), len(b.list)-lag)
	return lo, hi, (a.squares[hi] - a.squares[lo]) * (b.squares[hi+lag] - b.squares[lo+lag])
}

// like reports whether two series correlate at any lag as one motion does. Most lags are ruled out after a few products, because the
// remaining products add at most the root of the product of the remaining squares.
func (a *differences) like(b *differences, lags int) bool {
	const at = 64 // products between two checks
	for l := -lags; l <= lags; l++ {
		lo, hi, power := a.shared(b, l)
		if !(power > 0) {
			continue
		}
		missing := (sameMotion - 1e-9) * math.Sqrt(power) // the margin is for the rounding of sums
		for i := lo; ; i += at {
			if i >= hi {
				if missing <= 0 {
					return true
				}
				break
			}
			to := min(i+at, hi)
			missing -= product(a.list[i:to], b.list[i+l:to+l])
			if missing > 0 && missing*missing > (a.squares[hi]-a.squares[to])*(b.squares[hi+l]-b.squares[to+l])*(1+1e-9) {
				break
			}
		}
	}
	return false
}

// product returns the dot product of two lists, in four partial sums.
func product(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// echoes reports whether another lag than best correlates nearly as well, as it does for a periodic motion. If short is true, because the
// lag is short compared with the period, the negative correlation half a period away is no echo.
func echoes(curve []float64, best int, short bool) bool {
	left, right := best, best
	for left > 0 && curve[left] > curve[best]/2 {
		left--
	}
	for right < len(curve)-1 && curve[right] > curve[best]/2 {
		right++
	}
	for i, r := range curve {
		if i >= left && i <= right {
			continue
		}
		if short && r > otherTimes*curve[best] || !short && math.Abs(r) > otherPeaks*curve[best] {
			return true
		}
	}
	return false
}
