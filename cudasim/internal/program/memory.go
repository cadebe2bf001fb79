package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addMemory() {
	handlers["ld"] = compileLoad
	handlers["ldu"] = compileLoad
	handlers["st"] = compileStore
	handlers["prefetch"], handlers["prefetchu"] = compilePrefetch, compilePrefetch
	handlers["applypriority"], handlers["discard"] = hint, hint
	handlers["createpolicy"] = func(c *compiler) {
		for c.q.one("fractional", "range", "cvt", "global", "L2", "L2::evict_last", "L2::evict_normal",
			"L2::evict_first", "L2::evict_unchanged", "L2::cache_hint") != "" {
		}
		t := c.q.typ()
		c.alu(exec.ClassMove, movT, c.dst(c.at.Args[0], t), c.constant(0))
	}
}

// compilePrefetch compiles prefetch, which has no effect because there are no caches. A device ignores a prefetch of memory that
// does not exist. Here it is a fault, as for a load, because no kernel does that on purpose.
func compilePrefetch(c *compiler) {
	space := c.q.space()
	c.q.one("L1", "L2", "L2::evict_last", "L2::evict_normal", "uniform")
	descriptor := c.q.has("tensormap")
	in := newStep(exec.ClassMemory)
	in.Fn = exec.Nothing
	if args := c.args(1); !descriptor {
		in.X, in.Fn = &extra{Space: spaceByName[space], N: 1, Size: 1}, exec.Prefetch
		c.setAddress(&in, args[0])
	}
	c.emit(in)
}

func hint(c *compiler) {
	c.q.space()
	c.q.one("L2", "L2::evict_normal")
	c.args(2)
	c.do(exec.ClassMemory, exec.Nothing)
}

// elementType consumes the type of the elements of a load or store.
func (c *compiler) elementType(x *extra) string {
	t := c.q.typ()
	x.Size = uint64(ptxparse.TypeSize(t))
	if x.Size == 0 || x.Size > 8 || x.Size*uint64(x.N) > 32 || t == "pred" {
		fail("a type of 8 to 64 bits expected")
	}
	return t
}

func compileLoad(c *compiler) {
	args := c.args(2, 3) // a cache policy may follow
	in := c.memMods(args[1])
	x, t := in.X, c.elementType(in.X)
	x.Signed = signedType(t)
	for _, o := range elements(args[0], x.N) {
		d := c.dstWide(o, t)
		x.DD = append(x.DD, d)
		if d >= 0 {
			x.Mask = width(c.kinds[d])
		}
	}
	in.Apart = true
	in.Fn = exec.Load
	if x.Space == exec.SpaceParam {
		in.Fn = exec.LoadParam
		x.Uniform = args[1].Reg < 0
	}
	c.emit(in)
}

func compileStore(c *compiler) {
	args := c.args(2, 3)
	in := c.memMods(args[0])
	x, t := in.X, c.elementType(in.X)
	if x.Space == exec.SpaceParam {
		fail("a kernel does not write its parameters")
	}
	for _, o := range elements(args[1], x.N) {
		x.AA = append(x.AA, c.srcWide(o, t))
	}
	in.Fn = exec.Store
	c.emit(in)
}
