package cudasim

import (
	"math/bits"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

// unsigned is what integer instructions work on; signed ones convert.
type unsigned interface{ ~uint16 | ~uint32 | ~uint64 }

type integer interface {
	~uint16 | ~uint32 | ~uint64 | ~int16 | ~int32 | ~int64
}

// signedType reports whether a type's values are signed.
func signedType(t string) bool { return t[0] == 's' }

// narrow zero-extends what is left of v in a type.
func extend(t string) func(uint64) uint64 {
	switch t {
	case "s8":
		return func(v uint64) uint64 { return uint64(int64(int8(v))) }
	case "s16":
		return func(v uint64) uint64 { return uint64(int64(int16(v))) }
	case "s32":
		return func(v uint64) uint64 { return uint64(int64(int32(v))) }
	}
	m := width(t)
	return func(v uint64) uint64 { return v & m }
}

// lanewise makes an alu of a function of 64-bit values: those of a signed type come sign-extended, others zero-extended, and
// the result is cut to the mask.
func lanewise(t string, mask uint64, f func(a, b, c uint64) uint64) alu {
	switch t {
	case "s16":
		return func(d, a, b, c *lanes) {
			for i := range d {
				d[i] = f(uint64(int64(int16(a[i]))), uint64(int64(int16(b[i]))), uint64(int64(int16(c[i])))) & mask
			}
		}
	case "s32":
		return func(d, a, b, c *lanes) {
			for i := range d {
				d[i] = f(uint64(int64(int32(a[i]))), uint64(int64(int32(b[i]))), uint64(int64(int32(c[i])))) & mask
			}
		}
	case "s64", "u64", "b64":
		return func(d, a, b, c *lanes) {
			for i := range d {
				d[i] = f(a[i], b[i], c[i]) & mask
			}
		}
	}
	m := width(t)
	return func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = f(a[i]&m, b[i]&m, c[i]&m) & mask
		}
	}
}

// alu emits d = f(sources).
func (c *compiler) alu(cl class, f alu, d int32, src ...int32) {
	in := none(kindALU, cl)
	in.alu, in.d = f, d
	for i, r := range []*int32{&in.a, &in.b, &in.c} {
		if i < len(src) {
			*r = src[i]
		}
	}
	c.emit(in)
}

// ints compiles an instruction of n integer sources, all of one type, with a result of that type.
func (c *compiler) ints(n int, t string, f func(a, b, c uint64) uint64) {
	c.intsTo(n, t, t, f)
}

func (c *compiler) intsTo(n int, t, to string, f func(a, b, c uint64) uint64) {
	args := c.args(n + 1)
	var src []int32
	for _, a := range args[1:] {
		src = append(src, c.src(a, t))
	}
	fast := fastInts[c.q.base+"."+t]
	if fast == nil || to != t {
		fast = lanewise(t, width(to), f)
	}
	c.alu(classInt, fast, c.dst(args[0], to), src...)
}

// intType takes the instruction's type, one of those named.
func (c *compiler) intType(types string) string {
	t := c.q.typ()
	if t == "" || !strings.Contains(" "+types+" ", " "+t+" ") {
		fail("a type of %s expected, got .%s", types, t)
	}
	return t
}

const allInts = "u16 s16 u32 s32 u64 s64"

// isFloat reports whether an opcode's type is a floating-point one.
func (q *quals) isFloat() bool {
	t := ""
	for _, p := range q.parts {
		if ptxparse.TypeSize(p) > 0 {
			t = p
			break
		}
	}
	return strings.HasPrefix(t, "f") || strings.HasPrefix(t, "bf")
}

// either sends floating-point forms of an instruction to one handler and integer forms to another.
func either(float, integer func(c *compiler)) func(c *compiler) {
	return func(c *compiler) {
		if c.q.isFloat() {
			float(c)
		} else {
			integer(c)
		}
	}
}

func less(signed bool, a, b uint64) bool {
	if signed {
		return int64(a) < int64(b)
	}
	return a < b
}

