package cudasim

import (
	"encoding/binary"
	"math/bits"

	"github.com/robocache/robocache/internal/ptxparse"
)

var spaceByName = map[string]spaceKind{"": spaceGeneric, "global": spaceGlobal, "const": spaceGlobal, "shared": spaceShared,
	"shared::cta": spaceShared, "shared::cluster": spaceShared, "local": spaceLocal, "param": spaceParam, "param::entry": spaceParam, "param::func": spaceLocal}

func addMemory() {
	handlers["ld"] = compileLoad
	handlers["ldu"] = compileLoad
	handlers["st"] = compileStore
	handlers["prefetch"], handlers["prefetchu"] = compilePrefetch, compilePrefetch
	handlers["applypriority"], handlers["discard"] = hint, hint
	handlers["createpolicy"] = func(c *compiler) {
		for c.q.one("fractional", "range", "cvt", "global", "L2", "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged", "L2::cache_hint") != "" {
		}
		t := c.q.typ()
		c.alu(classMove, movT, c.dst(c.at.Args[0], t), c.constant(0))
	}
	for _, name := range []string{"membar", "fence"} {
		handlers[name] = compileFence
	}
}

// compilePrefetch is for an instruction that changes nothing: there are no caches. A device ignores a prefetch of memory that is not there, but
// no kernel means one, and here it is a fault as a load would be.
func compilePrefetch(c *compiler) {
	space := c.q.space()
	c.q.one("L1", "L2", "L2::evict_last", "L2::evict_normal", "uniform")
	descriptor := c.q.has("tensormap")
	in := none(kindFn, classMemory)
	in.fn = func(*warp, *inst, uint32) status { return statusNext }
	if args := c.args(1); !descriptor {
		in.x = &extra{space: spaceByName[space], n: 1, size: 1}
		c.setAddress(&in, args[0])
		in.fn = func(w *warp, in *inst, exec uint32) status {
			for exec != 0 {
				m, here, rest, sp, st := w.access(in, exec, 1)
				if st != statusNext {
					return st
				}
				if w.b.counts != nil && sp == spaceGlobal {
					w.b.counts.prefetch(w, m, here)
				}
				exec = rest
			}
			return statusNext
		}
	}
	c.emit(in)
}

func hint(c *compiler) {
	c.q.space()
	c.q.one("L2", "L2::evict_normal")
	c.args(2)
	in := none(kindFn, classMemory)
	in.fn = func(*warp, *inst, uint32) status { return statusNext }
	c.emit(in)
}

// memMods takes what ld and st have in common and gives a micro-operation with the address in a.
func (c *compiler) memMods(o ptxparse.Operand) inst {
	x := &extra{}
	if c.q.has("relaxed") || c.q.has("volatile") {
		x.strong = true
	} else if c.q.has("acquire") {
		x.strong, x.acquire = true, true
	} else if c.q.has("release") {
		x.strong, x.release = true, true
	} else {
		c.q.has("weak")
	}
	c.q.has("mmio")
	c.q.one("cta", "gpu", "sys", "cluster")
	space := c.q.space()
	x.constant = c.q.has("nc")
	for c.q.one("ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L1::evict_normal", "L1::evict_unchanged",
		"L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last", "L2::cache_hint") != "" {
	}
	in := none(kindFn, classMemory)
	in.x = x
	x.space = spaceByName[space]
	x.n = 1
	switch c.q.one("v2", "v4", "v8") {
	case "v2":
		x.n = 2
	case "v4":
		x.n = 4
	case "v8":
		x.n = 8
	}
	c.setAddress(&in, o)
	return in
}

