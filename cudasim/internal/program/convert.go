package program

import (
	"math"
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addConvert() {
	handlers["cvt"] = compileCvt
}

// cvtMods are the qualifiers of a conversion.
type cvtMods struct {
	mode            rounding
	integral        bool // rounds to an integer
	written         bool // a rounding is written out
	ftz, sat        bool
	relu, satfinite bool
	to, from        string
}

func compileCvt(c *compiler) {
	m := cvtMods{}
	if r := c.q.one("rni", "rzi", "rmi", "rpi"); r != "" {
		m.mode, m.integral, m.written = roundings[r[:2]], true, true
	} else if r := c.q.one("rn", "rz", "rm", "rp", "rna"); r != "" {
		m.mode, m.written = roundings[r], true
	}
	m.relu, m.satfinite = c.q.has("relu"), c.q.has("satfinite")
	m.ftz, m.sat = c.q.has("ftz"), c.q.has("sat")
	if c.q.has("tf32") {
		m.to = "tf32"
	} else {
		m.to = c.q.typ()
	}
	m.from = c.q.typ()
	if m.to == "" || m.from == "" {
		fail("two types that are known expected")
	}
	if m.ftz && m.from != "f32" && m.to != "f32" {
		fail("ftz on a conversion that has no .f32, from .%s to .%s", m.from, m.to)
	}
	if strings.HasSuffix(m.to, "x2") {
		c.cvtPair(m)
		return
	}
	args := c.args(2)
	a := c.srcWide(args[1], m.from)
	toReg := m.to
	if m.to == "tf32" {
		toReg = "b32"
	}
	d := c.dstWide(args[0], toReg)
	reg := ""
	if d >= 0 {
		reg = c.kinds[d]
	} else {
		reg = toReg
	}
	f := fastCvts[c.at.Op]
	if f == nil || c.kinds[a] != "const" && ptxparse.TypeSize(c.kinds[a]) != ptxparse.TypeSize(m.from) ||
		ptxparse.TypeSize(reg) != ptxparse.TypeSize(toReg) {
		g := convert(m)
		mask := width(reg)
		f = func(d, a, _, _ *lanes) {
			for i := range d {
				d[i] = g(a[i]) & mask
			}
		}
	}
	c.alu(exec.ClassConvert, f, d, a)
}

// convert returns the function that converts the bits of a source value to the bits of the result. An integer result is sign-extended
// if its type is signed.
func convert(m cvtMods) func(v uint64) uint64 {
	from, to := isFloatType(m.from), isFloatType(m.to)
	switch {
	case !from && !to:
		return m.intToInt()
	case from && !to:
		if !m.integral {
			fail("a rounding to an integer expected")
		}
		return m.floatToInt()
	case !from:
		if !m.written || m.integral {
			fail("a rounding expected")
		}
		return m.intToFloat()
	}
	return m.floatToFloat()
}

func (m cvtMods) intToInt() func(v uint64) uint64 {
	ext, out := extend(m.from), extend(m.to)
	if m.written || m.ftz {
		fail("a conversion of integers rounds nothing")
	}
	if !m.sat {
		return func(v uint64) uint64 { return out(ext(v)) }
	}
	signed := signedType(m.from)
	bits := 8 * ptxparse.TypeSize(m.to)
	if m.holdsAll() {
		fail("sat on a conversion from .%s to .%s, which holds every value", m.from, m.to)
	}
	return func(v uint64) uint64 {
		v = ext(v)
		if signedType(m.to) {
			most := uint64(1)<<(bits-1) - 1
			switch {
			case signed && int64(v) < -int64(most)-1:
				return -most - 1
			case less(signed, most, v):
				return most
			}
			return v
		}
		switch {
		case signed && int64(v) < 0:
			return 0
		case v > width(m.to):
			return width(m.to)
		}
		return v
	}
}

// holdsAll reports whether one integer type holds every value of the other, so that saturation has no effect.
func (m cvtMods) holdsAll() bool {
	to, from := ptxparse.TypeSize(m.to), ptxparse.TypeSize(m.from)
	switch {
	case signedType(m.to) == signedType(m.from):
		return to >= from
	case signedType(m.to):
		return to > from
	}
	return false
}

// toIntegral rounds to an integer in a direction.
func toIntegral(x float64, mode rounding) float64 {
	switch mode {
	case roundZero:
		return math.Trunc(x)
	case roundDown:
		return math.Floor(x)
	case roundUp:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

// floatToInt returns a conversion that clamps to the range of the result's type. NaN gives 0, or only the highest bit if the source
// is f64 or the result has 64 bits.
func (m cvtMods) floatToInt() func(v uint64) uint64 {
	in := toDouble(m.from, m.ftz)
	bits := 8 * ptxparse.TypeSize(m.to)
	nan := uint64(0)
	if m.from == "f64" || bits == 64 {
		nan = 1 << (bits - 1)
	}
	if signedType(m.to) {
		least := -math.Ldexp(1, bits-1)
		return func(v uint64) uint64 {
			x := toIntegral(in(v), m.mode)
			switch {
			case x != x:
				return nan
			case x < least:
				return -(1 << (bits - 1))
			case x >= -least:
				return 1<<(bits-1) - 1
			}
			return uint64(int64(x))
		}
	}
	most := math.Ldexp(1, bits)
	return func(v uint64) uint64 {
		x := toIntegral(in(v), m.mode)
		switch {
		case x != x:
			return nan
		case x <= 0:
			return 0
		case x >= most:
			return width(m.to)
		}
		return uint64(x)
	}
}

// intToFloat returns a conversion that rounds once, from all 64 bits.
func (m cvtMods) intToFloat() func(v uint64) uint64 {
	ext := extend(m.from)
	signed := signedType(m.from)
	if m.to == "f64" {
		return func(v uint64) uint64 {
			v = ext(v)
			neg := signed && int64(v) < 0
			if neg {
				v = -v
			}
			return m.saturate64(math.Float64bits(intTo64(v, neg, m.mode)))
		}
	}
	out := m.pack()
	return func(v uint64) uint64 {
		v = ext(v)
		if signed && int64(v) < 0 {
			return out(-oddFromInt(-v))
		}
		return out(oddFromInt(v))
	}
}

// oddFromInt returns v as a double, rounded to odd.
func oddFromInt(v uint64) float64 {
	if v>>53 == 0 {
		return float64(v)
	}
	shift := 0
	for u := v; u>>53 != 0; u >>= 1 {
		shift++
	}
	q := v >> shift
	if v&(1<<shift-1) != 0 {
		q |= 1
	}
	return math.Ldexp(float64(q), shift)
}

// intTo64 rounds an integer to double precision.
func intTo64(u uint64, neg bool, mode rounding) float64 {
	x := float64(u) // rounded to nearest
	if mode != roundNearest && x >= 1<<53 {
		up := mode == roundUp && !neg || mode == roundDown && neg
		above := x >= 1<<64 || uint64(x) > u
		exact := x < 1<<64 && uint64(x) == u
		switch {
		case exact:
		case up && !above:
			x = math.Nextafter(x, math.Inf(1))
		case !up && above:
			x = math.Nextafter(x, 0)
		}
	}
	if neg {
		return -x
	}
	return x
}

func (m cvtMods) saturate64(v uint64) uint64 {
	if !m.sat {
		return v
	}
	switch x := f64(v); {
	case !(x > 0):
		return 0
	case x > 1:
		return math.Float64bits(1)
	}
	return v
}

// pack rounds a double, exact or rounded to odd, to the result's type.
func (m cvtMods) pack() func(x float64) uint64 {
	var f format
	nan := uint64(nan16)
	switch m.to {
	case "f32":
		f, nan = formatF32, nan32
	case "f16":
		f = formatF16
	case "bf16":
		f = formatBF16
	case "tf32":
		f, nan = formatTF32, nan32>>13
	default:
		fail("a conversion to .%s", m.to)
	}
	top := uint64(1)<<(f.mant+f.exp) - 1<<f.mant
	sign := uint64(1) << (f.mant + f.exp)
	one := f.round(1, roundNearest)
	return func(x float64) uint64 {
		v := nan
		switch {
		case x != x:
		case m.ftz && m.to == "f32":
			v = f.roundFlushed(x, m.mode)
		default:
			v = f.round(x, m.mode)
		}
		if m.sat {
			switch {
			case !(x > 0):
				v = 0
			case x > 1:
				v = one
			}
		}
		if m.satfinite && v&^sign == top {
			v--
		}
		if m.relu && v&sign != 0 {
			v = 0
		}
		if m.to == "tf32" {
			v <<= 13
		}
		return v
	}
}

func (m cvtMods) floatToFloat() func(v uint64) uint64 {
	in := toDouble(m.from, m.ftz)
	round := m.integral
	size, fromSize := ptxparse.TypeSize(m.to), ptxparse.TypeSize(m.from)
	if m.to == "tf32" {
		size = 2
	}
	if !round && !m.written && (size < fromSize || m.to != m.from && size == fromSize) {
		fail("a rounding expected")
	}
	if m.to == "f64" {
		return func(v uint64) uint64 {
			x := in(v)
			if x != x {
				if m.sat {
					return 0
				}
				return widenNaN(m.from, v)
			}
			if round {
				x = toIntegral(x, m.mode)
			}
			return m.saturate64(math.Float64bits(x))
		}
	}
	out := m.pack()
	if round {
		plain := m
		plain.mode = roundNearest
		out = plain.pack()
	}
	same := m.to == m.from && !round && !m.ftz && !m.sat
	return func(v uint64) uint64 {
		if same {
			return v
		}
		x := in(v)
		if round {
			x = toIntegral(x, m.mode)
		}
		return out(x)
	}
}

// widenNaN converts a NaN to double precision.
func widenNaN(from string, v uint64) uint64 {
	if from == "f64" {
		return v | 1<<51
	}
	return 0x7fffffffe0000000 & (^uint64(0) >> 1) // the canonical single-precision NaN, widened
}

// cvtPair converts two floats to one register: the first goes to the upper half.
func (c *compiler) cvtPair(m cvtMods) {
	if m.from != "f32" || !m.written || m.sat {
		fail("two f32 and a rounding expected")
	}
	m.to = strings.TrimSuffix(m.to, "x2")
	in, out := toDouble("f32", m.ftz), m.pack()
	c.apply(exec.ClassConvert, func(d, a, b, _ *lanes) {
		for i := range d {
			d[i] = out(in(a[i]))<<16 | out(in(b[i]))
		}
	}, "b32", "f32", "f32")
}

// fastCvts are the most frequent conversions, for registers as wide as the types.
var fastCvts = map[string]alu{
	"cvt.u32.u64": mov32,
	"cvt.u64.u32": mov32,
	"cvt.u16.u32": mov16,
	"cvt.u32.u16": mov16,
	"cvt.s64.s32": func(d, a, _, _ *lanes) {
		for i := range d {
			d[i] = uint64(int64(int32(a[i])))
		}
	},
	"cvt.f64.f32": func(d, a, _, _ *lanes) {
		for i := range d {
			if x := f32(a[i]); x == x {
				d[i] = math.Float64bits(float64(x))
			} else {
				d[i] = widenNaN("f32", a[i])
			}
		}
	},
	"cvt.rn.f32.f64": func(d, a, _, _ *lanes) {
		for i := range d {
			d[i] = pack32(float32(f64(a[i])))
		}
	},
}
