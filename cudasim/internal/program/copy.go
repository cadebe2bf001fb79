package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addAsync() {
	handlers["cp"] = compileCopy
	handlers["mbarrier"] = compileMbarrier
	handlers["membar"], handlers["fence"] = compileFence, compileFence
}

// compileCopy compiles cp.async and the instructions that commit its copies and wait for them.
func compileCopy(c *compiler) {
	c.require("async")
	switch {
	case c.q.has("bulk"):
		compileBulk(c)
	case c.q.has("commit_group"):
		c.args(0)
		c.do(exec.ClassSync, exec.CommitCopies)
	case c.q.has("wait_all"):
		c.args(0)
		c.do(exec.ClassSync, exec.WaitCopies(^uint32(0)))
	case c.q.has("wait_group"):
		o := c.args(1)[0]
		if o.Kind != ptxparse.KindInt {
			fail("a number expected")
		}
		c.do(exec.ClassSync, exec.WaitCopies(uint32(o.Value)))
	case c.q.has("mbarrier"):
		compileCopyArrive(c)
	default:
		compileCopyBytes(c)
	}
}

// compileCopyBytes compiles cp.async of 4, 8 or 16 bytes from global to shared memory.
func compileCopyBytes(c *compiler) {
	if c.q.one("ca", "cg") == "" || c.q.one("shared", "shared::cta") == "" || !c.q.has("global") {
		fail("a copy from global to shared memory expected")
	}
	for c.q.one("L2::cache_hint", "L2::64B", "L2::128B", "L2::256B") != "" {
	}
	args := c.args(3, 4, 5)
	if args[2].Kind != ptxparse.KindInt || args[2].Value != 4 && args[2].Value != 8 && args[2].Value != 16 {
		fail("a size of 4, 8 or 16 bytes expected")
	}
	n := args[2].Value
	// The micro-operation has the source first: a is the source, x.AA[0] the destination's register.
	in := newStep(exec.ClassMemory)
	in.X = &extra{N: 1, Size: n, Space: exec.SpaceGlobal}
	c.setAddress(&in, args[1])
	to := inst{X: &extra{Space: exec.SpaceShared}}
	c.setAddress(&to, args[0])
	in.X.AA = []int32{to.A}
	for _, o := range args[3:] {
		switch {
		case o.Kind == ptxparse.KindReg && isPred(c.kinds[o.Reg]):
			in.PA, in.AX = c.pred(o)
		case o.Kind == ptxparse.KindReg && ptxparse.TypeSize(c.kinds[o.Reg]) == 8: // a cache policy
		case o.Kind == ptxparse.KindReg || o.Kind == ptxparse.KindInt:
			in.B = c.src(o, "u32")
		}
	}
	in.Fn = exec.CopyBytes(n, in.B >= 0, in.PA >= 0, to.X)
	c.emit(in)
}

// compileFence orders memory.
func compileFence(c *compiler) {
	proxy := c.q.has("proxy")
	if c.q.has("mbarrier_init") {
		c.q.has("release")
		c.q.has("cluster")
	}
	c.q.one("sc", "acq_rel", "acquire", "release", "alias", "async", "async.global", "async.shared::cta")
	c.q.one("cta", "gpu", "sys", "cluster", "gl")
	c.q.one("global", "shared::cta", "shared::cluster")
	c.args(0)
	if proxy {
		c.do(exec.ClassSync, exec.Nothing)
	} else {
		c.do(exec.ClassSync, exec.Fence)
	}
}