// setAddress puts an address operand in a register, a constant offset, and its space.
func (c *compiler) setAddress(in *inst, o ptxparse.Operand) {
	if o.Kind != ptxparse.KindAddress {
		fail("an address expected")
	}
	x := in.x
	x.off, x.wide = uint64(o.Off), true
	switch {
	case o.Var != nil:
		a := c.address(o)
		if a.space == spaceLocal && x.space == spaceParam { // a parameter of a call
			x.space = spaceLocal
		}
		if x.space == spaceGeneric {
			x.space = a.space
		}
		if a.space != x.space {
			fail("%s lies in another space", o.Name)
		}
		x.off += a.at
		in.a = c.constant(0)
	case o.Reg >= 0:
		t := c.kinds[o.Reg]
		if isPred(t) || ptxparse.TypeSize(t) < 4 {
			fail("a register of type %s as an address", t)
		}
		x.wide = ptxparse.TypeSize(t) == 8
		if !x.wide && (x.space == spaceGeneric || x.space == spaceGlobal) {
			fail("addresses have 64 bits here")
		}
		in.a = int32(o.Reg)
	default:
		in.a = c.constant(0)
	}
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

func compileLoad(c *compiler) {
	args := c.args(2, 3) // a cache policy may follow
	in := c.memMods(args[1])
	t := c.q.typ()
	x := in.x
	x.size = uint64(ptxparse.TypeSize(t))
	if x.size == 0 || x.size > 8 || x.size*uint64(x.n) > 32 || t == "pred" {
		fail("a type of 8 to 64 bits expected")
	}
	x.signed = signedType(t)
	for _, o := range elements(args[0], x.n) {
		d := c.dstWide(o, t)
		x.dd = append(x.dd, d)
		if d >= 0 {
			x.mask = width(c.kinds[d])
		}
	}
	in.apart = true
	in.fn = load
	if x.space == spaceParam {
		in.fn = loadParam
		x.uniform = args[1].Reg < 0
	}
	c.emit(in)
}

func compileStore(c *compiler) {
	args := c.args(2, 3)
	in := c.memMods(args[0])
	t := c.q.typ()
	x := in.x
	x.size = uint64(ptxparse.TypeSize(t))
	if x.size == 0 || x.size > 8 || x.size*uint64(x.n) > 32 || t == "pred" {
		fail("a type of 8 to 64 bits expected")
	}
	if x.space == spaceParam {
		fail("a kernel does not write its parameters")
	}
	for _, o := range elements(args[1], x.n) {
		x.aa = append(x.aa, c.srcWide(o, t))
	}
	in.fn = store
	c.emit(in)
}

// value extends an element that was read to its register's width.
func (x *extra) value(v uint64) uint64 {
	if x.signed {
		s := 64 - 8*x.size
		v = uint64(int64(v<<s) >> s)
	}
	return v & x.mask
}

func get(b []byte, size uint64) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func put(b []byte, size, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// loadParam reads once what lanes read at one place, as all of them do as a rule.
func loadParam(w *warp, in *inst, exec uint32) status {
	x := in.x
	p := w.b.run.params
	a := &w.regs[in.a]
	n := x.size * uint64(x.n)
	for rest := exec; rest != 0; {
		first := bits.TrailingZeros32(rest) & 31
		same := rest
		if !x.uniform {
			same = 0
			for e := rest; e != 0; e &= e - 1 {
				if i := bits.TrailingZeros32(e) & 31; a[i] == a[first] {
					same |= 1 << i
				}
			}
		}
		rest &^= same
		o := a[first] + x.off
		if o > uint64(len(p)) || n > uint64(len(p))-o {
			return w.badAddress(OutOfBounds, in, first, spaceParam, o, n)
		}
		if o&(n-1) != 0 {
			return w.badAddress(Misaligned, in, first, spaceParam, o, n)
		}
		for k, r := range x.dd {
			d, v := &w.regs[r], x.value(get(p[o+uint64(k)*x.size:], x.size))
			if same == ^uint32(0) {
				for i := range d {
					d[i] = v
				}
				continue
			}
			for e := same; e != 0; e &= e - 1 {
				d[bits.TrailingZeros32(e)&31] = v
			}
		}
	}
	return statusNext
}

// access finds the memory that the lanes of exec touch, size bytes each at a + off, and leaves in ofs where in it each lane's
// access begins. Lanes that touch another allocation, or another space, are returned in rest: the caller comes back for them.
// A fault is set if a lane touches nothing.
func (w *warp) access(in *inst, exec uint32, n uint64) (m *allocation, here, rest uint32, sp spaceKind, st status) {
	x := in.x
	a := &w.regs[in.a]
	first := bits.TrailingZeros32(exec) & 31
	addr := a[first] + x.off
	if !x.wide {
		addr = uint64(uint32(addr))
	}
	sp = x.space
	base := uint64(0)
	if sp == spaceGeneric {
		sp, _ = spaceOf(addr)
		base = [...]uint64{spaceShared: sharedWindow, spaceLocal: localWindow, spaceParam: paramWindow}[sp]
	}
	align := n - 1
	switch sp {
	case spaceShared:
		m = w.b.shared
		base += sharedBase
	case spaceLocal:
		return w.accessLocal(in, exec, n, base)
	case spaceParam:
		m = &allocation{size: uint64(len(w.b.run.params)), data: w.b.run.params, kind: "param"}
	default:
		m = w.last
		if m == nil || addr-m.addr >= m.size || m.freed.Load() {
			var ok bool
			if m, ok = w.b.run.sp.find(addr); !ok || !m.opened(w.b.run.device) {
				return nil, 0, 0, sp, w.badAddress(OutOfBounds, in, first, sp, addr, n)
			}
			w.last = m
		}
		base = m.addr
	}
	off := x.off - base
	size := m.size
	if size < n {
		return nil, 0, 0, sp, w.badAddress(OutOfBounds, in, first, sp, addr-base+m.addr, n)
	}
	most := size - n
	bad := uint64(0)
	if x.wide {
		if exec == ^uint32(0) {
			for i := range w.ofs {
				o := a[i] + off
				w.ofs[i] = o
				bad |= o&align | (most-o)>>63 | o>>63
			}
		} else {
			for e := exec; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				o := a[i] + off
				w.ofs[i] = o
				bad |= o&align | (most-o)>>63 | o>>63
			}
		}
	} else {
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			o := uint64(uint32(a[i] + off))
			w.ofs[i] = o
			bad |= o&align | (most-o)>>63
		}
	}
	if bad == 0 {
		return m, exec, 0, sp, statusNext
	}
	for e := exec; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		switch o := w.ofs[i]; {
		case o < size && o&align != 0:
			return nil, 0, 0, sp, w.badAddress(Misaligned, in, i, sp, o+m.addr, n)
		case o < size && o > most, o >= size && i == first:
			return nil, 0, 0, sp, w.badAddress(OutOfBounds, in, i, sp, o+m.addr, n)
		case o >= size && sp != spaceGlobal && x.space != spaceGeneric:
			return nil, 0, 0, sp, w.badAddress(OutOfBounds, in, i, sp, o+m.addr, n)
		case o >= size:
			rest |= 1 << i
		}
	}
	return m, exec &^ rest, rest, sp, statusNext
}

