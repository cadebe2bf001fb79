package program

import (
	"math/bits"
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// hasCC reports whether the instruction has the qualifier cc (write the carry), and consumes it.
func hasCC(q *quals) bool {
	for _, p := range q.parts {
		if p == "cc" {
			return true
		}
	}
	return false
}

// compileCarry compiles add, sub and mad with carry in or out. The carry is a predicate of the thread.
func compileCarry(c *compiler) {
	base := c.q.base
	out := c.q.has("cc")
	part := ""
	if strings.HasPrefix(base, "mad") {
		if part = c.q.one("lo", "hi"); part == "" {
			fail("lo or hi expected")
		}
	}
	t := c.intType("u32 s32 u64 s64")
	n := 3
	if part != "" {
		n = 4
	}
	args := c.args(n)
	in := newStep(exec.ClassInt)
	in.D, in.A, in.B = c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t)
	if part != "" {
		in.C = c.src(args[3], t)
	}
	if strings.HasSuffix(base, "c") {
		in.PA = c.carryReg()
	}
	if out {
		in.PD = c.carryReg()
	}
	if in.PA >= 0 && in.PD < 0 {
		in.PD = -1
	}
	m, hi := width(t), high(t)
	ext := extend(t)
	sub := strings.HasPrefix(base, "sub")
	carryIn := in.PA >= 0
	in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
		var carry uint32
		if carryIn {
			carry = w.Preds[in.PA]
		}
		a, b, x, d := &w.Regs[in.A], &w.Regs[in.B], &w.Regs[in.C], &w.Regs[in.D]
		next := uint32(0)
		for e := active; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e)
			k := uint64(carry >> i & 1)
			u, v := a[i], b[i]
			switch part {
			case "lo":
				u, v = u*v&m, x[i]
			case "hi":
				u, v = hi(ext(u), ext(v))&m, x[i]
			}
			var r, over uint64
			if sub {
				r, over = bits.Sub64(u, v, k)
				r &= m
			} else {
				r, over = bits.Add64(u, v, k)
				if m != ^uint64(0) {
					over = r >> 32 & 1
				}
				r &= m
			}
			d[i] = r
			next |= uint32(over) << i
		}
		w.Preds[in.PD] = w.Preds[in.PD]&^active | next&active
		return exec.StatusNext
	}
	c.emit(in)
}

// carryReg returns the predicate register for the condition code, which it adds on its first call.
func (c *compiler) carryReg() int32 {
	if c.cc < 0 {
		c.cc = c.temp("pred")
	}
	return c.cc
}

// high returns a function for the upper half of a product; both factors have type t.
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
