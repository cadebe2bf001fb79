package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// compileBulk compiles cp.async.bulk: one thread copies a range of memory.
func compileBulk(c *compiler) {
	switch {
	case c.q.has("commit_group"):
		c.args(0)
		c.do(exec.ClassSync, exec.CommitBulk)
		return
	case c.q.has("wait_group"):
		c.q.has("read")
		c.do(exec.ClassSync, exec.WaitBulk(c.args(1)[0].Value))
		return
	}
	prefetch := c.q.has("prefetch")
	var where []string
	for {
		s := c.q.one("shared::cluster", "shared::cta", "shared", "global", "L2")
		if s == "" {
			break
		}
		where = append(where, s)
	}
	barred := c.q.has("mbarrier::complete_tx::bytes")
	c.q.has("bulk_group")
	hint := c.q.has("L2::cache_hint")
	if prefetch {
		c.do(exec.ClassMemory, exec.Nothing)
		return
	}
	n := 3
	if barred {
		n++
	}
	if hint {
		n++
	}
	args := c.args(n)
	if len(where) != 2 {
		fail("a destination and a source expected")
	}
	c.emitBulk(args, where[0], where[1], barred)
}

func (c *compiler) emitBulk(args []ptxparse.Operand, to, from string, barred bool) {
	src := inst{X: &extra{Space: spaceByName[from]}}
	c.setAddress(&src, args[1])
	dst := inst{X: &extra{Space: spaceByName[to]}}
	c.setAddress(&dst, args[0])
	in := newStep(exec.ClassMemory)
	in.X = &extra{AA: []int32{src.A, dst.A, -1}}
	in.A = c.src(args[2], "u32")
	bar := inst{}
	if barred {
		bar.X = &extra{Space: exec.SpaceShared}
		c.setAddress(&bar, args[3])
		in.X.AA[2] = bar.A
	}
	in.Fn = exec.CopyBulk(src.X, dst.X, bar.X)
	c.emit(in)
}
