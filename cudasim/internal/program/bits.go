package program

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/report"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addBits() {
	for name, f := range map[string]struct {
		fast alu
		pred func(a, b uint32) uint32
	}{
		"and": {andT, func(a, b uint32) uint32 { return a & b }},
		"or":  {orT, func(a, b uint32) uint32 { return a | b }},
		"xor": {xorT, func(a, b uint32) uint32 { return a ^ b }},
	} {
		handlers[name] = func(c *compiler) {
			t := c.q.typ()
			if t == "pred" {
				args := c.args(3)
				in := none(exec.KindPred, exec.ClassPredicate)
				in.PD = c.predDst(args[0])
				in.PA, in.AX = c.pred(args[1])
				in.PB, in.BX = c.pred(args[2])
				in.Logic = f.pred
				c.emit(in)
				return
			}
			c.mustBe(t, "b16", "b32", "b64")
			c.apply(exec.ClassInt, f.fast, t, t, t)
		}
	}
	handlers["not"] = func(c *compiler) {
		t := c.q.typ()
		if t == "pred" {
			args := c.args(2)
			in := none(exec.KindPred, exec.ClassPredicate)
			in.PD = c.predDst(args[0])
			in.PA, in.AX = c.pred(args[1])
			in.AX = ^in.AX
			in.Logic = func(a, _ uint32) uint32 { return a }
			c.emit(in)
			return
		}
		c.mustBe(t, "b16", "b32", "b64")
		c.ints(1, t, func(a, _, _ uint64) uint64 { return ^a })
	}
	handlers["cnot"] = func(c *compiler) {
		c.ints(1, c.intType("b16 b32 b64"), func(a, _, _ uint64) uint64 {
			if a == 0 {
				return 1
			}
			return 0
		})
	}
	handlers["shl"] = func(c *compiler) {
		c.shift(c.intType("b16 b32 b64"), func(a, n uint64) uint64 { return a << n })
	}
	handlers["shr"] = func(c *compiler) {
		t := c.intType("b16 b32 b64 " + allInts)
		if signedType(t) {
			c.shift(t, func(a, n uint64) uint64 { return uint64(int64(a) >> n) })
			return
		}
		c.shift(t, func(a, n uint64) uint64 { return a >> n })
	}
	handlers["shf"] = compileFunnel
	handlers["popc"] = func(c *compiler) {
		c.intsTo(1, c.intType("b32 b64"), "u32", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	}
	handlers["clz"] = func(c *compiler) {
		t := c.intType("b32 b64")
		n := 64 - 8*ptxparse.TypeSize(t)
		c.intsTo(1, t, "u32", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a) - n) })
	}
	handlers["brev"] = func(c *compiler) {
		t := c.intType("b32 b64")
		n := 64 - 8*ptxparse.TypeSize(t)
		c.ints(1, t, func(a, _, _ uint64) uint64 { return bits.Reverse64(a) >> n })
	}
	handlers["bfind"] = func(c *compiler) {
		amount := c.q.has("shiftamt")
		t := c.intType("u32 s32 u64 s64")
		top := uint64(8*ptxparse.TypeSize(t) - 1)
		m := width(t)
		c.intsTo(1, t, "u32", func(a, _, _ uint64) uint64 {
			if signedType(t) && int64(a) < 0 {
				a = ^a
			}
			a &= m
			if a == 0 {
				return 0xffffffff
			}
			at := uint64(63 - bits.LeadingZeros64(a))
			if amount {
				return top - at
			}
			return at
		})
	}
	handlers["bfe"] = func(c *compiler) {
		t := c.intType("u32 s32 u64 s64")
		args := c.args(4)
		n, m, signed := uint64(8*ptxparse.TypeSize(t)), width(t), signedType(t)
		in := newStep(exec.ClassInt)
		in.D, in.A, in.B, in.C = c.dst(args[0], t), c.src(args[1], t), c.src(args[2], "u32"), c.src(args[3], "u32")
		in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
			d, a, p, l := &w.Regs[in.D], &w.Regs[in.A], &w.Regs[in.B], &w.Regs[in.C]
			for ; active != 0; active &= active - 1 {
				i := bits.TrailingZeros32(active) & 31
				if p[i]|l[i] > mostField {
					return noField(w, in, i, p[i], l[i])
				}
				d[i] = extract(a[i], p[i], l[i], n, signed) & m
			}
			return exec.StatusNext
		}
		c.emit(in)
	}
	handlers["bfi"] = compileBFI
	handlers["lop3"] = compileLop3
	handlers["prmt"] = compilePrmt
	handlers["bmsk"] = func(c *compiler) {
		mode := c.q.one("clamp", "wrap")
		if mode == "" {
			fail("clamp or wrap expected")
		}
		c.ints(2, c.intType("b32"), func(a, b, _ uint64) uint64 {
			if mode == "wrap" {
				a, b = a&31, b&31
			}
			if a >= 32 {
				return 0
			}
			return (1<<min(b, 32) - 1) << a
		})
	}
	handlers["szext"] = func(c *compiler) {
		mode := c.q.one("clamp", "wrap")
		t := c.intType("u32 s32")
		signed := signedType(t)
		c.apply(exec.ClassInt, lanewise("u32", width(t), func(a, n, _ uint64) uint64 {
			if mode == "wrap" {
				n &= 31
			}
			switch {
			case n >= 32:
				return a
			case n == 0:
				return 0
			case signed:
				return uint64(int64(a<<(64-n)) >> (64 - n))
			}
			return a & (1<<n - 1)
		}), t, t, "u32")
	}
	handlers["dp4a"] = func(c *compiler) { compileDot(c, 4) }
	handlers["dp2a"] = func(c *compiler) { compileDot(c, 2) }
	handlers["fns"] = func(c *compiler) {
		c.intType("b32")
		c.apply(exec.ClassInt, lanewise("u32", width("u32"), findNth), "b32", "b32", "b32", "s32")
	}
}

