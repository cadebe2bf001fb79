package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

func compileMbarrier(c *compiler) {
	op := c.q.one("init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "expect_tx", "complete_tx", "pending_count")
	switch op {
	case "pending_count":
		c.intType("b64")
		c.apply(exec.ClassSync, exec.PendingCount, "u32", "b64")
	case "init":
		c.mbar(1, exec.InitMbarrier)
	case "inval":
		c.mbar(0, exec.InvalMbarrier)
	case "arrive", "arrive_drop":
		compileArrive(c, op == "arrive_drop")
	case "expect_tx":
		c.mbar(1, exec.ExpectBytes(1))
	case "complete_tx":
		c.mbar(1, exec.ExpectBytes(-1))
	case "test_wait", "try_wait":
		compileTestWait(c, op == "try_wait")
	default:
		fail("an operation on an mbarrier expected")
	}
}

// mbarMods consumes the qualifiers that order memory, and returns the space.
func (c *compiler) mbarMods() exec.SpaceKind {
	c.q.has("noComplete")
	c.q.one("release", "acquire", "relaxed")
	c.q.one("cta", "cluster")
	space := spaceByName[c.q.one("shared", "shared::cta", "shared::cluster")]
	c.intType("b64")
	return space
}

// mbar emits an instruction on one object for each lane. The instruction has more operands after the address; in.B is the first of them.
func (c *compiler) mbar(more int, fn exec.Step) {
	in := newStep(exec.ClassSync)
	in.X = &extra{Space: c.mbarMods()}
	args := c.args(1 + more)
	if more > 0 {
		in.B = c.src(args[1], "u32")
	}
	c.emitMbar(in, args[0], fn)
}

func (c *compiler) emitMbar(in inst, at ptxparse.Operand, fn exec.Step) {
	in.X.Size, in.X.N = 8, 1
	in.Apart = true
	c.setAddress(&in, at)
	in.Fn = fn
	c.emit(in)
}

func compileArrive(c *compiler, drop bool) {
	expect := c.q.has("expect_tx")
	in := newStep(exec.ClassSync)
	in.X = &extra{Space: c.mbarMods()}
	args := c.args(1, 2, 3)
	if args[0].Kind != ptxparse.KindAddress {
		in.D = c.dst(args[0], "b64")
		args = args[1:]
	}
	counted := len(args) > 1
	if counted {
		in.B = c.src(args[1], "u32")
	}
	c.emitMbar(in, args[0], exec.ArriveMbarrier(expect, counted, drop))
}

// compileTestWait compiles test_wait and try_wait: they test whether a phase, named by token or parity, has ended.
func compileTestWait(c *compiler, try bool) {
	parity := c.q.has("parity")
	in := newStep(exec.ClassSync)
	in.X = &extra{Space: c.mbarMods()}
	args := c.args(3, 4) // a time limit may follow
	if !try {
		c.args(3)
	}
	in.PD = c.predDst(args[0])
	if parity {
		in.B = c.src(args[2], "u32")
	} else {
		in.B = c.src(args[2], "b64")
	}
	c.emitMbar(in, args[1], exec.TestMbarrier(parity))
}

// compileCopyArrive compiles cp.async.mbarrier.arrive: an mbarrier counts a thread once the thread's earlier cp.async have landed.
func compileCopyArrive(c *compiler) {
	c.require("arrive")
	fn := exec.CopyArrive(!c.q.has("noinc"))
	in := newStep(exec.ClassSync)
	in.X = &extra{Space: c.mbarMods()}
	c.emitMbar(in, c.args(1)[0], fn)
}
