package doctor

import (
	"math"
)

// The rules of correlations.
const (
	sameMotion = 0.95
	sameStill  = 0.5   // without the lag: it is less than a sixth of the motion's period, and no speed beside a position
	otherPeaks = 0.6   // of the peak: a motion that repeats itself has no one lag
	otherTimes = 0.9   // of the peak, where the correlation is good without the lag
	leastLoss  = 0.005 // of correlation without the lag
	sharper    = 4     // times what the correlation lacks at its peak, it must lack without the lag
)

// differences are the changes of a column over some steps, and the sums of their squares before each, and of all.
type differences struct{ list, squares, room []float64 }

// match is how two columns go together.
type match struct {
	lag         float64 // by which the second is later, in steps
	peak, still float64 // the correlation there, and without it
	sharp       bool    // the correlation is much better there than without a lag, and nowhere else as good
	curve       []float64
	columns     [2]int
}

// compare returns the lag at which two series of changes correlate best; nil if they do at none.
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

// shared returns what two series have both where the second is so much later, and the product of the squares there.
func (a *differences) shared(b *differences, lag int) (lo, hi int, power float64) {
	lo, hi = max(0, -lag), min(len(a.list), len(b.list)-lag)
	return lo, hi, (a.squares[hi] - a.squares[lo]) * (b.squares[hi+lag] - b.squares[lo+lag])
}

// like reports whether two series correlate at a lag as one motion does. At most lags they do not, which is sure after a few products: those that are left
// add no more than the root of the product of the squares that are left.
func (a *differences) like(b *differences, lags int) bool {
	const at = 64 // a time
	for l := -lags; l <= lags; l++ {
		lo, hi, power := a.shared(b, l)
		if !(power > 0) {
			continue
		}
		missing := (sameMotion - 1e-9) * math.Sqrt(power) // sums that are made otherwise are rounded otherwise
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

// product is the sum of the products of two lists, in four sums at a time.
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

// echoes reports whether a correlation is nearly as good at another lag, as it is of what repeats itself. Where the lag is short beside the motion, what
// is opposite half a period away is no echo.
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
