package cudasim

import (
	"math/bits"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

func addMove() {
	handlers["mov"] = compileMov
	handlers["selp"] = func(c *compiler) {
		t, args := c.q.typ(), c.args(4)
		in := none(kindSel, classInt)
		in.d, in.a, in.b = c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t)
		in.pa, in.ax = c.pred(args[3])
		c.emit(in)
	}
	handlers["slct"] = func(c *compiler) {
		ftz := c.q.has("ftz")
		t := c.q.typ()
		by, args := c.q.typ(), c.args(4)
		c.mustBe(by, "s32", "f32")
		c.alu(classInt, func(d, a, b, x *lanes) {
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
		}, c.dst(args[0], t), c.src(args[1], t), c.src(args[2], t), c.src(args[3], by))
	}
	handlers["setp"] = compileSetp
	handlers["set"] = compileSet
	handlers["cvta"] = compileCvta
	handlers["isspacep"] = compileIsspacep
}

func compileMov(c *compiler) {
	t, args := c.q.typ(), c.args(2)
	if t == "pred" {
		in := none(kindPred, classPredicate)
		in.pd = c.predDst(args[0])
		in.pa, in.ax = c.pred(args[1])
		in.logic = func(a, _ uint32) uint32 { return a }
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
	f := alu(movT)
	c.alu(classMove, f, c.dst(d, t), c.src(s, t))
}

// unpack is mov of one register to several.
func (c *compiler) unpack(t string, to []ptxparse.Operand, s ptxparse.Operand) {
	n := 8 * ptxparse.TypeSize(t) / len(to)
	part := map[int]string{8: "b8", 16: "b16", 32: "b32"}[n]
	if part == "" || n*len(to) != 8*ptxparse.TypeSize(t) {
		fail("%d parts of a .%s", len(to), t)
	}
	in := none(kindFn, classMove)
	in.apart = true
	in.a, in.x = c.src(s, t), &extra{mask: width(part)}
	for _, o := range to {
		in.x.dd = append(in.x.dd, c.dst(o, part))
	}
	in.fn = func(w *warp, in *inst, exec uint32) status {
		a := &w.regs[in.a]
		for k, r := range in.x.dd {
			d, s := &w.regs[r], n*k
			if exec == w.alive {
				for i := range d {
					d[i] = a[i] >> s & in.x.mask
				}
				continue
			}
			for e := exec; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e)
				d[i] = a[i] >> s & in.x.mask
			}
		}
		return statusNext
	}
	c.emit(in)
}

// pack is mov of several registers to one.
func (c *compiler) pack(t string, d ptxparse.Operand, from []ptxparse.Operand) {
	n := 8 * ptxparse.TypeSize(t) / len(from)
	part := map[int]string{8: "b8", 16: "b16", 32: "b32"}[n]
	if part == "" || n*len(from) != 8*ptxparse.TypeSize(t) {
		fail("%d parts of a .%s", len(from), t)
	}
	in := none(kindFn, classMove)
	in.apart = true
	in.d, in.x = c.dst(d, t), &extra{mask: width(part)}
	for _, o := range from {
		in.x.aa = append(in.x.aa, c.srcWide(o, part))
	}
	in.fn = func(w *warp, in *inst, exec uint32) status {
		d := &w.regs[in.d]
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e)
			v := uint64(0)
			for k, r := range in.x.aa {
				v |= w.regs[r][i] & in.x.mask << (n * k)
			}
			d[i] = v
		}
		return statusNext
	}
	c.emit(in)
}

