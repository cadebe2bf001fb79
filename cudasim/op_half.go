package cudasim

// halfFormat is a 16-bit format, alone or two to a register.
type halfFormat struct {
	format
	pair  bool
	whole string // type of the register
}

var halfFormats = map[string]halfFormat{
	"f16": {formatF16, false, "b16"}, "f16x2": {formatF16, true, "b32"},
	"bf16": {formatBF16, false, "b16"}, "bf16x2": {formatBF16, true, "b32"},
}

// nan16 is the NaN that half-precision arithmetic gives.
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

// each applies g to the value or to both halves.
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

// half compiles an operation in half precision: computed on doubles, rounded once.
func (c *compiler) half(m floatMods, hf halfFormat, forms floatForms) {
	relu := c.q.has("relu")
	args := c.args(forms.n + 1)
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
	var src []int32
	for _, a := range args[1:] {
		src = append(src, c.src(a, hf.whole))
	}
	c.alu(classHalf, func(d, a, b, x *lanes) {
		for i := range d {
			d[i] = g(a[i], b[i], x[i])
		}
	}, c.dst(args[0], hf.whole), src...)
}

func (c *compiler) halfMinMax(m floatMods, hf halfFormat, most, strict, xor bool) {
	args := c.args(3)
	inf := uint64(1<<hf.exp-1) << hf.mant
	g := hf.each(func(a, b, _ uint64) uint64 {
		if m.ftz {
			a, b = hf.flush(a), hf.flush(b)
		}
		return minMax(a, b, 0x8000, inf, nan16, most, strict, xor)
	})
	c.alu(classHalf, func(d, a, b, _ *lanes) {
		for i := range d {
			d[i] = g(a[i], b[i], 0)
		}
	}, c.dst(args[0], hf.whole), c.src(args[1], hf.whole), c.src(args[2], hf.whole))
}

func addHalf() {}
