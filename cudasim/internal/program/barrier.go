package program

import "github.com/robocache/robocache/cudasim/internal/exec"

func addBarriers() {
	handlers["bar"] = func(c *compiler) {
		if c.q.has("warp") {
			compileWarpBarrier(c)
			return
		}
		compileBarrier(c, true)
	}
	handlers["barrier"] = func(c *compiler) {
		if c.q.has("cluster") {
			compileClusterBarrier(c)
			return
		}
		compileBarrier(c, false)
	}
}

func compileWarpBarrier(c *compiler) {
	c.require("sync")
	c.collective(newStep(exec.ClassSync), c.args(1)[0], func(*warp, *inst, uint32) {})
}

// compileClusterBarrier compiles barrier.cluster as a barrier of the block, because a cluster has one block here.
func compileClusterBarrier(c *compiler) {
	kind := c.q.one("arrive", "wait")
	c.q.one("release", "acquire", "relaxed")
	c.q.has("aligned")
	c.args(0)
	switch kind {
	case "arrive":
		c.do(exec.ClassSync, exec.Nothing)
	case "wait":
		in := newStep(exec.ClassSync)
		in.A, in.X = c.constant(15), &extra{}
		in.Fn = exec.BarSync
		c.emit(in)
	default:
		fail("arrive or wait expected")
	}
}

func compileBarrier(c *compiler, aligned bool) {
	c.q.has("cta")
	s := exec.BarSpec{Aligned: aligned}
	kind := c.q.one("sync", "arrive", "red")
	if c.q.has("aligned") {
		s.Aligned = true
	}
	in := newStep(exec.ClassSync)
	in.Apart = true
	in.X = &extra{}
	args := c.at.Args
	switch kind {
	case "sync":
		c.args(1, 2)
	case "arrive":
		c.args(2)
		s.Arrive = true
	case "red":
		s.Red = c.q.one("popc", "and", "or")
		c.args(3, 4)
		if s.Red == "popc" {
			c.intType("u32")
			in.D = c.dst(args[0], "u32")
		} else {
			c.intType("pred")
			in.PD = c.predDst(args[0])
		}
		in.PA, in.AX = c.pred(args[len(args)-1])
		args = args[1 : len(args)-1]
	default:
		fail("sync, arrive or red expected")
	}
	in.A = c.src(args[0], "u32")
	if len(args) == 2 {
		in.B, s.Counted = c.src(args[1], "u32"), true
	}
	in.X.Bar = s
	in.Fn = exec.BarSync
	c.emit(in)
}
