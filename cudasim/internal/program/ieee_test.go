package program_test

import "math/big"

// ieee is a binary floating-point format, worked on with rational numbers. With ftz it has no subnormal results.
type ieee struct {
	mant, exp int
	ftz       flush
}

// flush is when a result below the normal numbers becomes zero.
type flush int

const (
	never flush = iota
	exact       // if the exact result is below them
	cut         // if it is below them once it is rounded to the format's digits, its exponent being free
)

var formats = map[string]ieee{"f16": {mant: 10, exp: 5}, "bf16": {mant: 7, exp: 8}, "f32": {mant: 23, exp: 8}, "f64": {mant: 52, exp: 11}, "tf32": {mant: 10, exp: 8}}

func (f ieee) sign(v uint64) bool  { return v>>(f.mant+f.exp)&1 == 1 }
func (f ieee) abs(v uint64) uint64 { return v & (1<<(f.mant+f.exp) - 1) }
func (f ieee) inf() uint64         { return (1<<f.exp - 1) << f.mant }
func (f ieee) isNaN(v uint64) bool { return f.abs(v) > f.inf() }
func (f ieee) isInf(v uint64) bool { return f.abs(v) == f.inf() }
func (f ieee) bias() int           { return 1<<(f.exp-1) - 1 }
func (f ieee) one() uint64         { return uint64(f.bias()) << f.mant }

// nan is what arithmetic gives where there is no number.
func (f ieee) nan() uint64 { return 1<<(f.mant+f.exp) - 1 }

func (f ieee) neg(v uint64) uint64 { return v ^ 1<<(f.mant+f.exp) }

func (f ieee) withSign(v uint64, neg bool) uint64 {
	if neg {
		return f.abs(v) | 1<<(f.mant+f.exp)
	}
	return f.abs(v)
}

// power is 2^e.
func power(e int) *big.Rat {
	z := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), z)
	}
	return new(big.Rat).SetInt(z)
}

// value is the number that finite bits stand for.
func (f ieee) value(v uint64) *big.Rat {
	e := int(f.abs(v) >> f.mant)
	m := v & (1<<f.mant - 1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.mant
	}
	r := new(big.Rat).SetInt(new(big.Int).SetUint64(m))
	r.Mul(r, power(e-f.bias()-f.mant))
	if f.sign(v) {
		r.Neg(r)
	}
	return r
}

// round gives the bits of a number that is not zero; mode is rn, rz, rm, rp or rna.
func (f ieee) round(r *big.Rat, mode string) uint64 {
	neg := r.Sign() < 0
	a := new(big.Rat).Abs(r)
	e := a.Num().BitLen() - a.Denom().BitLen()
	if a.Cmp(power(e)) < 0 {
		e--
	}
	low := 1 - f.bias()
	switch {
	case e >= low || f.ftz == never:
	case f.ftz == exact || e < low-1:
		return f.withSign(0, neg)
	default: // twice as large it is normal, with the same digits
		if twice := f.abs(f.round(new(big.Rat).Add(r, r), mode)); twice>>f.mant == 1 {
			return f.withSign(0, neg)
		}
		return f.withSign(1<<f.mant, neg)
	}
	e = max(e, low)
	units := new(big.Rat).Quo(a, power(e-f.mant))
	q, rest := new(big.Int).QuoRem(units.Num(), units.Denom(), new(big.Int))
	twice := new(big.Int).Lsh(rest, 1).Cmp(units.Denom())
	up := false
	switch mode {
	case "rn":
		up = twice > 0 || twice == 0 && q.Bit(0) == 1
	case "rna":
		up = twice >= 0
	case "rm":
		up = rest.Sign() > 0 && neg
	case "rp":
		up = rest.Sign() > 0 && !neg
	}
	if up {
		q.Add(q, big.NewInt(1))
	}
	n := new(big.Rat).SetInt(q)
	if n.Cmp(power(f.mant+1)) >= 0 {
		q.Rsh(q, 1)
		e++
	}
	bits := q.Uint64()
	if bits>>f.mant == 1 {
		bits = bits&(1<<f.mant-1) | uint64(e+f.bias())<<f.mant
	}
	if e > f.bias() {
		bits = f.inf()
		if mode == "rz" || mode == "rm" && !neg || mode == "rp" && neg {
			bits--
		}
	}
	return f.withSign(bits, neg)
}

