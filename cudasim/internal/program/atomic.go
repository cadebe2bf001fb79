package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addAtomics() {
	handlers["atom"] = func(c *compiler) { compileAtomic(c, true) }
	handlers["red"] = func(c *compiler) {
		if c.q.has("async") {
			fail("no such instruction is known")
		}
		compileAtomic(c, false)
	}
}

func compileAtomic(c *compiler, result bool) {
	x := &extra{}
	switch c.q.one("relaxed", "acquire", "release", "acq_rel") {
	case "acquire":
		x.Acquire = true
	case "release":
		x.Release = true
	case "acq_rel":
		x.Acquire, x.Release = true, true
	}
	c.q.one("cta", "gpu", "sys", "cluster")
	x.Space = spaceByName[c.q.space()]
	op := c.q.one("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
	c.q.has("noftz")
	c.q.has("L2::cache_hint")
	x.N = c.q.vector("v2", "v4")
	t := c.q.typ()
	x.Size = uint64(ptxparse.TypeSize(t))
	x.RMW = atomicOp(op, t)
	want := 3
	if !result {
		want = 2
	}
	if op == "cas" {
		want++
	}
	args := c.args(want, want+1) // a cache policy may follow
	in := newStep(exec.ClassAtomic)
	in.X, in.Apart = x, true
	if result {
		for _, o := range elements(args[0], x.N) {
			x.DD = append(x.DD, c.dst(o, regType(t)))
		}
		args = args[1:]
	}
	c.setAddress(&in, args[0])
	if x.N > 1 && t != "f32" && t != "f16x2" && t != "bf16x2" {
		fail("a vector of .%s", t)
	}
	for _, o := range elements(args[1], x.N) {
		x.AA = append(x.AA, c.src(o, regType(t)))
	}
	if op == "cas" {
		in.C = c.src(args[2], regType(t))
		x.MayMiss = true
	}
	in.Fn = exec.Atomic
	c.emit(in)
}

// atomicOp returns the function that computes the new value from the old value, the operand and, for cas, the second operand.
func atomicOp(op, t string) func(old, b, c uint64) uint64 {
	m := width(t)
	float := isFloatType(t)
	signed := t[0] == 's'
	ext := func(v uint64) uint64 { return v }
	if !float {
		ext = extend(t)
	}
	switch {
	case op == "exch" && !float:
		return func(_, b, _ uint64) uint64 { return b }
	case op == "cas" && !float:
		return func(old, b, c uint64) uint64 {
			if old == b&m {
				return c
			}
			return old
		}
	case op == "add" && t == "f32":
		return func(old, b, _ uint64) uint64 { return pack32(f32(old) + f32(b)) }
	case op == "add" && t == "f64":
		return func(old, b, _ uint64) uint64 { return pack64(f64(old)+f64(b), old, b) }
	case float && (op == "add" || op == "min" || op == "max") && halfFormats[t].exp != 0:
		hf := halfFormats[t]
		inf := uint64(1<<hf.exp-1) << hf.mant
		return hf.each(func(old, b, _ uint64) uint64 {
			if op == "add" {
				return hf.pack16(addOdd(hf.value(old), hf.value(b)), false)
			}
			return minMax(old, b, 0x8000, inf, nan16, op == "max", false, false)
		})
	case float:
	case op == "add":
		return func(old, b, _ uint64) uint64 { return (old + b) & m }
	case op == "and":
		return func(old, b, _ uint64) uint64 { return old & b }
	case op == "or":
		return func(old, b, _ uint64) uint64 { return old | b }
	case op == "xor":
		return func(old, b, _ uint64) uint64 { return old ^ b }
	case op == "inc" && t == "u32":
		return func(old, b, _ uint64) uint64 {
			if old >= b {
				return 0
			}
			return old + 1
		}
	case op == "dec" && t == "u32":
		return func(old, b, _ uint64) uint64 {
			if old == 0 || old > b {
				return b
			}
			return old - 1
		}
	case op == "min" || op == "max":
		return func(old, b, _ uint64) uint64 {
			if less(signed, ext(old), ext(b)) == (op == "max") {
				return b & m
			}
			return old
		}
	}
	fail("an atomic %q of .%s", op, t)
	return nil
}
