package program

import (
	"math"
	"math/big"
)

// rounding is the direction of rounding for inexact results.
type rounding uint8

const (
	roundNearest rounding = iota // ties to even
	roundZero
	roundDown
	roundUp
	roundAway // nearest, ties away from zero
)

var roundings = map[string]rounding{"": roundNearest, "rn": roundNearest, "rz": roundZero, "rm": roundDown, "rp": roundUp, "rna": roundAway}

// format is a binary floating-point format.
type format struct {
	mant, exp uint // bits of the fraction and of the exponent
}

var (
	formatF16  = format{10, 5}
	formatBF16 = format{7, 8}
	formatF32  = format{23, 8}
	formatTF32 = format{10, 8}
)

// round returns the bits of x in a format. x is exact or rounded to odd, and not NaN.
func (f format) round(x float64, mode rounding) uint64 {
	b := math.Float64bits(x)
	sign := b >> 63
	e := int(b>>52&0x7ff) - 1023
	m := b & (1<<52 - 1)
	top := uint64(1)<<f.exp - 1
	out := sign << (f.mant + f.exp)
	bias := int(top >> 1)
	if e == 1024 {
		return out | top<<f.mant
	}
	if e == -1023 && m == 0 {
		return out
	}
	if e > -1023 {
		m |= 1 << 52
	} else {
		e = -1022
	}
	// The result's last bit is worth 2^(e-mant). For subnormal numbers, it is that of the smallest normal number.
	drop := 52 - int(f.mant)
	if low := 1 - bias; e < low {
		drop += low - e
		e = low
	}
	var q, rest, half uint64
	if drop > 62 {
		q, rest, half = 0, 1, 2
	} else {
		q, rest, half = m>>drop, m&(1<<drop-1), 1<<(drop-1)
	}
	up := false
	switch mode {
	case roundNearest:
		up = rest > half || rest == half && q&1 == 1
	case roundAway:
		up = rest >= half
	case roundDown:
		up = rest != 0 && sign == 1
	case roundUp:
		up = rest != 0 && sign == 0
	}
	if up {
		q++
	}
	if q>>(f.mant+1) != 0 {
		q >>= 1
		e++
	}
	biased := uint64(0)
	if q>>f.mant != 0 {
		biased = uint64(e + bias)
	}
	if biased >= top {
		if mode == roundZero || mode == roundDown && sign == 0 || mode == roundUp && sign == 1 {
			return out | (top-1)<<f.mant | (1<<f.mant - 1)
		}
		return out | top<<f.mant
	}
	return out | biased<<f.mant | q&(1<<f.mant-1)
}

// roundFlushed is round with ftz. As on an H200, the result is first rounded with an unbounded exponent. If it is then
// below the normal numbers it is zero, even if a subnormal number's fewer digits would round it up to a normal number.
func (f format) roundFlushed(x float64, mode rounding) uint64 {
	twice := f.round(2*x, mode) // has all digits if x is less than one binade below
	if abs := twice & (1<<(f.mant+f.exp) - 1); abs < 2<<f.mant {
		return twice ^ abs
	}
	return f.round(x, mode)
}

// value decodes the bits of a format.
func (f format) value(b uint64) float64 {
	sign := 1.0
	if b>>(f.mant+f.exp)&1 != 0 {
		sign = -1
	}
	top := uint64(1)<<f.exp - 1
	e := b >> f.mant & top
	m := b & (1<<f.mant - 1)
	bias := int(top >> 1)
	switch {
	case e == top && m != 0:
		return math.NaN()
	case e == top:
		return math.Inf(int(sign))
	case e == 0:
		return sign * math.Ldexp(float64(m), 1-bias-int(f.mant))
	}
	return sign * math.Ldexp(float64(m|1<<f.mant), int(e)-bias-int(f.mant))
}

