package program

import (
	"math"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

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
	c.sum(t, sat, func(a, b, _ uint64) uint64 { return a + b })
}

// halfInts are the packed types of add, min and max, with the type of their register.
var halfInts = map[string]string{"u16x2": "b32", "s16x2": "b32"}

// sum compiles a sum or a difference. With sat, the type is s32 and the result is clamped to its range.
func (c *compiler) sum(t string, sat bool, f func(a, b, _ uint64) uint64) {
	c.mustInt(t)
	if !sat {
		c.ints(2, t, f)
		return
	}
	c.mustBe(t, "s32")
	c.apply(exec.ClassInt, lanewise("s32", width("s32"), func(a, b, _ uint64) uint64 { return clampS32(f(a, b, 0)) }), "s32", "s32", "s32")
}

// clampS32 returns the value of an s32 register that is nearest to the signed value v.
func clampS32(v uint64) uint64 { return uint64(min(max(int64(v), math.MinInt32), math.MaxInt32)) }

func intSub(c *compiler) {
	if hasCC(c.q) {
		compileCarry(c)
		return
	}
	sat := c.q.has("sat")
	t := c.q.typ()
	c.sum(t, sat, func(a, b, _ uint64) uint64 { return a - b })
}

var wideOf = map[string]string{"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

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
		f := fastInts["mul.wide."+t]
		if f == nil {
			f = lanewise(t, width(to), func(a, b, _ uint64) uint64 { return a * b })
		}
		c.apply(exec.ClassInt, f, to, t, t)
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
				return clampS32(f(a, b) + x)
			})
			return
		}
		c.ints(3, t, func(a, b, x uint64) uint64 { return f(a, b) + x })
	case part == "wide" && wideOf[t] != "" && !sat:
		to := wideOf[t]
		ext := extend(t)
		m := width(to)
		c.apply(exec.ClassInt, func(d, a, b, x *lanes) {
			for i := range d {
				d[i] = (ext(a[i])*ext(b[i]) + x[i]) & m
			}
		}, to, t, t, to)
	default:
		fail("lo, hi or wide expected")
	}
}

// intMul24 compiles mul24 and mad24: lo is the low 32 of the 48 bits of the product, hi the high 32.
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
			return clampS32(uint64(int32(p)) + x)
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
