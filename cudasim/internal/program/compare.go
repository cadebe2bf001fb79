package program

import (
	"strings"

	"github.com/robocache/robocache/cudasim/internal/exec"
)

type integer interface {
	~uint16 | ~uint32 | ~uint64 | ~int16 | ~int32 | ~int64
}

// logics combine a comparison with a predicate.
var logics = map[string]func(a, b uint32) uint32{
	"and": func(a, b uint32) uint32 { return a & b },
	"or":  func(a, b uint32) uint32 { return a | b },
	"xor": func(a, b uint32) uint32 { return a ^ b },
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
	in := none(exec.KindSet, exec.ClassPredicate)
	first, second := pair(args[0])
	in.PD, in.PQ = c.predDst(first), c.predDst(second)
	in.A, in.B = c.src(args[1], regType(t)), c.src(args[2], regType(t))
	if logic != "" {
		in.PA, in.AX = c.pred(args[3])
		in.Logic = logics[logic]
	}
	if hf, ok := halfFormats[t]; ok && hf.pair {
		lo := compare(op, strings.TrimSuffix(t, "x2"), ftz)
		in.X = &extra{DD: []int32{in.PD, in.PQ}}
		in.PD, in.PQ, in.Kind = -1, -1, exec.KindFn
		in.Cmp = lo
		in.Fn = setpPair
		if logic != "" {
			fail("a packed comparison with a predicate")
		}
		c.emit(in)
		return
	}
	in.Cmp = compare(op, t, ftz)
	c.emit(in)
}

// setpPair compares both halves and writes a predicate for each.
func setpPair(w *warp, in *inst, active uint32) exec.Status {
	a, b := w.Regs[in.A], w.Regs[in.B]
	for k, p := range in.X.DD {
		v := in.Cmp(&a, &b)
		w.Preds[p] = w.Preds[p]&^active | v&active
		if k == 0 {
			for i := range a {
				a[i] >>= 16
				b[i] >>= 16
			}
		}
	}
	return exec.StatusNext
}

// compileSet compiles set, a comparison whose result is all ones or 1.0.
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
	in := none(exec.KindSet, exec.ClassPredicate)
	in.PD, in.A, in.B, in.Cmp = p, c.src(args[1], regType(t)), c.src(args[2], regType(t)), compare(op, t, ftz)
	if logic != "" {
		in.PA, in.AX = c.pred(args[3])
		in.Logic = logics[logic]
	}
	c.emit(in)
	sel := none(exec.KindSel, exec.ClassInt)
	sel.D, sel.A, sel.B, sel.PA = c.dst(args[0], regType(to)), c.constant(yes), c.constant(0), p
	c.emit(sel)
}