// shift compiles a shift by a 32-bit count, which past the width shifts everything out.
func (c *compiler) shift(t string, f func(a, n uint64) uint64) {
	g := fastInts[c.q.base+"."+t]
	if g == nil {
		ext, m := extend(t), width(t)
		g = func(d, a, b, _ *lanes) {
			for i := range d {
				d[i] = f(ext(a[i]), min(b[i], 64)) & m
			}
		}
	}
	c.apply(exec.ClassInt, g, t, t, "u32")
}

// mostField is the last place and the greatest length of a bit field for which PTX defines bfe and bfi. Beyond it an H200 uses
// the low eight bits of both in the 32-bit forms, and all their bits in the 64-bit ones. Here it is a fault.
const mostField = 255

func noField(w *warp, in *inst, lane int, pos, length uint64) exec.Status {
	return w.Fail(report.Undefined, in, 1<<lane,
		fmt.Sprintf("a field of %d bits from bit %d: PTX defines 0 to %d of both", length, pos, mostField))
}

// extract returns the bit field of bfe, for a type with n bits: length bits of a from bit pos on, sign-extended if signed is set.
func extract(a, pos, length, n uint64, signed bool) uint64 {
	top := min(pos+length-1, n-1)
	fill := uint64(0)
	if signed && length > 0 && a>>top&1 != 0 {
		fill = ^uint64(0)
	}
	if length == 0 {
		return 0
	}
	if pos >= n {
		return fill
	}
	have := min(length, n-pos)
	if have >= 64 {
		return a
	}
	return a>>pos&(1<<have-1) | fill<<have
}

func compileBFI(c *compiler) {
	t := c.intType("b32 b64")
	args := c.args(5)
	in := newStep(exec.ClassInt)
	in.D, in.A, in.B, in.C = c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t), c.src(args[3], "u32")
	in.X = &extra{AA: []int32{c.src(args[4], "u32")}, Mask: width(t)}
	n := uint64(8 * ptxparse.TypeSize(t))
	in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
		a, b, p, l, d := &w.Regs[in.A], &w.Regs[in.B], &w.Regs[in.C], &w.Regs[in.X.AA[0]], &w.Regs[in.D]
		for ; active != 0; active &= active - 1 {
			i := bits.TrailingZeros32(active) & 31
			pos, length := p[i], l[i]
			if pos|length > mostField {
				return noField(w, in, i, pos, length)
			}
			m := uint64(0)
			if pos < n && length > 0 {
				m = (1<<min(length, n-pos) - 1) << pos
			}
			d[i] = (b[i]&^m | a[i]<<pos&m) & in.X.Mask
		}
		return exec.StatusNext
	}
	c.emit(in)
}

