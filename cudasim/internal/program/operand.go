package program

import (
	"math"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// collective emits an instruction that waits for the lanes in a member mask. in.C is the register of the mask.
func (c *compiler) collective(in inst, mask ptxparse.Operand, f func(w *warp, in *inst, active uint32)) {
	in.C, in.Fn = c.src(mask, "b32"), exec.Collective(f)
	c.emit(in)
}

// dst returns the register of a destination operand; typ is the type of the result.
func (c *compiler) dst(o ptxparse.Operand, typ string) int32 {
	switch {
	case o.Kind == ptxparse.KindSink:
		return -1
	case o.Kind != ptxparse.KindReg || o.Not:
		fail("a register expected to write to")
	case isPred(c.kinds[o.Reg]):
		fail("a result of type %s in a predicate", typ)
	case ptxparse.TypeSize(c.kinds[o.Reg]) != ptxparse.TypeSize(typ):
		fail("a result of type %s in a register of type %s", typ, c.kinds[o.Reg])
	}
	return int32(o.Reg)
}

// dstWide is dst for instructions that may write to a register wider than the type.
func (c *compiler) dstWide(o ptxparse.Operand, typ string) int32 {
	if o.Kind == ptxparse.KindReg && !isPred(c.kinds[o.Reg]) && ptxparse.TypeSize(c.kinds[o.Reg]) > ptxparse.TypeSize(typ) {
		typ = c.kinds[o.Reg]
	}
	return c.dst(o, typ)
}

// src returns a register that holds an operand's value as typ.
func (c *compiler) src(o ptxparse.Operand, typ string) int32 {
	switch o.Kind {
	case ptxparse.KindReg:
		if o.Not || isPred(c.kinds[o.Reg]) {
			fail("a predicate where a value is expected")
		}
		if ptxparse.TypeSize(c.kinds[o.Reg]) != ptxparse.TypeSize(typ) {
			fail("a register of type %s read as %s", c.kinds[o.Reg], typ)
		}
		return int32(o.Reg)
	case ptxparse.KindInt:
		switch typ {
		case "f32":
			return c.constant(uint64(math.Float32bits(float32(int64(o.Value)))))
		case "f64":
			return c.constant(math.Float64bits(float64(int64(o.Value))))
		}
		return c.constant(o.Value & width(typ))
	case ptxparse.KindF32:
		if typ == "f64" {
			return c.constant(math.Float64bits(float64(math.Float32frombits(uint32(o.Value)))))
		}
		return c.constant(o.Value)
	case ptxparse.KindF64:
		if typ == "f32" {
			return c.constant(uint64(math.Float32bits(float32(math.Float64frombits(o.Value)))))
		}
		return c.constant(o.Value)
	case ptxparse.KindVar:
		return c.constant((c.address(o).at + uint64(o.Off)) & width(typ))
	case ptxparse.KindSpecial:
		t := c.temp("b64")
		c.special(t, o.Name)
		return t
	}
	fail("an operand that has no value")
	return 0
}

// srcWide is src for instructions that may read from a register wider than the type.
func (c *compiler) srcWide(o ptxparse.Operand, typ string) int32 {
	if o.Kind == ptxparse.KindReg && !isPred(c.kinds[o.Reg]) && ptxparse.TypeSize(c.kinds[o.Reg]) > ptxparse.TypeSize(typ) {
		typ = c.kinds[o.Reg]
	}
	return c.src(o, typ)
}

// address returns the place of a variable.
func (c *compiler) address(o ptxparse.Operand) address {
	if a, ok := c.vars[o.Var]; ok {
		return a
	}
	g, ok := c.global[o.Var.Name]
	if !ok {
		fail("variable %s is nowhere", o.Var.Name)
	}
	return address{exec.SpaceGlobal, g.addr}
}

// pred returns a predicate's register, and a mask that is all ones if the operand negates it, otherwise 0.
func (c *compiler) pred(o ptxparse.Operand) (int32, uint32) {
	if o.Kind == ptxparse.KindInt {
		t := c.temp("pred")
		in := none(exec.KindPred, exec.ClassPredicate)
		in.PD, in.PA, in.PB = t, -1, -1
		v := uint32(0)
		if o.Value != 0 {
			v = ^uint32(0)
		}
		in.Logic = func(_, _ uint32) uint32 { return v }
		guard := c.guard
		c.guard = -1
		c.emit(in)
		c.guard = guard
		return t, 0
	}
	if o.Kind != ptxparse.KindReg || !isPred(c.kinds[o.Reg]) {
		fail("a predicate expected")
	}
	if o.Not {
		return int32(o.Reg), ^uint32(0)
	}
	return int32(o.Reg), 0
}

// predDst returns the register of a destination predicate.
func (c *compiler) predDst(o ptxparse.Operand) int32 {
	if o.Kind == ptxparse.KindSink {
		return -1
	}
	if o.Kind != ptxparse.KindReg || o.Not || !isPred(c.kinds[o.Reg]) {
		fail("a predicate expected to write to")
	}
	return int32(o.Reg)
}

// special compiles the read of a special register into r.
func (c *compiler) special(r int32, name string) {
	in := newStep(exec.ClassMove)
	ok := false
	if in.Fn, ok = exec.ReadSpecial(name); !ok {
		fail("special register %s is not known", name)
	}
	in.D = r
	c.emit(in)
}

// regType returns the type of a register for a value: for example, b16 for f16.
func regType(t string) string {
	switch t {
	case "f16", "bf16":
		return "b16"
	case "f16x2", "bf16x2":
		return "b32"
	}
	return t
}

// pair returns both operands of first|second. For a single operand, the second is a sink.
func pair(o ptxparse.Operand) (first, second ptxparse.Operand) {
	if o.Kind == ptxparse.KindPair {
		return o.Elems[0], o.Elems[1]
	}
	return o, ptxparse.Operand{Kind: ptxparse.KindSink}
}

// elements returns the operands of a vector, or the single operand.
func elements(o ptxparse.Operand, n int) []ptxparse.Operand {
	if o.Kind != ptxparse.KindVector {
		if n != 1 {
			fail("%d registers in braces expected", n)
		}
		return []ptxparse.Operand{o}
	}
	if len(o.Elems) != n {
		fail("%d registers in braces expected", n)
	}
	return o.Elems
}
