package ptxparse

import (
	"encoding/binary"
	"math"
	"strings"
)

// params parses a parameter list in parentheses.
func (p *parser) params() ([]*Var, error) {
	var list []*Var
	total := 0
	if err := p.advance(); err != nil {
		return nil, err
	}
	for p.tok.text != ")" {
		if len(list) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		if err := p.expect(".param"); err != nil {
			return nil, err
		}
		v, err := p.variable("param")
		if err != nil {
			return nil, err
		}
		if v.Size == 0 {
			return nil, p.errorf(v.Line, "parameter %s without a length", v.Name)
		}
		if v.Size > maxParams {
			return nil, p.errorf(v.Line, "a parameter of %d bytes is over %d", v.Size, maxParams)
		}
		if total = (total+v.Align-1)/v.Align*v.Align + v.Size; total > maxParams {
			return nil, p.errorf(p.tok.line, "more than %d bytes of parameters", maxParams)
		}
		list = append(list, v)
	}
	return list, p.advance()
}

// variables parses declarations, from the token after the state space to the semicolon.
func (p *parser) variables(space string, extern bool) ([]*Var, error) {
	v, err := p.variable(space)
	if err != nil {
		return nil, err
	}
	v.Extern = extern
	if ok, err := p.accept("="); err != nil {
		return nil, err
	} else if ok {
		if err := p.initial(v); err != nil {
			return nil, err
		}
	}
	return []*Var{v}, p.expect(";")
}

// variable parses [.align N] [.vN] .type [.ptr [.space] [.align N]] name { '[' N ']' } and declares the name in the scope.
func (p *parser) variable(space string) (*Var, error) {
	v := &Var{Space: space, Line: p.tok.line}
	lanes := 1
	pointee := false // after .ptr, .align applies to the memory that the pointer refers to
	for strings.HasPrefix(p.tok.text, ".") {
		line := p.tok.line
		w, err := p.word("a type")
		if err != nil {
			return nil, err
		}
		switch {
		case w == ".ptr":
			pointee = true
		case w == ".align":
			n, err := p.number("an alignment", 1<<15)
			if err != nil {
				return nil, err
			}
			if n&(n-1) != 0 {
				return nil, p.errorf(line, "alignment %d is no power of two", n)
			}
			if !pointee {
				v.Align = n
			}
		case w == ".v2":
			lanes = 2
		case w == ".v4":
			lanes = 4
		case typeSizes[w[1:]] != 0:
			v.Type, v.Size = w[1:], typeSizes[w[1:]]
		case pointee: // the state space that the pointer refers to
		default:
			return nil, p.errorf(line, "unknown type %q", w)
		}
	}
	line := p.tok.line
	if v.Type == "" {
		return nil, p.errorf(line, "variable without a type")
	}
	v.Size *= lanes
	v.Align = max(v.Align, v.Size)
	var err error
	if v.Name, err = p.word("a variable's name"); err != nil {
		return nil, err
	}
	if err := p.lengths(v); err != nil {
		return nil, err
	}
	if !p.scope.add(v.Name, symbol{v: v}) {
		return nil, p.errorf(line, "%s is declared twice", v.Name)
	}
	return v, nil
}

// lengths parses the brackets after a variable's name.
func (p *parser) lengths(v *Var) error {
	for first := true; ; first = false {
		line := p.tok.line
		if ok, err := p.accept("["); !ok || err != nil {
			return err
		}
		if ok, err := p.accept("]"); err != nil {
			return err
		} else if ok {
			if !first {
				return p.errorf(line, "only the first length of %s may be left out", v.Name)
			}
			v.Size = 0
			return nil
		}
		limit := maxVariable
		if v.Space == "param" {
			limit = maxParams
		}
		n, err := p.number("an array length", limit)
		if err != nil {
			return err
		}
		if n > limit/v.Size {
			return p.errorf(line, "%s has more than %d bytes", v.Name, limit)
		}
		v.Size *= n
		if err := p.expect("]"); err != nil {
			return err
		}
	}
}

// initial parses a variable's initial value: one value, or values in braces, which may be nested.
func (p *parser) initial(v *Var) error {
	width := typeSizes[v.Type]
	depth := 0
	for {
		switch p.tok.text {
		case "{":
			depth++
		case "}":
			if depth--; depth < 0 {
				return p.errorf(p.tok.line, "} without {")
			}
		case ",":
		default:
			if err := p.element(v, width); err != nil {
				return err
			}
			if depth == 0 {
				return p.pad(v)
			}
			continue
		}
		if err := p.advance(); err != nil {
			return err
		}
		if depth == 0 {
			return p.pad(v)
		}
	}
}

// pad appends zeros to an initial value that is shorter than its variable. A longer one is an error.
func (p *parser) pad(v *Var) error {
	if v.Size == 0 {
		v.Size = len(v.Data)
	}
	if len(v.Data) > v.Size {
		return p.errorf(v.Line, "%d bytes of initial values for the %d of %s", len(v.Data), v.Size, v.Name)
	}
	v.Data = append(v.Data, make([]byte, v.Size-len(v.Data))...)
	return nil
}

// element parses one initial value: a number, or the address of a variable.
func (p *parser) element(v *Var, width int) error {
	line := p.tok.line
	o, err := p.constant(v)
	if err != nil {
		return err
	}
	bits := o.Value
	switch {
	case o.Kind == KindVar:
		v.Relocs = append(v.Relocs, Reloc{At: len(v.Data), Size: width, Name: o.Name, Add: o.Off, Generic: o.Not})
		bits = 0
	case o.Kind == KindF64 && v.Type == "f32":
		bits = uint64(math.Float32bits(float32(math.Float64frombits(bits))))
	}
	if len(v.Data)+width > maxVariable || width > 8 {
		return p.errorf(line, "initial value of %s too large", v.Name)
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	v.Data = append(v.Data, b[:width]...)
	return nil
}

// constant parses number, name, name+N or generic(name)+N. The result's Not is set for a generic address.
func (p *parser) constant(v *Var) (Operand, error) {
	t := p.tok
	if t.text == "-" || t.text != "" && t.text[0] >= '0' && t.text[0] <= '9' {
		return p.literal()
	}
	w, err := p.word("an initial value")
	if err != nil {
		return Operand{}, err
	}
	o := Operand{Kind: KindVar, Name: w}
	if w == "generic" {
		o.Not = true
		if err := p.expect("("); err != nil {
			return o, err
		}
		if o.Name, err = p.word("a variable"); err != nil {
			return o, err
		}
		if err := p.expect(")"); err != nil {
			return o, err
		}
	}
	o.Off, err = p.offset()
	return o, err
}
