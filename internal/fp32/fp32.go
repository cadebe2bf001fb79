package fp32

import "math"

// FMA is a*b+c rounded once, to nearest even, as a GPU's fma.rn.f32.
func FMA(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c) // the product is exact: this is rounded once, to 53 bits
	if word := math.Float64bits(s); word&(1<<28-1) != 0 && word&^(1<<63) >= smallestNormal {
		return float32(s) // neither a float32 nor half way between two, and so on the side where the exact sum is
	}
	return fmaOdd(a, b, c, s)
}

const smallestNormal = (1023 - 126) << 52 // of float32, as a float64

// fmaOdd is FMA by way of rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008): where s was rounded, the last bit of
// the float64 in front of the second rounding is 1. Knuth's TwoSum finds what the rounding cut off.
func fmaOdd(a, b, c float32, s float64) float32 {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	p, d := float64(a)*float64(b), float64(c)
	back := s - p
	cut := (p - (s - back)) + (d - back)
	if word := math.Float64bits(s); cut != 0 && word&1 == 0 {
		if (cut > 0) == (s > 0) {
			word++
		} else {
			word--
		}
		s = math.Float64frombits(word)
	}
	return float32(s)
}

// magic added to a number below 2^22 rounds it to a whole one, which lies in the last bits of the sum.
const magic = 3 << 22

// Exp2 is 2^x, within 1.0 units in the last place; results below 2^-126 are subnormal, rounded twice. NaN gives NaN.
func Exp2(x float32) float32 {
	switch {
	case x > 129:
		x = 129
	case x < -151:
		x = -151
	}
	t := x + magic
	f := x - (t - magic)
	p := FMA(f, 0x1.41fbbcp-13, 0x1.5f3e54p-10)
	p = FMA(p, f, 0x1.3b2d4cp-7)
	p = FMA(p, f, 0x1.c6aee8p-5)
	p = FMA(p, f, 0x1.ebfbdcp-3)
	p = FMA(p, f, 0x1.62e430p-1)
	p = FMA(p, f, 1)
	n := int32(math.Float32bits(t) - math.Float32bits(magic))
	half := n >> 1
	return float32(float32(p*power(half)) * power(n-half))
}

// power is 2^n, n from -126 to 127.
func power(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Exp2Down is 2^x for x from minus infinity to 1, as softmax needs it, in the fewest instructions: within 2^-18.4 of the result, relatively; below 2^-126
// it falls in straight lines, and is 0 from x = -127 on. Exp2Down(0) is 1. NaN gives the largest float, which is infinite in bfloat16.
func Exp2Down(x float32) float32 {
	if x != x {
		return math.MaxFloat32 // what the sum of bits makes of a GPU's NaN
	}
	x = max(x, -127)
	t := x + magic
	f := x - (t - magic)
	p := FMA(f, 0x1.3a02ccp-7, 0x1.c9fc46p-5)
	p = FMA(p, f, 0x1.ec0378p-3)
	p = FMA(p, f, 0x1.62e12cp-1)
	p = FMA(p, f, 1)
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}

// Log2 is the logarithm, base 2, within 2.1 units in the last place: minus infinity of 0, NaN of less.
func Log2(x float32) float32 {
	switch {
	case x == 0:
		return float32(math.Inf(-1))
	case x < 0:
		return float32(math.NaN())
	case x != x || x > math.MaxFloat32:
		return x
	}
	var e int32
	if x < 0x1p-126 {
		x *= 0x1p23
		e = -23
	}
	k := int32(math.Float32bits(x)-rootHalf) >> 23
	f := math.Float32frombits(math.Float32bits(x)-uint32(k)<<23) - 1 // from sqrt(1/2)-1 to sqrt(2)-1
	p := FMA(f, 0x1.01b6c6p-3, -0x1.a87d02p-3)
	p = FMA(p, f, 0x1.b9c91cp-3)
	p = FMA(p, f, -0x1.e95be8p-3)
	p = FMA(p, f, 0x1.26d384p-2)
	p = FMA(p, f, -0x1.715c4ep-2)
	p = FMA(p, f, 0x1.ec73d6p-2)
	p = FMA(p, f, -0x1.715470p-1)
	p = FMA(p, f, 0x1.715476p0)
	return FMA(p, f, float32(e+k))
}

const rootHalf = 0x3f3504f3 // the bits of sqrt(1/2)

// Log is the natural logarithm, Log2(x)*ln(2), within 2.5 units in the last place.
func Log(x float32) float32 { return float32(Log2(x) * math.Ln2) }

// Exp is e^x, Exp2(x*log2(e)): the product's rounding makes the error grow with x, to 70 units in the last place.
func Exp(x float32) float32 { return Exp2(float32(x * math.Log2E)) }

// Erf is the error function, within 2.4 units in the last place.
func Erf(x float32) float32 {
	a := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	if a < 1 {
		t := float32(x * x)
		p := FMA(t, -0x1.28c154p-11, 0x1.42c042p-8)
		p = FMA(p, t, -0x1.b5be30p-6)
		p = FMA(p, t, 0x1.ce0bb0p-4)
		p = FMA(p, t, -0x1.812688p-2)
		p = FMA(p, t, 0x1.20dd74p0)
		return float32(p * x)
	}
	if a > 4 {
		a = 4 // where it is 1
	}
	// 1 - erf(a) = 2^-p(a)
	p := FMA(a, 0x1.b314e2p-10, -0x1.5d4fcap-6)
	p = FMA(p, a, 0x1.05e1c2p-3)
	p = FMA(p, a, 0x1.e371dcp-1)
	p = FMA(p, a, 0x1.9cb416p0)
	p = FMA(p, a, 0x1.f936b0p-9)
	y := 1 - Exp2(-p)
	if x < 0 {
		return -y
	}
	return y
}

const (
	rootHalfF = 0.70710678118654752440
	invRoot2P = 0.39894228040143267794 // 1/sqrt(2π)
)

// GELU is x/2*(1+erf(x/sqrt(2))) (Hendrycks and Gimpel, "Gaussian error linear units", 2016), each operation rounded.
func GELU(x float32) float32 { return float32(float32(0.5*x) * (1 + Erf(float32(x*rootHalfF)))) }

// GELUGrad is its derivative, Φ(x) + x*φ(x).
func GELUGrad(x float32) float32 {
	cdf := float32(0.5 * (1 + Erf(float32(x*rootHalfF))))
	pdf := float32(Exp2(float32(float32(x*x)*(-0.5*math.Log2E))) * invRoot2P)
	return FMA(x, pdf, cdf)
}

// Sqrt is the square root, rounded to nearest even.
func Sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
