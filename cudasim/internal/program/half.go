package program

import (
	"slices"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// toDouble returns the exact conversion of a floating-point type to double. With ftz, subnormal f32 are zero.
func toDouble(t string, ftz bool) func(v uint64) float64 {
	switch t {
	case "f64":
		return f64
	case "f32":
		if ftz {
			return func(v uint64) float64 { return wide(flush32(v)) }
		}
		return wide
	case "f16":
		return func(v uint64) float64 { return formatF16.value(v & 0xffff) }
	case "bf16":
		return func(v uint64) float64 { return formatBF16.value(v & 0xffff) }
	}
	fail("a conversion from .%s", t)
	return nil
}

// halfFormat is a 16-bit format, with one or two values in a register.
type halfFormat struct {
	format
	pair  bool
	whole string // type of the register
}

var halfFormats = map[string]halfFormat{
	"f16": {formatF16, false, "b16"}, "f16x2": {formatF16, true, "b32"},
	"bf16": {formatBF16, false, "b16"}, "bf16x2": {formatBF16, true, "b32"},
}

// nan16 is the NaN that half-precision arithmetic returns.
const nan16 = 0x7fff

// pack16 rounds a number that is exact or rounded to odd.
func (f format) pack16(x float64, ftz bool) uint64 {
	switch {
	case x != x:
		return nan16
	case ftz:
		return f.roundFlushed(x, roundNearest)
	}
	return f.round(x, roundNearest)
}

// each applies g to the value, or to each half.
func (hf halfFormat) each(g func(a, b, c uint64) uint64) func(a, b, c uint64) uint64 {
	if !hf.pair {
		return g
	}
	return func(a, b, c uint64) uint64 {
		return g(a&0xffff, b&0xffff, c&0xffff) | g(a>>16, b>>16, c>>16)<<16
	}
}

func (hf halfFormat) flush(v uint64) uint64 {
	if v>>hf.mant&(1<<hf.exp-1) == 0 {
		return v & 0x8000
	}
	return v
}

// half compiles an operation in half precision. It computes with doubles and rounds once.
func (c *compiler) half(m floatMods, hf halfFormat, forms floatForms) {
	relu := c.q.has("relu")
	g := hf.each(func(a, b, x uint64) uint64 {
		if m.ftz {
			a, b, x = hf.flush(a), hf.flush(b), hf.flush(x)
		}
		r := hf.pack16(forms.half(hf.value(a), hf.value(b), hf.value(x)), m.ftz)
		if m.sat {
			v := hf.value(r)
			switch {
			case !(v > 0):
				r = 0
			case v > 1:
				r = hf.round(1, roundNearest)
			}
		}
		if relu && r&0x8000 != 0 {
			r = 0
		}
		return r
	})
	c.apply(exec.ClassHalf, each(g), hf.whole, slices.Repeat([]string{hf.whole}, forms.n)...)
}

func (c *compiler) halfMinMax(m floatMods, hf halfFormat, most, strict, xor bool) {
	inf := uint64(1<<hf.exp-1) << hf.mant
	g := hf.each(func(a, b, _ uint64) uint64 {
		if m.ftz {
			a, b = hf.flush(a), hf.flush(b)
		}
		return minMax(a, b, 0x8000, inf, nan16, most, strict, xor)
	})
	c.apply(exec.ClassHalf, each(g), hf.whole, hf.whole, hf.whole)
}
