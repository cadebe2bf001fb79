package program

import (
	"slices"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// compiler compiles one entry to micro-operations.
type compiler struct {
	vars   map[*ptxparse.Var]address
	global map[string]global // the module's variables in device memory
	m      *ptxparse.Module
	f      *ptxparse.Func
	k      *exec.Kernel
	code   []inst
	kinds  []string // type of each virtual register: first the function's, then temporaries and constants
	consts map[uint64]int32
	values []uint64 // constants in order of their first use
	constR []int32  // registers of the constants
	at     *ptxparse.Inst
	q      *quals
	guard  int32
	gx     uint32
	cc     int32 // the carry's register, -1 until it has one
}

// global is a module variable in device memory.
type global struct{ addr, size uint64 }

// address is a variable's place in its space.
type address struct {
	space exec.SpaceKind
	at    uint64
}

// emit adds a micro-operation that newStep or none made, under the instruction's guard.
func (c *compiler) emit(in inst) *inst {
	in.Guard, in.GX, in.Line = c.guard, c.gx, int32(c.at.Line)
	c.code = append(c.code, in)
	return &c.code[len(c.code)-1]
}

// do emits an instruction without registers.
func (c *compiler) do(cl exec.Class, fn exec.Step) {
	in := newStep(cl)
	in.Fn = fn
	c.emit(in)
}

// args checks the number of operands and returns them.
func (c *compiler) args(n ...int) []ptxparse.Operand {
	if !slices.Contains(n, len(c.at.Args)) {
		fail("%d operands, and not %v", len(c.at.Args), n)
	}
	return c.at.Args
}

// require fails if the opcode lacks one of the qualifiers.
func (c *compiler) require(names ...string) {
	for _, name := range names {
		if !c.q.has(name) {
			fail("%s expected", name)
		}
	}
}

// newStep returns an instruction that Fn executes as a whole, without registers.
func newStep(cl exec.Class) inst { return none(exec.KindFn, cl) }

// none returns an instruction without registers.
func none(kind exec.OpKind, cl exec.Class) inst {
	return inst{Kind: kind, Class: cl, D: -1, A: -1, B: -1, C: -1, PD: -1, PQ: -1, PA: -1, PB: -1}
}

// temp adds a virtual register.
func (c *compiler) temp(typ string) int32 {
	c.kinds = append(c.kinds, typ)
	return int32(len(c.kinds) - 1)
}

func (c *compiler) constant(v uint64) int32 {
	r, ok := c.consts[v]
	if !ok {
		r = c.temp("const")
		c.consts[v] = r
		c.values, c.constR = append(c.values, v), append(c.constR, r)
	}
	return r
}

func isPred(kind string) bool { return kind == "pred" }

// width returns the mask of a type's bits.
func width(typ string) uint64 {
	if n := ptxparse.TypeSize(typ); n > 0 && n < 8 {
		return 1<<(8*n) - 1
	}
	return ^uint64(0)
}

// handlers compiles each instruction by its first word. A handler consumes the qualifiers that it supports.
var handlers = map[string]func(c *compiler){}