// nudge turns r, which is x rounded to nearest, into x rounded to odd. err has the sign of x-r.
// A second rounding to a format at least two bits narrower then equals a single rounding of x.
func nudge(r, err float64) float64 {
	b := math.Float64bits(r)
	if err == 0 || err != err || b&1 == 1 || math.IsInf(r, 0) {
		return r
	}
	if r == 0 {
		return math.Copysign(math.SmallestNonzeroFloat64, err)
	}
	if (err > 0) == (r > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

// The arithmetic below rounds to odd. Its operands come from formats no wider than f32.

func addOdd(a, b float64) float64 {
	s := a + b
	t := s - a
	return nudge(s, (a-(s-t))+(b-t)) // Knuth's two-sum: the error is exact
}

func mulOdd(a, b float64) float64 { return float64(a * b) } // exact: 48 bits

func fmaOdd(a, b, c float64) float64 { return addOdd(float64(a*b), c) }

func divOdd(a, b float64) float64 {
	q := a / b
	r := math.FMA(-q, b, a)
	if b < 0 {
		r = -r
	}
	return nudge(q, r)
}

func sqrtOdd(a float64) float64 {
	q := math.Sqrt(a)
	return nudge(q, math.FMA(-q, q, a))
}

// round64 rounds an exact number to double precision in a direction. zero has the sign of an exact zero.
func round64(x *big.Float, mode rounding) float64 {
	n, acc := x.Float64() // nearest even, subnormal numbers as well
	if mode == roundNearest || acc == big.Exact {
		return n
	}
	low, high := n, n
	if acc == big.Above { // n > x
		low = math.Nextafter(n, math.Inf(-1))
	} else {
		high = math.Nextafter(n, math.Inf(1))
	}
	if mode == roundDown || mode == roundZero && x.Sign() > 0 {
		if low == 0 && x.Sign() < 0 {
			return math.Copysign(0, -1)
		}
		return low
	}
	if high == 0 && x.Sign() < 0 {
		return math.Copysign(0, -1)
	}
	return high
}

// directed changes r, a sum rounded to nearest, to another direction. err has the sign of the exact sum minus r.
func directed(r, err float64, mode rounding) float64 {
	switch {
	case err < 0 && (mode == roundDown || mode == roundZero && r > 0):
		return math.Nextafter(r, math.Inf(-1))
	case err > 0 && (mode == roundUp || mode == roundZero && r < 0):
		return math.Nextafter(r, math.Inf(1))
	}
	return r
}

// exact64 computes with exact numbers and rounds once to double precision. For special operands (NaN, infinities, zeros) it returns
// the caller's plain float result; sum determines the zero of an exact cancellation.
func exact64(mode rounding, plain float64, op func(z *big.Float) *big.Float) float64 {
	z := op(new(big.Float).SetPrec(4400))
	if z == nil {
		return plain
	}
	if z.Sign() == 0 {
		if mode == roundDown && plain == 0 {
			return plain
		}
		return plain
	}
	return round64(z, mode)
}

func finite(list ...float64) bool {
	for _, v := range list {
		if math.IsInf(v, 0) || v != v {
			return false
		}
	}
	return true
}

func bigOf(v float64) *big.Float { return new(big.Float).SetFloat64(v) }

func add64(a, b float64, mode rounding) float64 {
	plain := a + b
	if mode == roundNearest || !finite(a, b) {
		return plain
	}
	if a == -b && a != 0 || a == 0 && b == 0 && math.Signbit(a) != math.Signbit(b) {
		if mode == roundDown {
			return math.Copysign(0, -1)
		}
		return 0
	}
	if math.Abs(a) < 0x1p1000 && math.Abs(b) < 0x1p1000 { // the two-sum's error is exact
		t := plain - a
		return directed(plain, (a-(plain-t))+(b-t), mode)
	}
	return exact64(mode, plain, func(z *big.Float) *big.Float { return z.Add(bigOf(a), bigOf(b)) })
}

func mul64(a, b float64, mode rounding) float64 {
	plain := a * b
	if mode == roundNearest || !finite(a, b) || a == 0 || b == 0 {
		return plain
	}
	return exact64(mode, plain, func(z *big.Float) *big.Float { return z.Mul(bigOf(a), bigOf(b)) })
}

func fma64(a, b, c float64, mode rounding) float64 {
	plain := math.FMA(a, b, c)
	if mode == roundNearest || !finite(a, b, c) {
		return plain
	}
	p := new(big.Float).SetPrec(4400).Mul(bigOf(a), bigOf(b))
	neg := math.Signbit(a) != math.Signbit(b)
	if p.Sign() == 0 && c == 0 && neg == math.Signbit(c) {
		return plain
	}
	z := new(big.Float).SetPrec(4400).Add(p, bigOf(c))
	if z.Sign() == 0 {
		if mode == roundDown {
			return math.Copysign(0, -1)
		}
		return 0
	}
	return round64(z, mode)
}

func div64(a, b float64, mode rounding) float64 {
	plain := a / b
	if mode == roundNearest || !finite(a, b) || a == 0 || b == 0 {
		return plain
	}
	// 4400 digits distinguish a quotient of doubles from every double and every midpoint.
	return exact64(mode, plain, func(z *big.Float) *big.Float { return z.Quo(bigOf(a), bigOf(b)) })
}

func sqrt64(a float64, mode rounding) float64 {
	plain := math.Sqrt(a)
	if mode == roundNearest || !finite(a) || a <= 0 {
		return plain
	}
	return exact64(mode, plain, func(z *big.Float) *big.Float { return z.SetPrec(300).Sqrt(bigOf(a)) })
}
