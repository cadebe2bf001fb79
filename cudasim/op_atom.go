package cudasim

import (
	"math/bits"
	"sync"

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

// atomicGet reads an aligned element as one access.
func atomicGet(data []byte, o, size uint64) uint64 {
	switch size {
	case 4:
		return uint64(word32(data[o:]).Load())
	case 8:
		return word64(data[o:]).Load()
	}
	narrowMu.Lock()
	defer narrowMu.Unlock()
	return get(data[o:], size)
}

func atomicPut(data []byte, o, size, v uint64) {
	switch size {
	case 4:
		word32(data[o:]).Store(uint32(v))
	case 8:
		word64(data[o:]).Store(v)
	default:
		narrowMu.Lock()
		defer narrowMu.Unlock()
		put(data[o:], size, v)
	}
}

// narrowMu makes accesses of 8 and 16 bits atomic among themselves.
var narrowMu sync.Mutex

// modify replaces an element by f of it, atomically, and returns what was there.
func modify(data []byte, o, size uint64, f func(old uint64) uint64) uint64 {
	switch size {
	case 4:
		p := word32(data[o:])
		for {
			old := p.Load()
			if p.CompareAndSwap(old, uint32(f(uint64(old)))) {
				return uint64(old)
			}
		}
	case 8:
		p := word64(data[o:])
		for {
			old := p.Load()
			if p.CompareAndSwap(old, f(old)) {
				return old
			}
		}
	}
	narrowMu.Lock()
	defer narrowMu.Unlock()
	old := get(data[o:], size)
	put(data[o:], size, f(old))
	return old
}

func compileAtomic(c *compiler, result bool) {
	x := &extra{n: 1}
	switch c.q.one("relaxed", "acquire", "release", "acq_rel") {
	case "acquire":
		x.acquire = true
	case "release":
		x.release = true
	case "acq_rel":
		x.acquire, x.release = true, true
	}
	c.q.one("cta", "gpu", "sys", "cluster")
	x.space = spaceByName[c.q.space()]
	op := c.q.one("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas")
	c.q.has("noftz")
	c.q.has("L2::cache_hint")
	switch c.q.one("v2", "v4") {
	case "v2":
		x.n = 2
	case "v4":
		x.n = 4
	}
	t := c.q.typ()
	x.size = uint64(ptxparse.TypeSize(t))
	x.rmw = atomicOp(op, t)
	want := 3
	if !result {
		want = 2
	}
	if op == "cas" {
		want++
	}
	args := c.args(want, want+1) // a cache policy may follow
	in := none(kindFn, classAtomic)
	in.x, in.apart = x, true
	if result {
		for _, o := range elements(args[0], x.n) {
			x.dd = append(x.dd, c.dst(o, regType(t)))
		}
		args = args[1:]
	}
	c.setAddress(&in, args[0])
	if x.n > 1 && t != "f32" && t != "f16x2" && t != "bf16x2" {
		fail("a vector of .%s", t)
	}
	for _, o := range elements(args[1], x.n) {
		x.aa = append(x.aa, c.src(o, regType(t)))
	}
	if op == "cas" {
		in.c = c.src(args[2], regType(t))
		in.cmp = alwaysZero // marks the instruction that may fail
	}
	in.fn = runAtomic
	c.emit(in)
}

func alwaysZero(_, _ *lanes) uint32 { return 0 }

// atomicOp is what an atomic makes of the old value, its operand and, for cas, its second operand.
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

func runAtomic(w *warp, in *inst, exec uint32) status {
	x := in.x
	n := x.size * uint64(x.n)
	missed := false
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n)
		if st != statusNext {
			return st
		}
		rest = more
		if w.b.watching {
			if st := w.b.observe(w, in, m, sp, here, n, accessAtomic); st != statusNext {
				return st
			}
		}
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			for k, r := range x.aa {
				b, c := w.regs[r][i], w.regs[in.c][i]
				o := w.ofs[i] + uint64(k)*x.size
				var old uint64
				switch {
				case sp != spaceGlobal: // only this worker reaches it
					old = get(m.data[o:], x.size)
					put(m.data[o:], x.size, x.rmw(old, b, c))
				default:
					old = modify(m.data, o, x.size, func(old uint64) uint64 { return x.rmw(old, b, c) })
				}
				if k < len(x.dd) {
					w.regs[x.dd[k]][i] = old
				}
				missed = missed || in.cmp != nil && old != b
			}
		}
	}
	if missed {
		w.poll()
	}
	return statusNext
}