// logics combine a comparison with a predicate.
var logics = map[string]func(a, b uint32) uint32{
	"and": func(a, b uint32) uint32 { return a & b },
	"or":  func(a, b uint32) uint32 { return a | b },
	"xor": func(a, b uint32) uint32 { return a ^ b },
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

func compileSetp(c *compiler) {
	op := c.q.one(comparisons...)
	logic := c.q.one("and", "or", "xor")
	ftz := c.q.has("ftz")
	t := c.q.typ()
	n := 3
	if logic != "" {
		n = 4
	}
	args := c.args(n)
	in := none(kindSet, classPredicate)
	first, second := args[0], ptxparse.Operand{Kind: ptxparse.KindSink}
	if first.Kind == ptxparse.KindPair {
		first, second = args[0].Elems[0], args[0].Elems[1]
	}
	in.pd, in.pq = c.predDst(first), c.predDst(second)
	in.a, in.b = c.src(args[1], regType(t)), c.src(args[2], regType(t))
	if logic != "" {
		in.pa, in.ax = c.pred(args[3])
		in.logic = logics[logic]
	}
	if hf, ok := halfFormats[t]; ok && hf.pair {
		lo := compare(op, strings.TrimSuffix(t, "x2"), ftz)
		in.x = &extra{dd: []int32{in.pd, in.pq}}
		in.pd, in.pq, in.kind = -1, -1, kindFn
		in.cmp = lo
		in.fn = setpPair
		if logic != "" {
			fail("a packed comparison with a predicate")
		}
		c.emit(in)
		return
	}
	in.cmp = compare(op, t, ftz)
	c.emit(in)
}

// setpPair compares both halves, each to a predicate of its own.
func setpPair(w *warp, in *inst, exec uint32) status {
	a, b := w.regs[in.a], w.regs[in.b]
	for k, p := range in.x.dd {
		v := in.cmp(&a, &b)
		w.preds[p] = w.preds[p]&^exec | v&exec
		if k == 0 {
			for i := range a {
				a[i] >>= 16
				b[i] >>= 16
			}
		}
	}
	return statusNext
}

// compileSet is a comparison whose result is all ones, or 1.0.
func compileSet(c *compiler) {
	op := c.q.one(comparisons...)
	logic := c.q.one("and", "or", "xor")
	ftz := c.q.has("ftz")
	to := c.q.typ()
	t := c.q.typ()
	n := 3
	if logic != "" {
		n = 4
	}
	args := c.args(n)
	c.mustBe(to, "u32", "s32", "f32", "f16", "bf16", "u16", "s16")
	yes := map[string]uint64{"f32": 0x3f800000, "f16": 0x3c00, "bf16": 0x3f80}[to]
	if yes == 0 {
		yes = width(to)
	}
	p := c.temp("pred")
	in := none(kindSet, classPredicate)
	in.pd, in.a, in.b, in.cmp = p, c.src(args[1], regType(t)), c.src(args[2], regType(t)), compare(op, t, ftz)
	if logic != "" {
		in.pa, in.ax = c.pred(args[3])
		in.logic = logics[logic]
	}
	c.emit(in)
	sel := none(kindSel, classInt)
	sel.d, sel.a, sel.b, sel.pa = c.dst(args[0], regType(to)), c.constant(yes), c.constant(0), p
	c.emit(sel)
}

// windows are where the spaces lie among generic addresses. Global memory lies where it is.
var windows = map[string]uint64{"global": 0, "const": 0, "shared": sharedWindow, "shared::cta": sharedWindow, "shared::cluster": sharedWindow,
	"local": localWindow, "param": paramWindow, "param::entry": paramWindow}

func (q *quals) space() string {
	return q.one("global", "const", "shared", "local", "param", "shared::cta", "shared::cluster", "param::entry", "param::func")
}

// compileCvta turns an address of a space into a generic one, or back.
func compileCvta(c *compiler) {
	to := c.q.has("to")
	space := c.q.space()
	t := c.q.typ()
	c.mustBe(t, "u64", "u32")
	base, ok := windows[space]
	if !ok {
		fail("a state space expected")
	}
	if to {
		base = -base
	}
	args := c.args(2)
	d, a := c.dst(args[0], t), c.src(args[1], t)
	if base == 0 {
		c.alu(classMove, movT, d, a)
		return
	}
	if t == "u32" {
		fail("generic addresses have 64 bits here")
	}
	c.alu(classInt, addT[uint64], d, a, c.constant(base))
}

// spaceOf tells where a generic address points, and its address there.
func spaceOf(addr uint64) (spaceKind, uint64) {
	switch {
	case addr-sharedWindow < windowSize:
		return spaceShared, addr - sharedWindow
	case addr-localWindow < windowSize:
		return spaceLocal, addr - localWindow
	case addr-paramWindow < windowSize:
		return spaceParam, addr - paramWindow
	}
	return spaceGlobal, addr
}

func compileIsspacep(c *compiler) {
	space := c.q.space()
	want, ok := map[string]spaceKind{"global": spaceGlobal, "shared": spaceShared, "shared::cta": spaceShared, "shared::cluster": spaceShared,
		"local": spaceLocal, "param": spaceParam, "param::entry": spaceParam}[space]
	if !ok {
		fail("a state space expected")
	}
	args := c.args(2)
	in := none(kindSet, classPredicate)
	in.pd, in.a = c.predDst(args[0]), c.src(args[1], "u64")
	in.cmp = func(a, _ *lanes) (m uint32) {
		for i := range a {
			if s, _ := spaceOf(a[i]); s == want {
				m |= 1 << i
			}
		}
		return m
	}
	c.emit(in)
}
