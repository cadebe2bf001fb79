package tensorcore

import (
	"math"
	"math/bits"
)

// Rule describes how a generation of tensor cores adds.
type Rule struct {
	Products int // maximum products per step: 8 or 16
	Fraction int // bits kept below the binary point of the largest exponent
}

var (
	Hopper = Rule{Products: 16, Fraction: 25}
	Ampere = Rule{Products: 8, Fraction: 24} // also Ada; as published, not measured here
)

// Format is the factors' type.
type Format uint8

const (
	BFloat16 Format = iota
	Float16
)

// Decoded is a factor split into significand and exponent: its value is sig times 2^(exp-13). An infinity has exponent special and
// significand 1 or -1; not-a-number has exponent special and significand 0.
type Decoded struct{ sig, exp int16 }

const (
	fraction  = 13             // significand bits below the binary point; the last 3 (float16) or 6 (bfloat16) are zero
	zeroExp   = -600           // exponent of zero: its products are below every addend, and with a factor that is not finite still far above
	special   = 1 << 12        // exponent of infinity and not-a-number: sums with it exceed all others
	notFinite = special - 1024 // the least exponent of a term with such a factor
	nan       = 0x7fffffff
)

// Decode decodes src, numbers in format f, into dst. dst must be at least as long.
func Decode(f Format, dst []Decoded, src []uint16) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = f.Decode(v)
	}
}

// Decode decodes one number.
func (f Format) Decode(v uint16) Decoded {
	width, bias := uint(7), 127 // stored bits of the significand
	if f == Float16 {
		width, bias = 10, 15
	}
	most := 1<<(15-width) - 1
	sig, exp := int16(v&(1<<width-1)), int(v>>width)&most
	d := Decoded{sig: sig << (fraction - width), exp: int16(exp - bias)}
	switch {
	case exp == most && sig != 0:
		return Decoded{exp: special}
	case exp == most:
		d = Decoded{sig: 1, exp: special}
	case exp != 0:
		d.sig |= 1 << fraction
	case sig != 0:
		d.exp++
	default:
		d.exp = zeroExp
	}
	if v>>15 != 0 {
		d.sig = -d.sig
	}
	return d
}

// Dot returns acc plus the products of a and b, computed in successive steps like a chain of mma.sync over k. a and b have the same
// length; the last step may have fewer products.
func (r Rule) Dot(acc float32, a, b []Decoded) float32 {
	b = b[:len(a)]
	if r == Hopper {
		for len(a) >= 16 {
			acc = step16(acc, (*[16]Decoded)(a), (*[16]Decoded)(b))
			a, b = a[16:], b[16:]
		}
	}
	for len(a) > 0 {
		n := min(len(a), r.Products)
		acc = r.step(acc, a[:n], b[:n])
		a, b = a[n:], b[n:]
	}
	return acc
}

// Dot8 performs Dot for a and each of 8 columns in b, which is stored by rows: it adds the products a[k]*b[k][j] to acc[j]. It is much
// faster than 8 calls of Dot.
func (r Rule) Dot8(acc *[8]float32, a []Decoded, b [][8]Decoded) {
	b = b[:len(a)]
	for len(a) > 0 {
		if r == Hopper && len(a) >= 16 {
			done := 16 * steps8(acc, &a[0], &b[0], len(a)/16)
			if a, b = a[done:], b[done:]; len(a) == 0 {
				return
			}
		}
		n := min(len(a), r.Products)
		var column [16]Decoded
		for j := range acc {
			for k := range n {
				column[k] = b[k][j]
			}
			acc[j] = r.step(acc[j], a[:n], column[:n])
		}
		a, b = a[n:], b[n:]
	}
}

// step performs one step for any rule and length.
func (r Rule) step(acc float32, a, b []Decoded) float32 {
	c, exp := addend(acc)
	most := exp
	for i := range a {
		most = max(most, int32(a[i].exp)+int32(b[i].exp))
	}
	if most >= notFinite {
		return infinite(acc, a, b)
	}
	sum := cut(c, uint32(r.Fraction-23), most-exp)
	for i := range a {
		sum += cut(int64(a[i].sig)*int64(b[i].sig), 0, most+int32(2*fraction-r.Fraction)-int32(a[i].exp)-int32(b[i].exp))
	}
	return round(sum, most-int32(r.Fraction))
}

// cut returns v shifted left and then right, rounding toward zero.
func cut(v int64, left uint32, right int32) int64 {
	sign := v >> 63
	return int64(uint64((v^sign)-sign)<<left>>uint32(right)) * (sign | 1)
}

// addend decodes acc: its value is sig times 2^(exp-23).
func addend(acc float32) (sig int64, exp int32) {
	u := math.Float32bits(acc)
	sig, exp = int64(u&(1<<23-1)), int32(u>>23&255)
	switch exp {
	case 0:
		exp = 1
	case 255:
		return 0, special + 127
	default:
		sig |= 1 << 23
	}
	if u>>31 != 0 {
		sig = -sig
	}
	return sig, exp - 127
}

// round returns sum times 2^exp, truncated to float32.
func round(sum int64, exp int32) float32 {
	if sum == 0 {
		return 0
	}
	sign := uint32(uint64(sum)>>63) << 31
	if sum < 0 {
		sum = -sum
	}
	// lsb is the exponent of the last bit kept.
	lsb := max(exp+int32(bits.Len64(uint64(sum)))-24, -149)
	shift := lsb - exp
	var sig uint32
	if shift >= 0 {
		sig = uint32(uint64(sum) >> uint32(shift))
	} else {
		sig = uint32(sum) << uint32(-shift)
	}
	if lsb > 127-23 {
		return math.Float32frombits(sign | 0x7f800000)
	}
	switch {
	case sig == 0: // truncated to nothing, which is +0, as an H200 showed
		return 0
	case sig < 1<<23: // a subnormal number
		return math.Float32frombits(sign | sig)
	}
	return math.Float32frombits(sign | uint32(lsb+150)<<23 | sig&(1<<23-1))
}

// infinite performs a step in which a term is not finite.
func infinite(acc float32, a, b []Decoded) float32 {
	var above, below bool
	if v := float64(acc); math.IsInf(v, 0) {
		above, below = v > 0, v < 0
	} else if v != v {
		return math.Float32frombits(nan)
	}
	for i := range a {
		if a[i].exp < special && b[i].exp < special {
			continue
		}
		switch p := int32(a[i].sig) * int32(b[i].sig); {
		case p > 0:
			above = true
		case p < 0:
			below = true
		default:
			return math.Float32frombits(nan)
		}
	}
	if above && below {
		return math.Float32frombits(nan)
	}
	return float32(math.Inf(map[bool]int{true: 1, false: -1}[above]))
}
