package program

import (
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

func isFloatType(t string) bool {
	return strings.HasPrefix(t, "f") || strings.HasPrefix(t, "bf") || t == "tf32"
}

// floatMods are the qualifiers of floating-point arithmetic.
type floatMods struct {
	mode     rounding
	ftz, sat bool
	typ      string
	named    bool // the rounding is written out
}

func (c *compiler) floatMods() floatMods {
	m := floatMods{}
	r := c.q.one("rn", "rz", "rm", "rp")
	m.mode, m.named = roundings[r], r != ""
	m.ftz, m.sat = c.q.has("ftz"), c.q.has("sat")
	m.typ = c.q.typ()
	return m
}

// flush32 replaces a subnormal number by a zero of its sign, as ftz requires.
func flush32(v uint64) uint64 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

// clamp32 applies sat: it clamps to [0, 1], and NaN to 0.
func clamp32(v uint64) uint64 {
	switch x := f32(v); {
	case !(x > 0):
		return 0
	case x > 1:
		return 0x3f800000
	}
	return v
}

// lane32 makes an alu from a function of bits. It applies ftz to the sources and ftz and sat to the result.
func (m floatMods) lane32(f func(a, b, c uint64) uint64) alu {
	if !m.ftz && !m.sat {
		return each(f)
	}
	return func(d, a, b, c *lanes) {
		for i := range d {
			x, y, z := a[i], b[i], c[i]
			if m.ftz {
				x, y, z = flush32(x), flush32(y), flush32(z)
			}
			r := f(x, y, z)
			if m.sat {
				r = clamp32(r)
			}
			d[i] = r
		}
	}
}

// round32 rounds a number that is exact or rounded to odd to single precision.
func (m floatMods) round32(x float64) uint64 {
	switch {
	case x != x:
		return nan32
	case m.ftz:
		return formatF32.roundFlushed(x, m.mode)
	}
	return formatF32.round(x, m.mode)
}

// wide converts a single-precision value to a double.
func wide(v uint64) float64 { return float64(f32(v)) }

// sum is addOdd, but if two numbers cancel, the direction determines the sign of zero.
func sum(a, b float64, mode rounding) float64 {
	s := addOdd(a, b)
	if s == 0 && mode == roundDown && (math.Signbit(a) || math.Signbit(b)) {
		return math.Copysign(0, -1)
	}
	return s
}

// floatForms has the forms of an operation with n sources: on the bits of f32, on the bits of f64, and on doubles rounded to odd for
// the half-precision formats. A nil form does not exist.
type floatForms struct {
	n    int
	fast map[string]alu // round to nearest without other qualifiers
	f32  func(m floatMods) func(a, b, c uint64) uint64
	f64  func(mode rounding) func(a, b, c uint64) uint64
	half func(a, b, c float64) float64
}

func (c *compiler) float(m floatMods, forms floatForms) {
	if hf, ok := halfFormats[m.typ]; ok && forms.half != nil {
		if m.named && m.mode != roundNearest {
			fail("half precision rounds to nearest")
		}
		c.half(m, hf, forms)
		return
	}
	f, cl := forms.fast[m.typ], exec.ClassFloat
	switch {
	case m.typ == "f32":
		if f == nil || m.ftz || m.sat || m.mode != roundNearest {
			f = m.lane32(forms.f32(m))
		}
	case m.typ == "f64" && forms.f64 != nil && !m.ftz && !m.sat:
		cl = exec.ClassDouble
		if f == nil || m.mode != roundNearest {
			f = each(forms.f64(m.mode))
		}
	default:
		fail("a floating-point type expected, got .%s", m.typ)
	}
	c.apply(cl, f, m.typ, slices.Repeat([]string{m.typ}, forms.n)...)
}

var addForms = floatForms{2, map[string]alu{"f32": addF32, "f64": addF64},
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return m.round32(sum(wide(a), wide(b), m.mode)) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return pack64(add64(f64(a), f64(b), mode), a, b) }
	}, func(a, b, _ float64) float64 { return addOdd(a, b) }}

var subForms = floatForms{2, map[string]alu{"f32": subF32, "f64": subF64},
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return m.round32(sum(wide(a), -wide(b), m.mode)) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return pack64(add64(f64(a), -f64(b), mode), a, b) }
	}, func(a, b, _ float64) float64 { return addOdd(a, -b) }}

var mulForms = floatForms{2, map[string]alu{"f32": mulF32, "f64": mulF64},
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return m.round32(mulOdd(wide(a), wide(b))) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return pack64(mul64(f64(a), f64(b), mode), a, b) }
	}, func(a, b, _ float64) float64 { return mulOdd(a, b) }}

var fmaForms = floatForms{3, nil,
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 { return m.round32(sum(mulOdd(wide(a), wide(b)), wide(c), m.mode)) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 {
			r := fma64(f64(a), f64(b), f64(c), mode)
			if r != r {
				return quiet64(a, b, c)
			}
			return math.Float64bits(r)
		}
	}, fmaOdd}

