package program

import (
	"slices"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// compiler turns one entry into micro-operations.
type compiler struct {
	vars   map[*ptxparse.Var]address
	global map[string]global // of the module, in device memory
	m      *ptxparse.Module
	f      *ptxparse.Func
	k      *exec.Kernel
	code   []inst
	kinds  []string // type of each virtual register: those of the function, then temporaries and constants
	consts map[uint64]int32
	values []uint64 // of constants, by order
	constR []int32  // their registers
	at     *ptxparse.Inst
	q      *quals
	guard  int32
	gx     uint32
	cc     int32 // the carry's register, -1 before it has one
}

// global is a module variable in device memory.
type global struct{ addr, size uint64 }

// address is where a variable lies in its space.
type address struct {
	space exec.SpaceKind
	at    uint64
}

// emit adds a micro-operation, made by none, under the instruction's guard.
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

// args checks how many operands there are, and gives them.
func (c *compiler) args(n ...int) []ptxparse.Operand {
	if !slices.Contains(n, len(c.at.Args)) {
		fail("%d operands, and not %v", len(c.at.Args), n)
	}
	return c.at.Args
}

// require refuses an opcode that lacks one of the qualifiers.
func (c *compiler) require(names ...string) {
	for _, name := range names {
		if !c.q.has(name) {
			fail("%s expected", name)
		}
	}
}

// newStep is none of an instruction whose Fn does all of it.
func newStep(cl exec.Class) inst { return none(exec.KindFn, cl) }

// none is an instruction without registers.
func none(kind exec.OpKind, cl exec.Class) inst {
	return inst{Kind: kind, Class: cl, D: -1, A: -1, B: -1, C: -1, PD: -1, PQ: -1, PA: -1, PB: -1}
}

// temp makes a register.
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

// width is the mask of a type's bits.
func width(typ string) uint64 {
	if n := ptxparse.TypeSize(typ); n > 0 && n < 8 {
		return 1<<(8*n) - 1
	}
	return ^uint64(0)
}

// handlers compiles each instruction by its first word. A handler takes the qualifiers that it knows.
var handlers = map[string]func(c *compiler){}
