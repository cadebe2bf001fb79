package program

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

// signedType reports whether a type's values are signed.
func signedType(t string) bool { return t[0] == 's' }

// extend returns the function that keeps the low bits of a value, and sign-extends them if the type is signed.
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

// lanewise makes an alu from a function of 64-bit values. Values of a signed type are sign-extended, others zero-extended, and
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
func (c *compiler) alu(cl exec.Class, f alu, d int32, src ...int32) {
	in := none(exec.KindALU, cl)
	in.ALU, in.D = f, d
	for i, r := range []*int32{&in.A, &in.B, &in.C} {
		if i < len(src) {
			*r = src[i]
		}
	}
	c.emit(in)
}

// apply emits an instruction that computes f. to is the type of the result, and from has the types of the operands.
func (c *compiler) apply(cl exec.Class, f alu, to string, from ...string) {
	args := c.args(1 + len(from))
	d, src := c.dst(args[0], to), make([]int32, len(from))
	for i, t := range from {
		src[i] = c.src(args[1+i], t)
	}
	c.alu(cl, f, d, src...)
}

// each makes an alu from a function of one lane's values.
func each(f func(a, b, c uint64) uint64) alu {
	return func(d, a, b, c *lanes) {
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}

// ints compiles an instruction with n integer sources. They and the result have one type.
func (c *compiler) ints(n int, t string, f func(a, b, c uint64) uint64) {
	c.intsTo(n, t, t, f)
}

func (c *compiler) intsTo(n int, t, to string, f func(a, b, c uint64) uint64) {
	fast := fastInts[c.q.base+"."+t]
	if fast == nil || to != t {
		fast = lanewise(t, width(to), f)
	}
	c.apply(exec.ClassInt, fast, to, slices.Repeat([]string{t}, n)...)
}

// intType consumes the instruction's type and returns it. It must be one of names.
func (c *compiler) intType(types string) string {
	t := c.q.typ()
	if t == "" || !strings.Contains(" "+types+" ", " "+t+" ") {
		fail("a type of %s expected, got .%s", types, t)
	}
	return t
}

const allInts = "u16 s16 u32 s32 u64 s64"

// either returns a handler that selects one of two handlers by the instruction's type: floating-point or integer.
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

func (c *compiler) mustInt(t string) { c.mustBe(t, strings.Fields(allInts)...) }

func (c *compiler) mustBe(t string, types ...string) {
	if !slices.Contains(types, t) {
		fail("a type of %v expected, got .%s", types, t)
	}
}