var divForms = floatForms{2, nil,
	func(m floatMods) func(a, b, c uint64) uint64 {
		if m.mode == roundNearest && !m.ftz {
			return func(a, b, _ uint64) uint64 { return pack32(f32(a) / f32(b)) }
		}
		return func(a, b, _ uint64) uint64 { return m.round32(divOdd(wide(a), wide(b))) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return pack64(div64(f64(a), f64(b), mode), a, b) }
	}, nil}

var sqrtForms = floatForms{1, nil,
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return m.round32(sqrtOdd(wide(a))) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return pack64(sqrt64(f64(a), mode), a, a) }
	}, nil}

var rcpForms = floatForms{1, nil,
	func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return m.round32(divOdd(1, wide(a))) }
	}, func(mode rounding) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return pack64(div64(1, f64(a), mode), a, a) }
	}, nil}

func floatAdd(c *compiler) { c.float(c.floatMods(), addForms) }
func floatSub(c *compiler) { c.float(c.floatMods(), subForms) }

func floatMul(c *compiler) { c.float(c.floatMods(), mulForms) }
func floatFMA(c *compiler) { c.float(c.floatMods(), fmaForms) }

func floatDiv(c *compiler) {
	kind := c.q.one("approx", "full")
	m := c.floatMods()
	if kind == "" {
		if !m.named {
			fail("a rounding expected")
		}
		c.float(m, divForms)
		return
	}
	c.mustBe(m.typ, "f32")
	full := divForms
	if kind == "approx" {
		full.f32 = func(m floatMods) func(a, b, c uint64) uint64 {
			divide := divForms.f32(m)
			return func(a, b, _ uint64) uint64 {
				if e := b >> 23 & 0xff; e >= 253 && e < 255 && b&0x7fffffff > 0x7e800000 { // the reciprocal is flushed
					return pack32(f32(a) * f32(b&0x80000000))
				}
				return divide(a, b, 0)
			}
		}
	}
	c.float(m, full)
}

func addFloat() {
	handlers["fma"] = func(c *compiler) {
		m := c.floatMods()
		if !m.named {
			fail("a rounding expected")
		}
		c.float(m, fmaForms)
	}
	handlers["sqrt"] = func(c *compiler) { c.root(sqrtForms, math.Sqrt) }
	handlers["rcp"] = func(c *compiler) { c.root(rcpForms, func(x float64) float64 { return 1 / x }) }
	handlers["rsqrt"] = func(c *compiler) {
		c.root(floatForms{}, func(x float64) float64 { return 1 / math.Sqrt(x) })
	}
	handlers["sin"] = func(c *compiler) { c.approx(math.Sin) }
	handlers["cos"] = func(c *compiler) { c.approx(math.Cos) }
	handlers["lg2"] = func(c *compiler) { c.approx(math.Log2) }
	handlers["ex2"] = func(c *compiler) { c.approx(math.Exp2) }
	handlers["tanh"] = func(c *compiler) { c.approx(math.Tanh) }
	handlers["copysign"] = func(c *compiler) {
		t := c.q.typ()
		c.mustBe(t, "f32", "f64")
		s := uint64(1) << 31
		if t == "f64" {
			s = 1 << 63
		}
		c.apply(exec.ClassFloat, func(d, a, b, _ *lanes) { // the sign is that of a
			for i := range d {
				d[i] = b[i]&^s | a[i]&s
			}
		}, t, t, t)
	}
	handlers["testp"] = compileTestp
}

// root compiles instructions with a rounded and an approximate form. The approximate form rounds to nearest here.
func (c *compiler) root(exact floatForms, f func(x float64) float64) {
	if !c.q.has("approx") {
		if exact.f32 == nil {
			fail("approx expected")
		}
		m := c.floatMods()
		if !m.named {
			fail("approx or a rounding expected")
		}
		c.float(m, exact)
		return
	}
	m := c.floatMods()
	if m.typ == "f64" {
		if exact.f32 != nil && !m.ftz {
			fail("ftz expected")
		}
		c.apply(exec.ClassDouble, func(d, a, _, _ *lanes) { // the upper half of the result, subnormal numbers as zero
			for i := range d {
				x := a[i]
				if x&0x7ff0000000000000 == 0 {
					x &= 1 << 63
				}
				r := math.Float64bits(f(f64(x)))
				switch {
				case f64(r) != f64(r):
					r = 0x7fffffff00000000
				case r&0x7ff0000000000000 == 0:
					r &= 1 << 63
				}
				d[i] = r &^ 0xffffffff
			}
		}, "f64", "f64")
		return
	}
	c.approximate(m, f)
}

// approx compiles an instruction that only exists as an approximation.
func (c *compiler) approx(f func(x float64) float64) {
	c.require("approx")
	c.approximate(c.floatMods(), f)
}

