package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/ptxparse"
)

// maxInlined limits the instructions in an entry after all its calls are inlined.
const maxInlined = 1 << 20

// inliner replaces each call by a copy of the function.
type inliner struct {
	m   *ptxparse.Module
	out *ptxparse.Func
}

// inline returns f without calls. Each copy has its own registers and variables; a parameter is the caller's variable.
func inline(m *ptxparse.Module, f *ptxparse.Func) (*ptxparse.Func, error) {
	calls := slices.ContainsFunc(f.Body, func(in ptxparse.Inst) bool { return isCall(in.Op) })
	if !calls {
		return f, nil
	}
	out := *f
	out.Body, out.Regs, out.Vars = nil, nil, nil
	l := &inliner{m: m, out: &out}
	return &out, l.body(f, map[*ptxparse.Var]*ptxparse.Var{}, nil)
}

func isCall(op string) bool { return op == "call" || strings.HasPrefix(op, "call.") }

// body appends f's instructions to the result, with its calls inlined. chain has the names of the functions that are being inlined,
// to find recursion.
func (l *inliner) body(f *ptxparse.Func, vars map[*ptxparse.Var]*ptxparse.Var, chain []string) error {
	base := len(l.out.Regs)
	l.out.Regs = append(l.out.Regs, f.Regs...)
	for _, v := range f.Vars {
		if v.Space == "shared" { // a block has one, even if the function is called often
			if !slices.Contains(l.out.Vars, v) {
				l.out.Vars = append(l.out.Vars, v)
			}
			continue
		}
		own := *v
		vars[v] = &own
		l.out.Vars = append(l.out.Vars, &own)
	}
	starts := make([]int, len(f.Body)+1)
	var own []int // instructions of the result that belong to this body
	for i := range f.Body {
		starts[i] = len(l.out.Body)
		in := f.Body[i]
		if in.Guard >= 0 {
			in.Guard += base
		}
		in.Args = l.args(in.Args, base, vars)
		switch op, _, _ := strings.Cut(in.Op, "."); {
		case op == "call":
			if err := l.call(in, chain); err != nil {
				return err
			}
			continue
		case op == "ret" && len(chain) > 0:
			in.Op, in.Args = "bra", []ptxparse.Operand{{Kind: ptxparse.KindLabel, Target: len(f.Body)}}
		}
		own = append(own, len(l.out.Body))
		l.out.Body = append(l.out.Body, in)
		if len(l.out.Body) > maxInlined {
			return &UnsupportedError{in.Line, in.Op, "the functions that the entry calls are too large"}
		}
	}
	starts[len(f.Body)] = len(l.out.Body)
	for _, at := range own {
		retarget(l.out.Body[at].Args, starts)
	}
	return nil
}

func retarget(args []ptxparse.Operand, starts []int) {
	for i := range args {
		if args[i].Kind == ptxparse.KindLabel {
			args[i].Target = starts[args[i].Target]
		}
		retarget(args[i].Elems, starts)
	}
}

// args returns the operands for one copy of a body.
func (l *inliner) args(list []ptxparse.Operand, base int, vars map[*ptxparse.Var]*ptxparse.Var) []ptxparse.Operand {
	list = slices.Clone(list)
	for i := range list {
		o := &list[i]
		switch {
		case o.Kind == ptxparse.KindReg, o.Kind == ptxparse.KindAddress && o.Reg >= 0:
			o.Reg += base
		}
		if v, ok := vars[o.Var]; ok && o.Var != nil {
			o.Var = v
		}
		o.Elems = l.args(o.Elems, base, vars)
	}
	return list
}

// call inlines the function that an instruction calls. It returns an *UnsupportedError for a recursive call, an unknown function, and
// arguments that do not match the parameters.
func (l *inliner) call(in ptxparse.Inst, chain []string) error {
	refuse := func(format string, args ...any) error {
		return &UnsupportedError{in.Line, in.Op, fmt.Sprintf(format, args...)}
	}
	at := slices.IndexFunc(in.Args, func(o ptxparse.Operand) bool { return o.Kind == ptxparse.KindFunc })
	if at < 0 || at > 1 || len(in.Args) > at+2 {
		return refuse("a call of a function by its name expected")
	}
	callee, ok := l.m.Func(in.Args[at].Name)
	switch {
	case !ok || callee.Entry:
		return refuse("no function %s in the module", in.Args[at].Name)
	case slices.Contains(chain, callee.Name):
		return refuse("%s calls itself", callee.Name)
	}
	vars := map[*ptxparse.Var]*ptxparse.Var{}
	bind := func(formal []*ptxparse.Var, group []ptxparse.Operand) error {
		if len(formal) != len(group) {
			return refuse("%d values for the %d parameters of %s", len(group), len(formal), callee.Name)
		}
		for i, o := range group {
			if o.Kind != ptxparse.KindVar || o.Var.Size < formal[i].Size {
				return refuse("parameter %d of %s is not passed in a .param variable of its size", i, callee.Name)
			}
			vars[formal[i]] = o.Var
		}
		return nil
	}
	var returns, params []ptxparse.Operand
	if at == 1 {
		returns = in.Args[0].Elems
	}
	if len(in.Args) == at+2 {
		params = in.Args[at+1].Elems
	}
	if err := bind(callee.Returns, returns); err != nil {
		return err
	}
	if err := bind(callee.Params, params); err != nil {
		return err
	}
	skip := -1
	if in.Guard >= 0 {
		skip = len(l.out.Body)
		l.out.Body = append(l.out.Body, ptxparse.Inst{Line: in.Line, Guard: in.Guard, GuardNot: !in.GuardNot, Op: "bra",
			Args: []ptxparse.Operand{{Kind: ptxparse.KindLabel}}})
	}
	if err := l.body(callee, vars, append(slices.Clone(chain), callee.Name)); err != nil {
		return err
	}
	if skip >= 0 {
		l.out.Body[skip].Args[0].Target = len(l.out.Body)
	}
	return nil
}
