package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// spaceByName are the state spaces by qualifier. An address without a qualifier is generic.
var spaceByName = map[string]exec.SpaceKind{
	"global": exec.SpaceGlobal, "const": exec.SpaceGlobal, "local": exec.SpaceLocal, "param::func": exec.SpaceLocal,
	"shared": exec.SpaceShared, "shared::cta": exec.SpaceShared, "shared::cluster": exec.SpaceShared,
	"param": exec.SpaceParam, "param::entry": exec.SpaceParam,
}

// stateSpace returns the space of the first qualifier in names that the opcode has.
func (c *compiler) stateSpace(names ...string) exec.SpaceKind {
	space := spaceByName[c.q.one(names...)]
	if space == exec.SpaceGeneric {
		fail("a state space expected")
	}
	return space
}

// memMods compiles the common part of ld and st, and returns a micro-operation with the address in A.
func (c *compiler) memMods(o ptxparse.Operand) inst {
	x := &extra{}
	if c.q.has("relaxed") || c.q.has("volatile") {
		x.Strong = true
	} else if c.q.has("acquire") {
		x.Strong, x.Acquire = true, true
	} else if c.q.has("release") {
		x.Strong, x.Release = true, true
	} else {
		c.q.has("weak")
	}
	c.q.has("mmio")
	c.q.one("cta", "gpu", "sys", "cluster")
	space := c.q.space()
	x.Constant = c.q.has("nc")
	for c.q.one("ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L1::evict_normal",
		"L1::evict_unchanged", "L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last", "L2::cache_hint") != "" {
	}
	in := newStep(exec.ClassMemory)
	in.X = x
	x.Space = spaceByName[space]
	x.N = c.q.vector("v2", "v4", "v8")
	c.setAddress(&in, o)
	return in
}

// setAddress sets an instruction's address operand: a register, a constant offset and its space.
func (c *compiler) setAddress(in *inst, o ptxparse.Operand) {
	if o.Kind != ptxparse.KindAddress {
		fail("an address expected")
	}
	x := in.X
	x.Off, x.Wide = uint64(o.Off), true
	switch {
	case o.Var != nil:
		a := c.address(o)
		if a.space == exec.SpaceLocal && x.Space == exec.SpaceParam { // a parameter of a call
			x.Space = exec.SpaceLocal
		}
		if x.Space == exec.SpaceGeneric {
			x.Space = a.space
		}
		if a.space != x.Space {
			fail("%s lies in another space", o.Name)
		}
		x.Off += a.at
		in.A = c.constant(0)
	case o.Reg >= 0:
		t := c.kinds[o.Reg]
		if isPred(t) || ptxparse.TypeSize(t) < 4 {
			fail("a register of type %s as an address", t)
		}
		x.Wide = ptxparse.TypeSize(t) == 8
		if !x.Wide && (x.Space == exec.SpaceGeneric || x.Space == exec.SpaceGlobal) {
			fail("addresses have 64 bits here")
		}
		in.A = int32(o.Reg)
	default:
		in.A = c.constant(0)
	}
}
