package cudasim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

// compiler turns one entry into micro-operations.
type compiler struct {
	p      *program
	m      *ptxparse.Module
	f      *ptxparse.Func
	k      *kernel
	code   []inst
	kinds  []string // type of each virtual register: those of the function, then temporaries and constants
	consts map[uint64]int32
	values []uint64 // of constants, by order
	constR []int32  // their registers
	vars   map[*ptxparse.Var]address
	at     *ptxparse.Inst
	q      *quals
	guard  int32
	gx     uint32
	cc     int32 // the carry's register, -1 before it has one
}

// address is where a variable lies in its space.
type address struct {
	space spaceKind
	at    uint64
}

// quals is an opcode cut at its dots. What nobody asks for is left over, and makes the instruction unknown.
type quals struct {
	base  string
	parts []string
	used  []bool
}

func newQuals(op string) *quals {
	parts := strings.Split(op, ".")
	return &quals{parts[0], parts[1:], make([]bool, len(parts)-1)}
}

// has reports whether the opcode has a qualifier, and marks it as known.
func (q *quals) has(name string) bool {
	for i, p := range q.parts {
		if p == name && !q.used[i] {
			q.used[i] = true
			return true
		}
	}
	return false
}

// one returns the first of names that the opcode has, or "".
func (q *quals) one(names ...string) string {
	for i, p := range q.parts {
		if !q.used[i] && slices.Contains(names, p) {
			q.used[i] = true
			return p
		}
	}
	return ""
}

// typ takes the first type among the qualifiers that are left.
func (q *quals) typ() string {
	for i, p := range q.parts {
		if !q.used[i] && (ptxparse.TypeSize(p) > 0 || p == "pred") {
			q.used[i] = true
			return p
		}
	}
	return ""
}

func (q *quals) left() string {
	for i, p := range q.parts {
		if !q.used[i] {
			return p
		}
	}
	return ""
}

// unsupported is the panic with which a handler gives up on its instruction.
type unsupported string

func fail(format string, args ...any) { panic(unsupported(fmt.Sprintf(format, args...))) }

// compile makes a kernel of an entry.
func compile(p *program, m *ptxparse.Module, f *ptxparse.Func, source []string) (k *kernel, err error) {
	if f, err = inline(m, f); err != nil {
		return nil, err
	}
	c := &compiler{p: p, m: m, f: f, consts: map[uint64]int32{}, vars: map[*ptxparse.Var]address{}, cc: -1}
	c.k = &kernel{name: f.Name, maxThreads: uint32(f.MaxThreads), source: source}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupported:
			k, err = nil, &unsupportedError{c.at.Line, trimmedLine(source, c.at.Line), string(r)}
		default:
			panic(r)
		}
	}()
	c.layout()
	for _, r := range f.Regs {
		c.kinds = append(c.kinds, r.Type)
	}
	starts := make([]int32, len(f.Body)+1)
	for i := range f.Body {
		starts[i] = int32(len(c.code))
		c.inst(&f.Body[i])
	}
	starts[len(f.Body)] = int32(len(c.code))
	c.guard = -1
	c.emit(none(kindExit, classBranch))
	for i := range c.code {
		in := &c.code[i]
		if in.kind == kindBra {
			in.target = starts[in.target]
		}
		if in.x != nil {
			for j, t := range in.x.targets {
				in.x.targets[j] = starts[t]
			}
		}
	}
	c.slots()
	return c.k, nil
}

// trimmedLine is a line of the text, from 1.
func trimmedLine(source []string, line int) string {
	if line < 1 || line > len(source) {
		return ""
	}
	return strings.TrimSpace(source[line-1])
}

// layout places parameters and the variables of shared and local memory.
func (c *compiler) layout() {
	c.at = &ptxparse.Inst{Line: c.f.Line}
	off := uint32(0)
	for _, v := range c.f.Params {
		a := uint32(v.Align)
		off = (off + a - 1) / a * a
		c.k.params = append(c.k.params, param{uint32(v.Size), a, off})
		c.vars[v] = address{spaceParam, uint64(off)}
		off += uint32(v.Size)
	}
	c.k.paramBytes = off
	shared, local := uint64(0), uint64(0)
	place := func(v *ptxparse.Var) {
		a := uint64(v.Align)
		switch v.Space {
		case "shared":
			shared = (shared + a - 1) / a * a
			c.vars[v] = address{spaceShared, sharedBase + shared}
			shared += uint64(v.Size)
		case "local", "param":
			local = (local + a - 1) / a * a
			c.vars[v] = address{spaceLocal, local}
			local += uint64(v.Size)
		default:
			fail("variable %s of space %s in a function", v.Name, v.Space)
		}
	}
	for _, v := range c.f.Vars {
		place(v)
	}
	used := map[*ptxparse.Var]bool{}
	for i := range c.f.Body {
		for _, o := range c.f.Body[i].Args {
			if o.Var != nil {
				used[o.Var] = true
			}
		}
	}
	var dynamic []*ptxparse.Var
	for _, v := range c.m.Vars {
		switch {
		case v.Space != "shared" || !used[v]:
		case v.Size == 0:
			dynamic = append(dynamic, v)
		default:
			place(v)
		}
	}
	for _, v := range dynamic { // all begin where the static variables end
		a := uint64(v.Align)
		shared = (shared + a - 1) / a * a
	}
	for _, v := range dynamic {
		c.vars[v] = address{spaceShared, sharedBase + shared}
	}
	c.k.shared, c.k.local = uint32(shared), uint32((local+15)/16*16)
}

