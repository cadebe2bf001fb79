package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/ptxparse"
)

// compile returns the kernel for an entry. globals has the module's variables by name, and source the lines of its text. The error is
// an *UnsupportedError for an unknown instruction.
func compile(globals map[string]global, m *ptxparse.Module, f *ptxparse.Func, source []string) (k *exec.Kernel, err error) {
	if f, err = inline(m, f); err != nil {
		return nil, err
	}
	c := &compiler{global: globals, m: m, f: f, consts: map[uint64]int32{}, vars: map[*ptxparse.Var]address{}, cc: -1}
	c.k = &exec.Kernel{Name: f.Name, MaxThreads: uint32(f.MaxThreads), Source: source}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupported:
			k, err = nil, &UnsupportedError{c.at.Line, exec.TrimmedLine(source, c.at.Line), string(r)}
		default:
			panic(r)
		}
	}()
	c.layout()
	for _, r := range f.Regs {
		c.kinds = append(c.kinds, r.Type)
	}
	starts := make([]int32, len(f.Body)+1)
	for i := range f.Body {
		starts[i] = int32(len(c.code))
		c.inst(&f.Body[i])
	}
	starts[len(f.Body)] = int32(len(c.code))
	c.guard = -1
	c.emit(none(exec.KindExit, exec.ClassBranch))
	for i := range c.code {
		in := &c.code[i]
		if in.Kind == exec.KindBra {
			in.Target = starts[in.Target]
		}
		if in.X != nil {
			for j, t := range in.X.Targets {
				in.X.Targets[j] = starts[t]
			}
		}
	}
	c.slots()
	return c.k, nil
}

// layout places parameters and the variables of shared and local memory.
func (c *compiler) layout() {
	c.at = &ptxparse.Inst{Line: c.f.Line}
	off := uint32(0)
	for _, v := range c.f.Params {
		a := uint32(v.Align)
		off = (off + a - 1) / a * a
		c.k.Params = append(c.k.Params, exec.Param{Size: uint32(v.Size), Offset: off})
		c.vars[v] = address{exec.SpaceParam, uint64(off)}
		off += uint32(v.Size)
	}
	c.k.ParamBytes = off
	shared, local := uint64(0), uint64(0)
	place := func(v *ptxparse.Var) {
		a := uint64(v.Align)
		switch v.Space {
		case "shared":
			shared = (shared + a - 1) / a * a
			c.vars[v] = address{exec.SpaceShared, exec.SharedBase + shared}
			shared += uint64(v.Size)
		case "local", "param":
			local = (local + a - 1) / a * a
			c.vars[v] = address{exec.SpaceLocal, local}
			local += uint64(v.Size)
		default:
			fail("variable %s of space %s in a function", v.Name, v.Space)
		}
	}
	for _, v := range c.f.Vars {
		place(v)
	}
	used := map[*ptxparse.Var]bool{}
	for i := range c.f.Body {
		for _, o := range c.f.Body[i].Args {
			if o.Var != nil {
				used[o.Var] = true
			}
		}
	}
	var dynamic []*ptxparse.Var
	for _, v := range c.m.Vars {
		switch {
		case v.Space != "shared" || !used[v]:
		case v.Size == 0:
			dynamic = append(dynamic, v)
		default:
			place(v)
		}
	}
	for _, v := range dynamic { // all begin where the static variables end
		a := uint64(v.Align)
		shared = (shared + a - 1) / a * a
	}
	for _, v := range dynamic {
		c.vars[v] = address{exec.SpaceShared, exec.SharedBase + shared}
	}
	c.k.Shared, c.k.Local = uint32(shared), uint32((local+15)/16*16)
}

// inst compiles one instruction.
func (c *compiler) inst(in *ptxparse.Inst) {
	c.at, c.q = in, newQuals(in.Op)
	c.guard, c.gx = int32(in.Guard), 0
	if in.GuardNot {
		c.gx = ^uint32(0)
	}
	h, ok := handlers[c.q.base]
	if !ok {
		fail("no such instruction is known")
	}
	h(c)
	if left := c.q.left(); left != "" {
		fail("the qualifier .%s is not known here", left)
	}
}
