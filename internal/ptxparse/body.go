package ptxparse

import (
	"math"
	"strconv"
	"strings"
)

// maxRegs limits the registers in a function.
const maxRegs = 1 << 20

// symbol is a declared name: a variable, one or more registers, or a list of branch targets.
type symbol struct {
	v    *Var
	reg  int // first register, if v is nil and targets is nil
	n    int // for a range %r<n>, its register count; 0 for a single register
	tab  []labelRef
	tabs bool
}

// labelRef is a use of a label. `to` receives the index of the label's instruction.
type labelRef struct {
	name string
	line int
	to   *int
}

// scope has the names declared between two braces.
type scope struct {
	up      *scope
	names   map[string]symbol
	ranges  map[string]symbol
	labels  map[string]int
	pending []labelRef
	tables  []tableRef
}

// tableRef is a use of a list of branch targets, as argument arg of instruction inst.
type tableRef struct {
	labelRef
	inst, arg int
}

func newScope(up *scope) *scope {
	return &scope{up: up, names: map[string]symbol{}, ranges: map[string]symbol{}, labels: map[string]int{}}
}

// add declares a name. It returns false if the scope already has it.
func (s *scope) add(name string, sym symbol) bool {
	if _, ok := s.names[name]; ok {
		return false
	}
	s.names[name] = sym
	return true
}

// find returns the symbol for a name, from the innermost scope that declares it. It returns false if none does.
func (s *scope) find(name string) (symbol, bool) {
	stem := strings.TrimRight(name, "0123456789")
	digits := name[len(stem):]
	index := -1
	if digits != "" && len(digits) < 8 && (len(digits) == 1 || digits[0] != '0') {
		index, _ = strconv.Atoi(digits)
	}
	for ; s != nil; s = s.up {
		if sym, ok := s.names[name]; ok {
			return sym, true
		}
		if sym, ok := s.ranges[stem]; ok && index >= 0 && index < sym.n {
			return symbol{reg: sym.reg + index}, true
		}
	}
	return symbol{}, false
}