// inst compiles one instruction.
func (c *compiler) inst(in *ptxparse.Inst) {
	c.at, c.q = in, newQuals(in.Op)
	c.guard, c.gx = int32(in.Guard), 0
	if in.GuardNot {
		c.gx = ^uint32(0)
	}
	h, ok := handlers[c.q.base]
	if !ok {
		fail("no such instruction is known")
	}
	h(c)
	if left := c.q.left(); left != "" {
		fail("the qualifier .%s is not known here", left)
	}
}

// emit adds a micro-operation, made by none, under the instruction's guard.
func (c *compiler) emit(in inst) *inst {
	in.guard, in.gx, in.line = c.guard, c.gx, int32(c.at.Line)
	c.code = append(c.code, in)
	return &c.code[len(c.code)-1]
}

// none is an instruction without registers.
func none(kind opKind, cl class) inst {
	return inst{kind: kind, class: cl, d: -1, a: -1, b: -1, c: -1, pd: -1, pq: -1, pa: -1, pb: -1}
}

// args checks how many operands there are, and gives them.
func (c *compiler) args(n ...int) []ptxparse.Operand {
	if !slices.Contains(n, len(c.at.Args)) {
		fail("%d operands, and not %v", len(c.at.Args), n)
	}
	return c.at.Args
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
	g, ok := c.p.globals[o.Var.Name]
	if !ok {
		fail("variable %s is nowhere", o.Var.Name)
	}
	return address{spaceGlobal, g.addr}
}

// pred gives a predicate's register and the mask that negates it if the operand does.
func (c *compiler) pred(o ptxparse.Operand) (int32, uint32) {
	if o.Kind == ptxparse.KindInt {
		t := c.temp("pred")
		in := none(kindPred, classPredicate)
		in.pd, in.pa, in.pb = t, -1, -1
		v := uint32(0)
		if o.Value != 0 {
			v = ^uint32(0)
		}
		in.logic = func(_, _ uint32) uint32 { return v }
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

// registerFile is the 32-bit registers of a multiprocessor, of which one thread has at most maxRegisters.
const (
	registerFile = 1 << 16
	maxRegisters = 255
)

// pressure is how many 32-bit registers hold live values at once, as far as a block of the largest size leaves a thread as many.
// A real assembler may need more or fewer.
func (c *compiler) pressure(data, first, last []int32) uint32 {
	change := make([]int, 2*len(c.code)+2)
	for _, r := range data {
		if last[r] >= first[r] {
			n := max(1, ptxparse.TypeSize(c.kinds[r])/4)
			change[first[r]] += n
			change[last[r]+1] -= n
		}
	}
	live, most := 0, 0
	for _, n := range change {
		live += n
		most = max(most, live)
	}
	limit := maxRegisters
	if c.k.maxThreads > 0 {
		limit = min(limit, registerFile/int(c.k.maxThreads)/8*8)
	}
	return uint32(min(most, limit))
}

// slots puts the virtual registers into few slots of a warp's register file.
func (c *compiler) slots() {
	first, last := liveness(c.code, len(c.kinds))
	slot := make([]int32, len(c.kinds))
	for i, r := range c.constR {
		slot[r] = firstConst + int32(i)
	}
	var data, preds []int32
	for i, t := range c.kinds {
		switch t {
		case "const":
		case "pred":
			preds = append(preds, int32(i))
		default:
			data = append(data, int32(i))
		}
	}
	c.k.consts = c.values
	base := firstConst + int32(len(c.values))
	c.k.slots = assign(data, first, last, base, slot)
	c.k.predSlots = assign(preds, first, last, firstPred, slot)
	c.k.registers = c.pressure(data, first, last)
	for i := range c.code {
		in := &c.code[i]
		to := func(r *int32) { *r = slot[*r] }
		in.uses(to)
		in.defs(to)
		sink := func(r *int32, s int32) {
			if *r < 0 {
				*r = s
			}
		}
		sink(&in.guard, predTrue)
		sink(&in.d, slotSink)
		sink(&in.a, slotZero)
		sink(&in.b, slotZero)
		sink(&in.c, slotZero)
		sink(&in.pd, predSink)
		sink(&in.pq, predSink)
		sink(&in.pa, predTrue)
		sink(&in.pb, predTrue)
		if in.x != nil {
			for j := range in.x.dd {
				sink(&in.x.dd[j], slotSink)
			}
			for j := range in.x.aa {
				sink(&in.x.aa[j], slotZero)
			}
		}
	}
	c.k.code = c.code
}