func addInt() {
	handlers["add"] = either(floatAdd, intAdd)
	handlers["sub"] = either(floatSub, intSub)
	handlers["mul"] = either(floatMul, intMul)
	handlers["mad"] = either(floatFMA, intMad)
	handlers["div"] = either(floatDiv, func(c *compiler) {
		t := c.intType(allInts)
		signed := signedType(t)
		c.ints(2, t, func(a, b, _ uint64) uint64 {
			switch {
			case b == 0:
				return ^uint64(0)
			case signed && int64(b) == -1:
				return -a
			case signed:
				return uint64(int64(a) / int64(b))
			}
			return a / b
		})
	})
	handlers["rem"] = func(c *compiler) {
		t := c.intType(allInts)
		signed := signedType(t)
		c.ints(2, t, func(a, b, _ uint64) uint64 {
			switch {
			case b == 0:
				return a
			case signed && int64(b) == -1:
				return 0
			case signed:
				return uint64(int64(a) % int64(b))
			}
			return a % b
		})
	}
	handlers["neg"] = either(floatNeg, func(c *compiler) {
		c.ints(1, c.intType("s16 s32 s64"), func(a, _, _ uint64) uint64 { return -a })
	})
	handlers["abs"] = either(floatAbs, func(c *compiler) {
		c.ints(1, c.intType("s16 s32 s64"), func(a, _, _ uint64) uint64 {
			if int64(a) < 0 {
				return -a
			}
			return a
		})
	})
	handlers["min"] = either(floatMin, func(c *compiler) { intMinMax(c, false) })
	handlers["max"] = either(floatMax, func(c *compiler) { intMinMax(c, true) })
	handlers["sad"] = func(c *compiler) {
		t := c.intType(allInts)
		signed := signedType(t)
		c.ints(3, t, func(a, b, x uint64) uint64 {
			if less(signed, a, b) {
				a, b = b, a
			}
			return a - b + x
		})
	}
	handlers["mul24"] = func(c *compiler) { intMul24(c, 2) }
	handlers["mad24"] = func(c *compiler) { intMul24(c, 3) }
	handlers["addc"], handlers["subc"], handlers["madc"] = compileCarry, compileCarry, compileCarry
}

func intAdd(c *compiler) {
	if hasCC(c.q) {
		compileCarry(c)
		return
	}
	sat := c.q.has("sat")
	t := c.q.typ()
	if halves, ok := halfInts[t]; ok {
		c.ints(2, halves, func(a, b, _ uint64) uint64 { return a&^0xffff + b&^0xffff | uint64(uint16(a)+uint16(b)) })
		return
	}
	c.mustInt(t)
	if sat {
		c.mustBe(t, "s32")
		c.satInts(func(a, b uint64) uint64 { return a + b })
		return
	}
	c.ints(2, t, func(a, b, _ uint64) uint64 { return a + b })
}

// halfInts are the packed types of add, min and max, and the whole that holds them.
var halfInts = map[string]string{"u16x2": "b32", "s16x2": "b32"}

func (c *compiler) mustInt(t string) { c.mustBe(t, strings.Fields(allInts)...) }

func (c *compiler) mustBe(t string, types ...string) {
	for _, ok := range types {
		if t == ok {
			return
		}
	}
	fail("a type of %v expected, got .%s", types, t)
}

// satInts compiles s32 arithmetic that stops at the ends of the range.
func (c *compiler) satInts(f func(a, b uint64) uint64) {
	args := c.args(3)
	c.alu(classInt, lanewise("s32", width("s32"), func(a, b, _ uint64) uint64 {
		return uint64(min(max(int64(f(a, b)), -1<<31), 1<<31-1))
	}), c.dst(args[0], "s32"), c.src(args[1], "s32"), c.src(args[2], "s32"))
}

func intSub(c *compiler) {
	if hasCC(c.q) {
		compileCarry(c)
		return
	}
	sat := c.q.has("sat")
	t := c.q.typ()
	c.mustInt(t)
	if sat {
		c.mustBe(t, "s32")
		c.satInts(func(a, b uint64) uint64 { return a - b })
		return
	}
	c.ints(2, t, func(a, b, _ uint64) uint64 { return a - b })
}

