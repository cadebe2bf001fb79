package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func addFlow() {
	handlers["bra"] = func(c *compiler) {
		c.q.has("uni")
		o := c.args(1)[0]
		if o.Kind != ptxparse.KindLabel {
			fail("a label expected")
		}
		in := none(exec.KindBra, exec.ClassBranch)
		in.Target = int32(o.Target)
		c.emit(in)
	}
	handlers["brx"] = compileBrx
	exit := func(c *compiler) {
		c.q.has("uni")
		c.args(0)
		c.emit(none(exec.KindExit, exec.ClassBranch))
	}
	handlers["ret"], handlers["exit"] = exit, exit
	stop := func(c *compiler) {
		c.args(0)
		c.do(exec.ClassOther, exec.Trap)
	}
	handlers["trap"], handlers["brkpt"] = stop, stop
	handlers["nanosleep"] = func(c *compiler) {
		c.q.has("u32")
		c.src(c.args(1)[0], "u32")
		c.do(exec.ClassOther, exec.Sleep)
	}
	handlers["griddepcontrol"] = func(c *compiler) {
		which := c.q.one("launch_dependents", "wait")
		c.args(0)
		switch which {
		case "wait":
			c.do(exec.ClassOther, exec.WaitAhead)
		case "launch_dependents":
			c.do(exec.ClassOther, exec.Nothing)
		default:
			fail("launch_dependents or wait expected")
		}
	}
	handlers["pmevent"] = func(c *compiler) {
		c.q.has("mask")
		c.args(1)
		c.do(exec.ClassOther, exec.Nothing)
	}
}

// compileBrx compiles the indirect branch: an index into a list of labels.
func compileBrx(c *compiler) {
	c.require("idx")
	c.q.has("uni")
	args := c.args(2)
	if args[1].Kind != ptxparse.KindTargets {
		fail("a list of targets expected")
	}
	in := newStep(exec.ClassBranch)
	in.A, in.X = c.src(args[0], "u32"), &extra{}
	for _, e := range args[1].Elems {
		in.X.Targets = append(in.X.Targets, int32(e.Target))
	}
	in.Fn = exec.BranchIndexed
	c.emit(in)
}