// accessLocal finds each lane's own local memory.
func (w *warp) accessLocal(in *inst, exec uint32, n, base uint64) (m *allocation, here, rest uint32, sp spaceKind, st status) {
	x := in.x
	a := &w.regs[in.a]
	each := uint64(w.b.run.kernel.local)
	for e := exec; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		o := a[i] + x.off
		if !x.wide {
			o = uint64(uint32(o))
		}
		if base != 0 {
			if s, _ := spaceOf(o); s != spaceLocal {
				rest |= 1 << i
				continue
			}
			o -= base
		}
		if o > each || n > each-o {
			return nil, 0, 0, spaceLocal, w.badAddress(OutOfBounds, in, i, spaceLocal, o, n)
		}
		if o&(n-1) != 0 {
			return nil, 0, 0, spaceLocal, w.badAddress(Misaligned, in, i, spaceLocal, o, n)
		}
		w.ofs[i] = uint64(w.index*32+uint32(i))*each + o
	}
	return w.b.local, exec &^ rest, rest, spaceLocal, statusNext
}

func load(w *warp, in *inst, exec uint32) status {
	x := in.x
	n := x.size * uint64(x.n)
	if x.strong {
		w.poll()
	}
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n)
		if st != statusNext {
			return st
		}
		rest = more
		if w.b.watching {
			if st := w.b.observe(w, in, m, sp, here, n, accessRead); st != statusNext {
				return st
			}
		}
		switch {
		case x.strong && sp == spaceGlobal:
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				for k, r := range x.dd {
					w.regs[r][i] = x.value(atomicGet(m.data, w.ofs[i]+uint64(k)*x.size, x.size))
				}
			}
		case x.n == 1 && x.size == 4 && !x.signed:
			d := &w.regs[x.dd[0]]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				d[i] = uint64(binary.LittleEndian.Uint32(m.data[w.ofs[i]:]))
			}
		case x.n == 1 && x.size == 8:
			d := &w.regs[x.dd[0]]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				d[i] = binary.LittleEndian.Uint64(m.data[w.ofs[i]:])
			}
		default:
			for k, r := range x.dd {
				d := &w.regs[r]
				for e := here; e != 0; e &= e - 1 {
					i := bits.TrailingZeros32(e) & 31
					d[i] = x.value(get(m.data[w.ofs[i]+uint64(k)*x.size:], x.size))
				}
			}
		}
	}
	return statusNext
}

func store(w *warp, in *inst, exec uint32) status {
	x := in.x
	n := x.size * uint64(x.n)
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n)
		if st != statusNext {
			return st
		}
		rest = more
		if w.b.watching {
			if st := w.b.observe(w, in, m, sp, here, n, accessWrite); st != statusNext {
				return st
			}
		} else if m.init != nil && !m.whole.Load() {
			m.whole.Store(true) // nobody looks during this launch; later ones are not to be misled
		}
		for k, r := range x.aa {
			v := &w.regs[r]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				o := w.ofs[i] + uint64(k)*x.size
				if x.strong && sp == spaceGlobal {
					atomicPut(m.data, o, x.size, v[i])
				} else {
					put(m.data[o:], x.size, v[i])
				}
			}
		}
	}
	return statusNext
}