var wideOf = map[string]string{"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

// high is the upper half of a product.
func high(t string) func(a, b uint64) uint64 {
	n := 8 * ptxparse.TypeSize(t)
	switch {
	case n < 64 && signedType(t):
		return func(a, b uint64) uint64 { return uint64(int64(a*b) >> n) }
	case n < 64:
		return func(a, b uint64) uint64 { return a * b >> n }
	case signedType(t):
		return func(a, b uint64) uint64 {
			hi, _ := bits.Mul64(a, b)
			return hi - a&uint64(int64(b)>>63) - b&uint64(int64(a)>>63)
		}
	}
	return func(a, b uint64) uint64 {
		hi, _ := bits.Mul64(a, b)
		return hi
	}
}

func intMul(c *compiler) {
	part := c.q.one("lo", "hi", "wide")
	t := c.intType(allInts)
	switch part {
	case "lo":
		c.ints(2, t, func(a, b, _ uint64) uint64 { return a * b })
	case "hi":
		f := high(t)
		c.q.base = "mul.hi"
		c.ints(2, t, func(a, b, _ uint64) uint64 { return f(a, b) })
	case "wide":
		to, ok := wideOf[t]
		if !ok {
			fail("mul.wide of .%s", t)
		}
		args := c.args(3)
		f := fastInts["mul.wide."+t]
		if f == nil {
			f = lanewise(t, width(to), func(a, b, _ uint64) uint64 { return a * b })
		}
		c.alu(classInt, f, c.dst(args[0], to), c.src(args[1], t), c.src(args[2], t))
	default:
		fail("lo, hi or wide expected")
	}
}

func intMad(c *compiler) {
	if hasCC(c.q) {
		compileCarry(c)
		return
	}
	part := c.q.one("lo", "hi", "wide")
	sat := c.q.has("sat")
	t := c.intType(allInts)
	switch {
	case part == "lo" && !sat:
		c.ints(3, t, func(a, b, x uint64) uint64 { return a*b + x })
	case part == "hi":
		f := high(t)
		c.q.base = "mad.hi"
		if sat {
			c.mustBe(t, "s32")
			c.ints(3, t, func(a, b, x uint64) uint64 {
				return uint64(min(max(int64(f(a, b)+x), -1<<31), 1<<31-1))
			})
			return
		}
		c.ints(3, t, func(a, b, x uint64) uint64 { return f(a, b) + x })
	case part == "wide" && wideOf[t] != "" && !sat:
		args, to := c.args(4), wideOf[t]
		ext := extend(t)
		m := width(to)
		c.alu(classInt, func(d, a, b, x *lanes) {
			for i := range d {
				d[i] = (ext(a[i])*ext(b[i]) + x[i]) & m
			}
		}, c.dst(args[0], to), c.src(args[1], t), c.src(args[2], t), c.src(args[3], to))
	default:
		fail("lo, hi or wide expected")
	}
}

// intMul24 multiplies 24-bit values: lo is the low 32 of the 48 bits, hi the high 32.
func intMul24(c *compiler, n int) {
	part := c.q.one("lo", "hi")
	sat := n == 3 && part == "hi" && c.q.has("sat")
	t := c.intType("u32 s32")
	if part == "" {
		fail("lo or hi expected")
	}
	cut := func(v uint64) uint64 { return v & 0xffffff }
	if signedType(t) {
		cut = func(v uint64) uint64 { return uint64(int64(v<<40) >> 40) }
	}
	c.ints(n, t, func(a, b, x uint64) uint64 {
		p := cut(a) * cut(b)
		if part == "hi" {
			p = uint64(int64(p) >> 16)
		}
		if sat && signedType(t) {
			return uint64(min(max(int64(int32(p))+int64(x), -1<<31), 1<<31-1))
		}
		return p + x
	})
}

func intMinMax(c *compiler, most bool) {
	relu := c.q.has("relu")
	t := c.q.typ()
	c.mustInt(t)
	signed := signedType(t)
	if relu {
		c.mustBe(t, "s32")
		c.q.base += ".relu"
	}
	c.ints(2, t, func(a, b, _ uint64) uint64 {
		if less(signed, a, b) == most {
			a = b
		}
		if relu && int64(a) < 0 {
			return 0
		}
		return a
	})
}
