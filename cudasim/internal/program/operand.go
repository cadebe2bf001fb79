package program

import (
	"math"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// collective emits an instruction that waits for the lanes of a member mask. The mask's register becomes in.C.
func (c *compiler) collective(in inst, mask ptxparse.Operand, f func(w *warp, in *inst, active uint32)) {
	in.C, in.Fn = c.src(mask, "b32"), exec.Collective(f)
	c.emit(in)
}

// dst gives the register that an operand names as a place to write; typ is what is written.
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

// dstWide is dst for the instructions that may write a type to a wider register.
func (c *compiler) dstWide(o ptxparse.Operand, typ string) int32 {
	if o.Kind == ptxparse.KindReg && !isPred(c.kinds[o.Reg]) && ptxparse.TypeSize(c.kinds[o.Reg]) > ptxparse.TypeSize(typ) {
		typ = c.kinds[o.Reg]
	}
	return c.dst(o, typ)
}

// src gives a register that holds an operand's value as typ.
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

// srcWide is src for the instructions that may read a type from a wider register.
func (c *compiler) srcWide(o ptxparse.Operand, typ string) int32 {
	if o.Kind == ptxparse.KindReg && !isPred(c.kinds[o.Reg]) && ptxparse.TypeSize(c.kinds[o.Reg]) > ptxparse.TypeSize(typ) {
		typ = c.kinds[o.Reg]
	}
	return c.src(o, typ)
}

// address finds a variable.
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

// pred gives a predicate's register and the mask that negates it if the operand does.
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

// predDst gives the predicate that an operand names as a place to write.
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

// regType is the type of the register that holds a value: f16 lies in b16.
func regType(t string) string {
	switch t {
	case "f16", "bf16":
		return "b16"
	case "f16x2", "bf16x2":
		return "b32"
	}
	return t
}

// pair gives both operands of first|second, or the one operand and a sink.
func pair(o ptxparse.Operand) (first, second ptxparse.Operand) {
	if o.Kind == ptxparse.KindPair {
		return o.Elems[0], o.Elems[1]
	}
	return o, ptxparse.Operand{Kind: ptxparse.KindSink}
}

// elements gives the operands of a vector, or the one operand.
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
