package tensor

import "math"

// Float16 is the bit pattern of an IEEE 754 binary16 number.
type Float16 uint16

// BFloat16 is the bit pattern of a bfloat16 number: the upper half of a binary32.
type BFloat16 uint16

// F32 returns the number as a float32. The conversion is exact.
func (h Float16) F32() float32 {
	bits := uint32(h&0x7fff) << 13 // the mantissa is in its place, the exponent 112 too small
	switch {
	case bits >= 0x1f<<23:
		bits += 224 << 23
	case bits >= 1<<23:
		bits += 112 << 23
	default: // A subnormal is its mantissa * 2^-24: the conversion and the product are exact.
		bits = math.Float32bits(float32(bits) * 0x1p-37)
	}
	return math.Float32frombits(uint32(h&0x8000)<<16 | bits)
}

// F32 returns the number as a float32. The conversion is exact.
func (b BFloat16) F32() float32 { return math.Float32frombits(uint32(b) << 16) }

// F16FromF32 rounds to the nearest Float16, and to the even one in a tie. Numbers from 65520 up become infinity. NaN
// stays NaN and becomes quiet.
func F16FromF32(f float32) Float16 {
	bits := math.Float32bits(f)
	sign := uint16(bits>>16) & 0x8000
	abs := bits & 0x7fffffff
	switch {
	case abs > 0x7f800000:
		return Float16(sign | 0x7e00 | uint16(abs>>13)&0x3ff)
	case abs >= 0x477ff000: // 65520, half way between the largest Float16 and the next power of two
		return Float16(sign | 0x7c00)
	case abs >= 0x38800000: // 2^-14, the smallest normal Float16
		abs += 0xfff + abs>>13&1
		return Float16(sign | uint16(abs>>13-112<<10))
	}
	// Subnormal: adding 0.5 leaves the ulp at 2^-24, so the addition itself rounds to nearest even.
	sum := math.Float32bits(math.Float32frombits(abs) + 0.5)
	return Float16(sign | uint16(sum-0x3f000000))
}

// BF16FromF32 rounds to the nearest BFloat16, and to the even one in a tie. NaN stays NaN and becomes quiet.
func BF16FromF32(f float32) BFloat16 {
	bits := math.Float32bits(f)
	if bits&0x7fffffff > 0x7f800000 {
		return BFloat16(bits>>16 | 0x40)
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// F16FromF64 rounds a float64 once to the nearest Float16, and to the even one in a tie. The result can differ from two
// roundings through float32.
func F16FromF64(f float64) Float16 { return F16FromF32(roundToOdd(f)) }

// BF16FromF64 rounds a float64 once to the nearest BFloat16, and to the even one in a tie. The result can differ from
// two roundings through float32.
func BF16FromF64(f float64) BFloat16 { return BF16FromF32(roundToOdd(f)) }

// roundToOdd returns the float32 next to f towards zero, with its last bit set if anything was cut off. Rounding that to
// a type with at least two bits less gives what rounding f itself would (Boldo and Melquiond, 2008).
func roundToOdd(f float64) float32 {
	r := float32(f)
	if float64(r) == f || f != f {
		return r
	}
	bits := math.Float32bits(r)
	if math.Abs(float64(r)) > math.Abs(f) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}