// body reads a function's block in braces.
func (p *parser) body() error {
	open := p.tok.line
	if err := p.advance(); err != nil {
		return err
	}
	depth := 1
	for depth > 0 {
		t := p.tok
		var err error
		switch t.text {
		case "":
			return p.errorf(open, "{ without }")
		case "{":
			p.scope = newScope(p.scope)
			depth++
			err = p.advance()
		case "}":
			if err = p.closeScope(); err == nil {
				depth--
				err = p.advance()
			}
		case ";":
			err = p.advance()
		case ".reg":
			err = p.registers()
		case ".local", ".shared", ".const", ".global", ".param":
			if err = p.advance(); err == nil {
				var list []*Var
				list, err = p.variables(t.text[1:], false)
				p.f.Vars = append(p.f.Vars, list...)
			}
		case ".loc", ".file": // these end with their line, not with a semicolon
			if err = p.advance(); err == nil {
				err = p.skipLine(t.line)
			}
		case ".pragma":
			err = p.skipTo(";")
		default:
			err = p.labelOrInst()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeScope resolves the labels used in the scope that ends. Labels that it does not declare are passed to the enclosing scope.
func (p *parser) closeScope() error {
	s := p.scope
	outer := s.up != p.top && s.up != nil
	for _, r := range s.tables {
		sym, ok := s.names[r.name]
		switch {
		case ok && sym.tabs:
			arg := &p.f.Body[r.inst].Args[r.arg]
			arg.Kind, arg.Elems = KindTargets, make([]Operand, len(sym.tab))
			for i, l := range sym.tab {
				arg.Elems[i].Kind = KindLabel
				l.to = &arg.Elems[i].Target
				s.pending = append(s.pending, l)
			}
		case outer:
			s.up.tables = append(s.up.tables, r)
		default:
			return p.errorf(r.line, "%s is not declared", r.name)
		}
	}
	for _, r := range s.pending {
		if at, ok := s.labels[r.name]; ok {
			*r.to = at
		} else if outer {
			s.up.pending = append(s.up.pending, r)
		} else {
			return p.errorf(r.line, "no label %s", r.name)
		}
	}
	p.scope = s.up
	return nil
}

// registers reads .reg .type name, name<N> ... ;
func (p *parser) registers() error {
	if err := p.advance(); err != nil {
		return err
	}
	line := p.tok.line
	typ, err := p.word("a type")
	if err != nil {
		return err
	}
	if typ != ".pred" && (typ[0] != '.' || typeSizes[typ[1:]] == 0) {
		return p.errorf(line, "unknown register type %q", typ)
	}
	for {
		line := p.tok.line
		name, err := p.word("a register's name")
		if err != nil {
			return err
		}
		base, n, ranged := len(p.f.Regs), 1, false
		if p.tok.text == "<" {
			if err := p.advance(); err != nil {
				return err
			}
			if n, err = p.number("a count of registers", maxRegs); err != nil {
				return err
			}
			if err := p.expect(">"); err != nil {
				return err
			}
			ranged = true
		}
		if base+n > maxRegs {
			return p.errorf(line, "more than %d registers", maxRegs)
		}
		for i := range n {
			full := name
			if ranged {
				full += strconv.Itoa(i)
			}
			p.f.Regs = append(p.f.Regs, Reg{full, typ[1:]})
		}
		if ranged {
			if _, twice := p.scope.ranges[name]; twice {
				return p.errorf(line, "%s is declared twice", name)
			}
			p.scope.ranges[name] = symbol{reg: base, n: n}
		} else if !p.scope.add(name, symbol{reg: base}) {
			return p.errorf(line, "%s is declared twice", name)
		}
		if ok, err := p.accept(","); err != nil {
			return err
		} else if !ok {
			return p.expect(";")
		}
	}
}

// labelOrInst reads a label, a list of branch targets, or an instruction.
func (p *parser) labelOrInst() error {
	in := Inst{Line: p.tok.line, Guard: -1}
	if ok, err := p.accept("@"); err != nil {
		return err
	} else if ok {
		if in.GuardNot, err = p.accept("!"); err != nil {
			return err
		}
		line := p.tok.line
		w, err := p.word("a predicate")
		if err != nil {
			return err
		}
		sym, ok := p.scope.find(w)
		if !ok || sym.v != nil || sym.tabs || p.f.Regs[sym.reg].Type != "pred" {
			return p.errorf(line, "%s is no predicate", w)
		}
		in.Guard = sym.reg
	}
	line := p.tok.line
	w, err := p.word("an instruction")
	if err != nil {
		return err
	}
	if p.tok.text == ":" && in.Guard < 0 {
		if err := p.advance(); err != nil {
			return err
		}
		if p.tok.text == ".branchtargets" {
			return p.targets(w)
		}
		if _, twice := p.scope.labels[w]; twice {
			return p.errorf(line, "label %s is there twice", w)
		}
		p.scope.labels[w] = len(p.f.Body)
		return nil
	}
	if w[0] < 'a' || w[0] > 'z' {
		return p.errorf(line, "an instruction expected, got %q", w)
	}
	in.Op = w
	at := len(p.f.Body)
	p.f.Body = append(p.f.Body, in)
	for p.tok.text != ";" {
		if n := len(p.f.Body[at].Args); n > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		o, err := p.operand()
		if err != nil {
			return err
		}
		args := append(p.f.Body[at].Args, o)
		p.f.Body[at].Args = args
		if o.Kind == KindLabel {
			p.label(at, len(args)-1, line)
		}
	}
	// The addresses of the operands are final only now, because the list no longer grows.
	for i := range p.f.Body[at].Args {
		if o := &p.f.Body[at].Args[i]; o.Kind == KindLabel && o.Target < 0 {
			p.scope.pending = append(p.scope.pending, labelRef{o.Name, line, &o.Target})
		}
	}
	return p.advance()
}

// label sets the operand kind for an undeclared name: a function in a call, a list of targets in brx, otherwise a label.
func (p *parser) label(inst, arg, line int) {
	in := &p.f.Body[inst]
	o := &in.Args[arg]
	switch op, _, _ := strings.Cut(in.Op, "."); {
	case op == "call":
		o.Kind = KindFunc
	case op == "brx" && arg == 1:
		o.Kind = KindTargets
		p.scope.tables = append(p.scope.tables, tableRef{labelRef{name: o.Name, line: line}, inst, arg})
	default:
		o.Target = -1
	}
}

// targets reads a list of labels to its semicolon.
func (p *parser) targets(name string) error {
	line := p.tok.line
	if err := p.advance(); err != nil {
		return err
	}
	sym := symbol{tabs: true}
	for {
		l := p.tok.line
		w, err := p.word("a label")
		if err != nil {
			return err
		}
		sym.tab = append(sym.tab, labelRef{name: w, line: l})
		if ok, err := p.accept(","); err != nil {
			return err
		} else if ok {
			continue
		}
		if !p.scope.add(name, sym) {
			return p.errorf(line, "%s is declared twice", name)
		}
		return p.expect(";")
	}
}

// literal reads a number with an optional sign.
func (p *parser) literal() (Operand, error) {
	neg, err := p.accept("-")
	if err != nil {
		return Operand{}, err
	}
	line := p.tok.line
	w, err := p.word("a number")
	if err != nil {
		return Operand{}, err
	}
	o, ok := number(w)
	if !ok {
		return o, p.errorf(line, "a number expected, got %q", w)
	}
	if neg {
		switch o.Kind {
		case KindInt:
			o.Value = -o.Value
		case KindF32:
			o.Value ^= 1 << 31
		default:
			o.Value ^= 1 << 63
		}
	}
	return o, nil
}

func number(w string) (Operand, bool) {
	if len(w) > 2 && w[0] == '0' {
		switch w[1] {
		case 'f', 'F':
			v, err := strconv.ParseUint(w[2:], 16, 32)
			return Operand{Kind: KindF32, Value: v}, err == nil && len(w) == 10
		case 'd', 'D':
			v, err := strconv.ParseUint(w[2:], 16, 64)
			return Operand{Kind: KindF64, Value: v}, err == nil && len(w) == 18
		}
	}
	if strings.Contains(w, ".") {
		v, err := strconv.ParseFloat(w, 64)
		return Operand{Kind: KindF64, Value: math.Float64bits(v)}, err == nil
	}
	w = strings.TrimSuffix(w, "U")
	v, err := strconv.ParseUint(w, 0, 64)
	return Operand{Kind: KindInt, Value: v}, err == nil && !strings.Contains(w, "_")
}
