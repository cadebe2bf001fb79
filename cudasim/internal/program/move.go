package program

import (
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addMove() {
	handlers["mov"] = compileMov
	handlers["selp"] = func(c *compiler) {
		t, args := c.q.typ(), c.args(4)
		in := none(exec.KindSel, exec.ClassInt)
		in.D, in.A, in.B = c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t)
		in.PA, in.AX = c.pred(args[3])
		c.emit(in)
	}
	handlers["slct"] = func(c *compiler) {
		ftz := c.q.has("ftz")
		t := c.q.typ()
		by := c.q.typ()
		c.mustBe(by, "s32", "f32")
		c.apply(exec.ClassInt, func(d, a, b, x *lanes) {
			for i := range d {
				v := x[i]
				if ftz {
					v = flush32(v)
				}
				yes := int32(v) >= 0
				if by == "f32" {
					yes = f32(v) >= 0
				}
				if yes {
					d[i] = a[i]
				} else {
					d[i] = b[i]
				}
			}
		}, t, t, t, by)
	}
	handlers["setp"] = compileSetp
	handlers["set"] = compileSet
	handlers["cvta"] = compileCvta
	handlers["isspacep"] = compileIsspacep
}

func compileMov(c *compiler) {
	t, args := c.q.typ(), c.args(2)
	if t == "pred" {
		in := none(exec.KindPred, exec.ClassPredicate)
		in.PD = c.predDst(args[0])
		in.PA, in.AX = c.pred(args[1])
		in.Logic = func(a, _ uint32) uint32 { return a }
		c.emit(in)
		return
	}
	d, s := args[0], args[1]
	switch {
	case t == "b128" || t == "":
		fail("a type of 16 to 64 bits expected")
	case d.Kind == ptxparse.KindVector:
		c.unpack(t, d.Elems, s)
		return
	case s.Kind == ptxparse.KindVector:
		c.pack(t, d, s.Elems)
		return
	case s.Kind == ptxparse.KindSpecial:
		r := c.dstWide(d, "u16")
		if ptxparse.TypeSize(c.kinds[r]) != ptxparse.TypeSize(t) {
			fail("a register of type %s", c.kinds[r])
		}
		c.special(r, s.Name)
		return
	}
	c.apply(exec.ClassMove, movT, t, t)
}

// parts returns the bits and the type of each of n equal parts of a type.
func parts(t string, n int) (bits int, part string) {
	bits = 8 * ptxparse.TypeSize(t) / n
	part = map[int]string{8: "b8", 16: "b16", 32: "b32"}[bits]
	if part == "" || bits*n != 8*ptxparse.TypeSize(t) {
		fail("%d parts of a .%s", n, t)
	}
	return bits, part
}

// unpack compiles mov from one register to several.
func (c *compiler) unpack(t string, to []ptxparse.Operand, s ptxparse.Operand) {
	n, part := parts(t, len(to))
	in := newStep(exec.ClassMove)
	in.Apart = true
	in.A, in.X = c.src(s, t), &extra{Mask: width(part)}
	for _, o := range to {
		in.X.DD = append(in.X.DD, c.dst(o, part))
	}
	in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
		a := &w.Regs[in.A]
		for k, r := range in.X.DD {
			d, s := &w.Regs[r], n*k
			if active == w.Alive {
				for i := range d {
					d[i] = a[i] >> s & in.X.Mask
				}
				continue
			}
			for e := active; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e)
				d[i] = a[i] >> s & in.X.Mask
			}
		}
		return exec.StatusNext
	}
	c.emit(in)
}

// pack compiles mov from several registers to one.
func (c *compiler) pack(t string, d ptxparse.Operand, from []ptxparse.Operand) {
	n, part := parts(t, len(from))
	in := newStep(exec.ClassMove)
	in.Apart = true
	in.D, in.X = c.dst(d, t), &extra{Mask: width(part)}
	for _, o := range from {
		in.X.AA = append(in.X.AA, c.srcWide(o, part))
	}
	in.Fn = func(w *warp, in *inst, active uint32) exec.Status {
		d := &w.Regs[in.D]
		for e := active; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e)
			v := uint64(0)
			for k, r := range in.X.AA {
				v |= w.Regs[r][i] & in.X.Mask << (n * k)
			}
			d[i] = v
		}
		return exec.StatusNext
	}
	c.emit(in)
}

// compileCvta converts an address in a space to a generic one, or back.
func compileCvta(c *compiler) {
	to := c.q.has("to")
	base := exec.Windows[c.stateSpace("global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry")]
	t := c.q.typ()
	c.mustBe(t, "u64", "u32")
	if to {
		base = -base
	}
	args := c.args(2)
	d, a := c.dst(args[0], t), c.src(args[1], t)
	if base == 0 {
		c.alu(exec.ClassMove, movT, d, a)
		return
	}
	if t == "u32" {
		fail("generic addresses have 64 bits here")
	}
	c.alu(exec.ClassInt, addT[uint64], d, a, c.constant(base))
}