func (c *compiler) approximate(m floatMods, f func(x float64) float64) {
	if m.sat || m.named {
		fail("neither rounding nor sat expected")
	}
	forms := floatForms{n: 1, f32: func(m floatMods) func(a, b, c uint64) uint64 {
		return func(a, _, _ uint64) uint64 { return m.round32(f(wide(a))) }
	}}
	if m.typ != "f32" {
		forms.half = func(a, _, _ float64) float64 { return f(a) }
	}
	c.float(m, forms)
}

// signBits has the sign bit of each value in a type.
var signBits = map[string]uint64{"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x80008000, "bf16x2": 0x80008000, "f32": 1 << 31, "f64": 1 << 63}

func floatNeg(c *compiler) { c.sign(func(v, s uint64) uint64 { return v ^ s }) }
func floatAbs(c *compiler) { c.sign(func(v, s uint64) uint64 { return v &^ s }) }

func (c *compiler) sign(f func(v, s uint64) uint64) {
	m := c.floatMods()
	s, ok := signBits[m.typ]
	if !ok || m.named || m.sat {
		fail("a floating-point type expected")
	}
	flush := m.ftz && m.typ == "f32"
	c.apply(exec.ClassFloat, func(d, a, _, _ *lanes) {
		for i := range d {
			v := a[i]
			if flush {
				v = flush32(v)
			}
			d[i] = f(v, s)
		}
	}, m.typ, m.typ)
}

func floatMin(c *compiler) { floatMinMax(c, false) }
func floatMax(c *compiler) { floatMinMax(c, true) }

// floatMinMax orders -0 before +0. If one operand is NaN, the result is the other, except with the qualifier NaN.
func floatMinMax(c *compiler, most bool) {
	strict := c.q.has("NaN")
	xor := c.q.has("xorsign")
	if xor && !c.q.has("abs") {
		fail("abs expected")
	}
	m := c.floatMods()
	if m.named || m.sat {
		fail("neither rounding nor sat expected")
	}
	if hf, ok := halfFormats[m.typ]; ok {
		c.halfMinMax(m, hf, most, strict, xor)
		return
	}
	c.mustBe(m.typ, "f32", "f64")
	n := 3
	if len(c.at.Args) == 4 {
		n = 4
	}
	if n == 4 && (xor || m.typ != "f32") {
		fail("three sources")
	}
	s, inf, canon := uint64(1)<<31, uint64(0x7f800000), uint64(nan32)
	cl := exec.ClassFloat
	if m.typ == "f64" {
		s, inf, canon, cl = 1<<63, 0x7ff<<52, 0x7fffffffffffffff, exec.ClassDouble
	}
	pick := func(a, b uint64) uint64 { return minMax(a, b, s, inf, canon, most, strict, xor) }
	c.apply(cl, func(d, a, b, x *lanes) {
		for i := range d {
			u, v, y := a[i], b[i], x[i]
			if m.ftz {
				u, v, y = flush32(u), flush32(v), flush32(y)
			}
			r := pick(u, v)
			if n == 4 {
				r = pick(r, y)
			}
			d[i] = r
		}
	}, m.typ, slices.Repeat([]string{m.typ}, n-1)...)
}

// minMax returns the bits of the greater operand if most is set, otherwise of the smaller. s is the format's sign bit, inf its
// infinity and canon its NaN. One NaN gives the other operand, or canon if strict is set. With xor, magnitudes are compared and the
// result's sign is the product of both signs.
func minMax(a, b, s, inf, canon uint64, most, strict, xor bool) uint64 {
	sign := (a ^ b) & s
	if xor {
		a, b = a&^s, b&^s
	}
	nanA, nanB := a&^s > inf, b&^s > inf
	switch {
	case nanA && nanB, strict && (nanA || nanB):
		return canon
	case nanA:
		a = b
	case nanB:
	case ordered(a, s) < ordered(b, s) == most:
		a = b
	}
	if xor {
		a = a&^s | sign
	}
	return a
}

// ordered maps the bits of a number to an integer with the same order; -0 comes before +0.
func ordered(v, s uint64) int64 {
	if v&s != 0 {
		return -int64(v&^s) - 1
	}
	return int64(v)
}

func compileTestp(c *compiler) {
	what := c.q.one("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := c.q.typ()
	c.mustBe(t, "f32", "f64")
	args := c.args(2)
	inf, least := uint64(0x7f800000), uint64(1<<23)
	if t == "f64" {
		inf, least = 0x7ff<<52, 1<<52
	}
	in := none(exec.KindSet, exec.ClassPredicate)
	in.PD, in.A = c.predDst(args[0]), c.src(args[1], t)
	in.Cmp = func(a, _ *lanes) uint32 {
		m := uint32(0)
		for i := range a {
			v := a[i] &^ signBits[t]
			ok := false
			switch what {
			case "finite":
				ok = v < inf
			case "infinite":
				ok = v == inf
			case "number":
				ok = v <= inf
			case "notanumber":
				ok = v > inf
			case "normal":
				ok = v >= least && v < inf
			case "subnormal":
				ok = v < least && v != 0
			}
			if ok {
				m |= 1 << i
			}
		}
		return m
	}
	c.emit(in)
}