// compileFunnel shifts two registers as one of 64 bits, b above a.
func compileFunnel(c *compiler) {
	left := c.q.one("l", "r")
	mode := c.q.one("clamp", "wrap")
	if left == "" || mode == "" {
		fail("l or r, and clamp or wrap, expected")
	}
	t := c.intType("b32")
	c.apply(exec.ClassInt, func(d, a, b, n *lanes) {
		for i := range d {
			s := n[i] & 31
			if mode == "clamp" {
				s = min(n[i], 32)
			}
			v := b[i]<<32 | a[i]
			if left == "l" {
				d[i] = v << s >> 32
			} else {
				d[i] = uint64(uint32(v >> s))
			}
		}
	}, t, t, t, "u32")
}

func compileLop3(c *compiler) {
	t := c.intType("b32")
	args := c.args(5)
	if args[4].Kind != ptxparse.KindInt || args[4].Value > 255 {
		fail("a table of 8 bits expected")
	}
	table := args[4].Value
	c.alu(exec.ClassInt, func(d, a, b, x *lanes) {
		for i := range d {
			r := uint64(0)
			for k := range uint64(8) {
				if table>>k&1 != 0 {
					r |= (a[i] ^ (k>>2&1 - 1)) & (b[i] ^ (k>>1&1 - 1)) & (x[i] ^ (k&1 - 1))
				}
			}
			d[i] = uint64(uint32(r))
		}
	}, c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t), c.src(args[3], t))
}

func compilePrmt(c *compiler) {
	t := c.intType("b32")
	mode := c.q.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	c.apply(exec.ClassInt, each(func(a, b, s uint64) uint64 { return permute(mode, b<<32|a, s) }), t, t, t, t)
}

// permute returns four of the eight bytes of v, selected by sel in one of the modes of prmt.
func permute(mode string, v, sel uint64) uint64 {
	k := sel & 3
	pick := func(list ...uint64) uint64 {
		r := uint64(0)
		for i, n := range list {
			r |= v >> (8 * (n & 7)) & 0xff << (8 * i)
		}
		return r
	}
	switch mode {
	case "f4e":
		return pick(k, k+1, k+2, k+3)
	case "b4e":
		return pick(k, k-1, k-2, k-3)
	case "rc8":
		return pick(k, k, k, k)
	case "ecl":
		return pick(k, max(1, k), max(2, k), 3)
	case "ecr":
		return pick(0, min(1, k), min(2, k), k)
	case "rc16":
		k = sel & 1 * 2
		return pick(k, k+1, k, k+1)
	}
	r := uint64(0)
	for i := range 4 {
		n := sel >> (4 * i) & 15
		b := v >> (8 * (n & 7)) & 0xff
		if n&8 != 0 {
			b = uint64(uint8(int8(b) >> 7))
		}
		r |= b << (8 * i)
	}
	return r
}

// compileDot compiles dp4a and dp2a: products of bytes, or of 16-bit values and two bytes, added to c.
func compileDot(c *compiler, n int) {
	half := uint64(0)
	if n == 2 {
		switch c.q.one("lo", "hi") {
		case "lo":
		case "hi":
			half = 16
		default:
			fail("lo or hi expected")
		}
	}
	ta := c.intType("u32 s32")
	tb := c.intType("u32 s32")
	to := "u32"
	if signedType(ta) || signedType(tb) {
		to = "s32"
	}
	part := func(v uint64, at, bits uint64, signed bool) int64 {
		v = v >> at << (64 - bits)
		if signed {
			return int64(v) >> (64 - bits)
		}
		return int64(v >> (64 - bits))
	}
	c.apply(exec.ClassInt, func(d, a, b, x *lanes) {
		for i := range d {
			sum := int64(x[i])
			for k := range uint64(n) {
				wa := 32 / uint64(n)
				sum += part(a[i], k*wa, wa, signedType(ta)) * part(b[i], half+8*k, 8, signedType(tb))
			}
			d[i] = uint64(uint32(sum))
		}
	}, to, ta, tb, to)
}

// findNth computes fns: it returns the index of the n-th set bit from base upwards, or downwards if n is negative. For n = 0 it is
// base, if that bit is set. It returns all ones if there is no such bit.
func findNth(mask, base, n uint64) uint64 {
	if base >= 32 {
		return 0xffffffff
	}
	off := int64(int32(n))
	step, at := int64(1), int64(base)
	switch {
	case off == 0:
		if mask>>base&1 != 0 {
			return base
		}
		return 0xffffffff
	case off < 0:
		step, off = -1, -off
	}
	for ; at >= 0 && at < 32; at += step {
		if mask>>at&1 != 0 {
			if off--; off == 0 {
				return uint64(at)
			}
		}
	}
	return 0xffffffff
}
