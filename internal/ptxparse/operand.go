package ptxparse

// maxNesting limits the depth to which braces and parentheses nest in operands.
const maxNesting = 2

// operand parses one operand. An undeclared name becomes a label.
func (p *parser) operand() (Operand, error) { return p.nested(maxNesting) }

func (p *parser) nested(depth int) (Operand, error) {
	t := p.tok
	switch t.text {
	case "[":
		return p.address()
	case "{", "(":
		if depth == 0 {
			return Operand{}, p.errorf(t.line, "operand nested too deep")
		}
		return p.list(depth)
	case "!":
		if err := p.advance(); err != nil {
			return Operand{}, err
		}
		o, err := p.name()
		if err == nil && o.Kind != KindReg {
			err = p.errorf(t.line, "a register expected after !")
		}
		o.Not = true
		return o, err
	case "-":
		return p.literal()
	case "":
		return Operand{}, p.errorf(t.line, "an operand expected, got %v", t)
	}
	if t.text[0] >= '0' && t.text[0] <= '9' {
		return p.literal()
	}
	o, err := p.name()
	if err != nil {
		return o, err
	}
	if p.tok.text != "|" {
		return o, nil
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	q, err := p.name()
	if err == nil && (o.Kind != KindReg && o.Kind != KindSink || q.Kind != KindReg && q.Kind != KindSink) {
		err = p.errorf(t.line, "registers expected around |")
	}
	return Operand{Kind: KindPair, Elems: []Operand{o, q}}, err
}

// name parses a register, a special register, a variable with or without an offset, or a label.
func (p *parser) name() (Operand, error) {
	line := p.tok.line
	w, err := p.word("an operand")
	if err != nil {
		return Operand{}, err
	}
	if w == "_" {
		return Operand{Kind: KindSink}, nil
	}
	sym, ok := p.scope.find(w)
	switch {
	case ok && sym.v != nil:
		off, err := p.offset()
		return Operand{Kind: KindVar, Var: sym.v, Name: w, Off: off}, err
	case ok && sym.tabs:
		return Operand{Kind: KindLabel, Name: w}, nil
	case ok:
		return Operand{Kind: KindReg, Reg: sym.reg}, nil
	case w == "WARP_SZ":
		return Operand{Kind: KindInt, Value: 32}, nil
	case w[0] == '%':
		if !isSpecial(w) {
			return Operand{}, p.errorf(line, "%s is not declared", w)
		}
		return Operand{Kind: KindSpecial, Name: w}, nil
	}
	return Operand{Kind: KindLabel, Name: w}, nil
}

// isSpecial reports whether an undeclared name that begins with % is a special register, and not a register without a declaration. A
// name with digits is special only after a known stem. Other names are special, except %, %r, %p and %f.
func isSpecial(w string) bool {
	for i := 1; i < len(w); i++ {
		if c := w[i]; c >= '0' && c <= '9' {
			stem := w[1:i]
			return stem == "envreg" || stem == "pm" || stem == "reserved_smem_offset_"
		}
	}
	return w != "%" && w != "%r" && w != "%p" && w != "%f"
}

// list parses operands in braces or parentheses.
func (p *parser) list(depth int) (Operand, error) {
	o, end := Operand{Kind: KindVector}, "}"
	if p.tok.text == "(" {
		o.Kind, end = KindGroup, ")"
	}
	open := p.tok.line
	if err := p.advance(); err != nil {
		return o, err
	}
	for p.tok.text != end {
		if len(o.Elems) > 0 {
			if err := p.expect(","); err != nil {
				return o, err
			}
		}
		e, err := p.nested(depth - 1)
		if err != nil {
			return o, err
		}
		if e.Kind == KindLabel {
			return o, p.errorf(open, "%s is not declared", e.Name)
		}
		o.Elems = append(o.Elems, e)
	}
	return o, p.advance()
}

// address parses a register, a variable or a number in brackets, with an optional offset.
func (p *parser) address() (Operand, error) {
	o := Operand{Kind: KindAddress, Reg: -1}
	line := p.tok.line
	if err := p.advance(); err != nil {
		return o, err
	}
	if c := p.tok.text; c != "" && (c[0] >= '0' && c[0] <= '9' || c == "-") {
		n, err := p.literal()
		if err != nil {
			return o, err
		}
		if n.Kind != KindInt {
			return o, p.errorf(line, "an address expected")
		}
		o.Off = int64(n.Value)
		return o, p.expect("]")
	}
	base, err := p.name()
	if err != nil {
		return o, err
	}
	switch base.Kind {
	case KindReg:
		o.Reg = base.Reg
		if o.Off, err = p.offset(); err != nil {
			return o, err
		}
	case KindVar:
		o.Var, o.Name, o.Off = base.Var, base.Name, base.Off
	default:
		return o, p.errorf(line, "%s is not declared", base.Name)
	}
	return o, p.expect("]")
}

// offset parses the offset after a base: nothing (0), +N, -N or +-N.
func (p *parser) offset() (int64, error) {
	sign := int64(1)
	switch p.tok.text {
	case "+":
	case "-":
		sign = -1
	default:
		return 0, nil
	}
	line := p.tok.line
	if err := p.advance(); err != nil {
		return 0, err
	}
	n, err := p.literal()
	if err == nil && n.Kind != KindInt {
		err = p.errorf(line, "an offset expected")
	}
	return sign * int64(n.Value), err
}