func compileIsspacep(c *compiler) {
	want := c.stateSpace("global", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry")
	args := c.args(2)
	in := none(exec.KindSet, exec.ClassPredicate)
	in.PD, in.A = c.predDst(args[0]), c.src(args[1], "u64")
	in.Cmp = func(a, _ *lanes) (m uint32) {
		for i := range a {
			if exec.SpaceOf(a[i]) == want {
				m |= 1 << i
			}
		}
		return m
	}
	c.emit(in)
}

// ordering holds the two comparisons from which all others are derived. Each compares every lane and returns one bit a lane.
type ordering struct{ eq, lt func(a, b *lanes) uint32 }

// le returns lt or eq for each lane. It is false if an operand is NaN.
func (o ordering) le(a, b *lanes) uint32 { return o.lt(a, b) | o.eq(a, b) }

// bit returns v at bit 31. Each later lane shifts the bits of earlier lanes down by one.
func bit(v bool) uint32 {
	if v {
		return 1 << 31
	}
	return 0
}

func eqT[T integer](a, b *lanes) (m uint32) {
	for i := range a {
		m = m>>1 | bit(T(a[i]) == T(b[i]))
	}
	return m
}

func ltT[T integer](a, b *lanes) (m uint32) {
	for i := range a {
		m = m>>1 | bit(T(a[i]) < T(b[i]))
	}
	return m
}

func eqF32(a, b *lanes) (m uint32) {
	for i := range a {
		m = m>>1 | bit(f32(a[i]) == f32(b[i]))
	}
	return m
}

func ltF32(a, b *lanes) (m uint32) {
	for i := range a {
		m = m>>1 | bit(f32(a[i]) < f32(b[i]))
	}
	return m
}

// valued returns the ordering of the floating-point numbers that value decodes from registers.
func valued(value func(v uint64) float64) ordering {
	of := func(f func(a, b float64) bool) func(a, b *lanes) uint32 {
		return func(a, b *lanes) (m uint32) {
			for i := range a {
				m = m>>1 | bit(f(value(a[i]), value(b[i])))
			}
			return m
		}
	}
	return ordering{of(func(a, b float64) bool { return a == b }), of(func(a, b float64) bool { return a < b })}
}

func integers[T integer]() ordering { return ordering{eqT[T], ltT[T]} }

// orderingOf returns a type's ordering, and whether the type has NaN. NaN is neither equal nor less.
func orderingOf(t string, ftz bool) (o ordering, nan bool) {
	switch t {
	case "u16", "b16":
		return integers[uint16](), false
	case "s16":
		return integers[int16](), false
	case "u32", "b32":
		return integers[uint32](), false
	case "s32":
		return integers[int32](), false
	case "u64", "b64":
		return integers[uint64](), false
	case "s64":
		return integers[int64](), false
	case "f64":
		return valued(f64), true
	case "f32":
		if ftz {
			return valued(toDouble("f32", ftz)), true
		}
		return ordering{eqF32, ltF32}, true
	case "f16", "bf16":
		hf := halfFormats[t]
		return valued(func(v uint64) float64 {
			if ftz {
				v = hf.flush(v)
			}
			return hf.value(v & 0xffff)
		}), true
	}
	fail("a comparison of .%s", t)
	return ordering{}, false
}

var comparisons = []string{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
	"gtu", "geu", "num", "nan"}

// ofIntegers maps the comparisons of integers to the cheapest equivalent: without NaN, the unordered comparisons have the same results.
var ofIntegers = map[string]string{"eq": "eq", "ne": "neu", "lt": "lt", "le": "leu", "gt": "gt", "ge": "geu"}

// compare returns the comparison op of two values of type t. With ftz, subnormal operands count as zero.
func compare(op, t string, ftz bool) func(a, b *lanes) uint32 {
	signless := map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
	if is, ok := signless[op]; ok {
		t = strings.Replace(t, "b", "u", 1)
		if t[0] != 'u' {
			fail("comparison .%s of .%s", op, t)
		}
		op = is
	}
	o, nan := orderingOf(t, ftz)
	if !nan {
		is, ok := ofIntegers[op]
		if !ok {
			fail("comparison .%s of integers", op)
		}
		op = is
	}
	switch op {
	case "eq":
		return o.eq
	case "lt":
		return o.lt
	case "le":
		return o.le
	case "gt":
		return func(a, b *lanes) uint32 { return o.lt(b, a) }
	case "ge":
		return func(a, b *lanes) uint32 { return o.le(b, a) }
	case "ne":
		return func(a, b *lanes) uint32 { return o.lt(a, b) | o.lt(b, a) }
	case "equ":
		return func(a, b *lanes) uint32 { return ^(o.lt(a, b) | o.lt(b, a)) }
	case "neu":
		return func(a, b *lanes) uint32 { return ^o.eq(a, b) }
	case "ltu":
		return func(a, b *lanes) uint32 { return ^o.le(b, a) }
	case "leu":
		return func(a, b *lanes) uint32 { return ^o.lt(b, a) }
	case "gtu":
		return func(a, b *lanes) uint32 { return ^o.le(a, b) }
	case "geu":
		return func(a, b *lanes) uint32 { return ^o.lt(a, b) }
	case "num":
		return func(a, b *lanes) uint32 { return o.eq(a, a) & o.eq(b, b) }
	case "nan":
		return func(a, b *lanes) uint32 { return ^(o.eq(a, a) & o.eq(b, b)) }
	}
	fail("comparison .%s of floating-point values", op)
	return nil
}
