package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"math"
	"math/bits"
)

// In float64 a value is truncated to a multiple of 2^(e-90), where 2^e is the power of two at or below the cell's greatest finite |x|,
// and at least 2^-1022. The integers are below 2^91 and there are fewer than 2^31, so that 128 bits hold their sum.
const (
	wideBits     = 90
	wideFraction = 52 // fraction bits in a float64
	wideInfinite = 0x7ff << wideFraction
)

// wideSum is a 128-bit integer in two's complement.
type wideSum struct{ hi, lo uint64 }

// wideExponent returns the biased exponent of a finite magnitude, at least 1, which denormal numbers have. magnitude is given by its
// float64 bits.
func wideExponent(magnitude uint64) int { return int(max(magnitude>>wideFraction, 1)) }

// add adds a value, truncated for top, the greatest biased exponent in the cell.
func (s *wideSum) add(x float64, top int) {
	b := math.Float64bits(x) &^ (1 << 63)
	e := wideExponent(b)
	m := b - uint64(e-1)<<wideFraction // with the implicit leading bit
	var hi, lo uint64
	if up := wideBits - wideFraction - (top - e); up >= 0 {
		hi, lo = m>>(64-up), m<<up
	} else {
		lo = m >> -up
	}
	var carry uint64
	if math.Signbit(x) {
		s.lo, carry = bits.Sub64(s.lo, lo, 0)
		s.hi, _ = bits.Sub64(s.hi, hi, carry)
		return
	}
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// over returns the sum divided by n, below 2^32, rounded once.
func (s wideSum) over(n uint64, top int) float64 {
	sign := s.hi & (1 << 63)
	if sign != 0 {
		var borrow uint64
		s.lo, borrow = bits.Sub64(0, s.lo, 0)
		s.hi, _ = bits.Sub64(0, s.hi, borrow)
	}
	if s.hi|s.lo == 0 {
		return 0
	}
	// Bit 0 is worth 2^(e - bias). The sum is shifted up until bit 127 is set, so that the quotient has at least 97 bits. The quotient
	// is shifted up too. Then hi holds the significant bits, and the lower bits only matter by whether they are 0.
	e := top - wideBits
	e -= s.up()
	var rest uint64
	q := wideSum{hi: s.hi / n}
	q.lo, rest = bits.Div64(s.hi%n, s.lo, n)
	e += 127 - q.up()
	down := 64 - 1 - wideFraction + max(1-e, 0) // bits of hi that do not fit in a float64, more if it is denormal
	if down > 64 {
		return math.Float64frombits(sign)
	}
	m, half, below := q.hi>>down, q.hi>>(down-1)&1, q.hi&(1<<(down-1)-1)|q.lo|rest
	if half != 0 && (below != 0 || m&1 != 0) {
		m++
	}
	if e >= wideInfinite>>wideFraction {
		m = wideInfinite
	} else if e >= 1 {
		m += uint64(e-1) << wideFraction // a carry increments the exponent
	}
	return math.Float64frombits(sign | m)
}

// up shifts left until bit 127 is set, and returns the distance.
func (s *wideSum) up() int {
	if s.hi == 0 {
		n := bits.LeadingZeros64(s.lo)
		s.hi, s.lo = s.lo<<n, 0
		return 64 + n
	}
	n := bits.LeadingZeros64(s.hi)
	s.hi, s.lo = s.hi<<n|s.lo>>(64-n), s.lo<<n
	return n
}

// addWide computes the sums or means of a cell's features in float64.
func addWide(r *cellRun[float64], s *voxelScratch) {
	w := len(r.out)
	top, sum := s.tops[:w], s.sums[:w]
	clear(top)
	clear(sum)
	r.each(func(rows []float64) {
		for ; len(rows) >= w; rows = rows[w:] {
			for k, x := range rows[:len(top)] {
				top[k] = max(top[k], math.Float64bits(x)&^(1<<63))
			}
		}
	})
	r.each(func(rows []float64) {
		for ; len(rows) >= w; rows = rows[w:] {
			for k, x := range rows[:len(top)] {
				if top[k] < wideInfinite {
					sum[k].add(x, wideExponent(top[k]))
				}
			}
		}
	})
	n := uint64(1)
	if r.p.Reduce == backend.ReduceMean {
		n = uint64(r.hi - r.lo)
	}
	for k, t := range top {
		if t >= wideInfinite {
			r.out[k] = r.beyond(k)
			continue
		}
		r.out[k] = sum[k].over(n, wideExponent(t))
	}
}