// zero is the zero of an exact cancellation.
func (f ieee) zero(mode string) uint64 { return f.withSign(0, mode == "rm") }

func (f ieee) add(a, b uint64, mode string) uint64 {
	switch {
	case f.isNaN(a) || f.isNaN(b), f.isInf(a) && f.isInf(b) && f.sign(a) != f.sign(b):
		return f.nan()
	case f.isInf(a):
		return a
	case f.isInf(b):
		return b
	case f.abs(a) == 0 && f.abs(b) == 0 && f.sign(a) == f.sign(b):
		return a
	}
	s := new(big.Rat).Add(f.value(a), f.value(b))
	if s.Sign() == 0 {
		return f.zero(mode)
	}
	return f.round(s, mode)
}

func (f ieee) mul(a, b uint64, mode string) uint64 {
	neg := f.sign(a) != f.sign(b)
	switch {
	case f.isNaN(a) || f.isNaN(b), f.isInf(a) && f.abs(b) == 0, f.isInf(b) && f.abs(a) == 0:
		return f.nan()
	case f.isInf(a) || f.isInf(b):
		return f.withSign(f.inf(), neg)
	case f.abs(a) == 0 || f.abs(b) == 0:
		return f.withSign(0, neg)
	}
	return f.round(new(big.Rat).Mul(f.value(a), f.value(b)), mode)
}

func (f ieee) fma(a, b, c uint64, mode string) uint64 {
	neg := f.sign(a) != f.sign(b)
	switch {
	case f.isNaN(a) || f.isNaN(b) || f.isNaN(c), f.isInf(a) && f.abs(b) == 0, f.isInf(b) && f.abs(a) == 0:
		return f.nan()
	case f.isInf(a) || f.isInf(b):
		if f.isInf(c) && f.sign(c) != neg {
			return f.nan()
		}
		return f.withSign(f.inf(), neg)
	case f.isInf(c):
		return c
	}
	p := new(big.Rat).Mul(f.value(a), f.value(b))
	if p.Sign() == 0 && f.abs(c) == 0 && f.sign(c) == neg {
		return c
	}
	s := p.Add(p, f.value(c))
	if s.Sign() == 0 {
		return f.zero(mode)
	}
	return f.round(s, mode)
}

func (f ieee) div(a, b uint64, mode string) uint64 {
	neg := f.sign(a) != f.sign(b)
	switch {
	case f.isNaN(a) || f.isNaN(b), f.isInf(a) && f.isInf(b), f.abs(a) == 0 && f.abs(b) == 0:
		return f.nan()
	case f.isInf(a) || f.abs(b) == 0:
		return f.withSign(f.inf(), neg)
	case f.isInf(b) || f.abs(a) == 0:
		return f.withSign(0, neg)
	}
	return f.round(new(big.Rat).Quo(f.value(a), f.value(b)), mode)
}

// sqrt takes an integer root with more digits than the result has, and a last one that says whether anything is left.
func (f ieee) sqrt(a uint64, mode string) uint64 {
	switch {
	case f.isNaN(a), f.sign(a) && f.abs(a) != 0:
		return f.nan()
	case f.isInf(a) || f.abs(a) == 0:
		return a
	}
	const scale = 2400 // twice the smallest exponent and more, and even
	x := new(big.Rat).Mul(f.value(a), power(scale))
	z := new(big.Int).Quo(x.Num(), x.Denom())
	root := new(big.Int).Sqrt(z)
	r := new(big.Rat).SetInt(root)
	if new(big.Int).Mul(root, root).Cmp(z) != 0 {
		r.Add(r, big.NewRat(1, 4))
	}
	return f.round(r.Mul(r, power(-scale/2)), mode)
}

// integral rounds to a whole number, with the sign of a zero kept.
func (f ieee) integral(r *big.Rat, mode string) *big.Int {
	q, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int)) // down
	twice := new(big.Int).Lsh(rest, 1).Cmp(r.Denom())
	up := false
	switch mode {
	case "rni":
		up = twice > 0 || twice == 0 && q.Bit(0) == 1
	case "rzi":
		up = rest.Sign() > 0 && r.Sign() < 0
	case "rpi":
		up = rest.Sign() > 0
	}
	if up {
		q.Add(q, big.NewInt(1))
	}
	return q
}
