package main

import (
	"math/big"
	"strings"
)

// value is a constant with its C++ type: the number of bits, and whether it is unsigned.
type value struct {
	n        *big.Int
	bits     int
	unsigned bool
}

func (v value) fits() bool {
	if v.unsigned {
		return v.n.Sign() >= 0 && v.n.BitLen() <= v.bits
	}
	low := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), uint(v.bits-1)))
	return v.n.Cmp(low) >= 0 && v.n.Cmp(new(big.Int).Neg(low)) < 0
}

// expression evaluates constant expressions: integers, host constants, sizeof, and operators. Overflow is an error, although C++ would
// wrap around.
type expression struct {
	u     *unit
	in    []token
	names func(name string, line int) (value, error) // returns a constant
	size  func(name string, line int) (int, error)   // returns a type's size
}

func (x *expression) line() int {
	if len(x.in) > 0 {
		return x.in[0].line
	}
	return 0
}

func (x *expression) accept(text string) bool {
	if len(x.in) == 0 || x.in[0].text != text || x.in[0].kind == quoted {
		return false
	}
	x.in = x.in[1:]
	return true
}

// evaluate returns the value of the whole expression. line is for errors.
func (x *expression) evaluate(line int) (value, error) {
	if len(x.in) == 0 {
		return value{}, x.u.errorf(line, "a constant expression is empty")
	}
	v, err := x.binary(0)
	if err == nil && len(x.in) > 0 {
		err = x.u.errorf(x.line(), "%q is not understood in a constant expression", x.in[0].text)
	}
	return v, err
}

// operators lists the binary operators, lowest precedence first.
var operators = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}

func (x *expression) binary(level int) (value, error) {
	if level == len(operators) {
		return x.unary()
	}
	a, err := x.binary(level + 1)
	for err == nil {
		op, line := "", x.line()
		for _, o := range operators[level] {
			if x.accept(o) {
				op = o
				break
			}
		}
		if op == "" {
			return a, nil
		}
		var b value
		if b, err = x.binary(level + 1); err == nil {
			a, err = x.apply(a, op, b, line)
		}
	}
	return a, err
}

func (x *expression) apply(a value, op string, b value, line int) (value, error) {
	if op == "<<" || op == ">>" {
		if a.n.Sign() < 0 || b.n.Sign() < 0 || b.n.Cmp(big.NewInt(int64(a.bits))) >= 0 {
			return a, x.u.errorf(line, "%v %s %v is not a shift of %d bits", a.n, op, b.n, a.bits)
		}
		n := new(big.Int)
		if by := uint(b.n.Uint64()); op == "<<" {
			n.Lsh(a.n, by)
		} else {
			n.Rsh(a.n, by)
		}
		return x.checked(value{n, a.bits, a.unsigned}, line)
	}
	r := value{new(big.Int), max(a.bits, b.bits), a.bits >= b.bits && a.unsigned || b.bits >= a.bits && b.unsigned}
	for _, v := range []value{a, b} {
		if _, err := x.checked(value{v.n, r.bits, r.unsigned}, line); err != nil {
			return r, err
		}
	}
	switch op {
	case "|":
		r.n.Or(a.n, b.n)
	case "^":
		r.n.Xor(a.n, b.n)
	case "&":
		r.n.And(a.n, b.n)
	case "+":
		r.n.Add(a.n, b.n)
	case "-":
		r.n.Sub(a.n, b.n)
	case "*":
		r.n.Mul(a.n, b.n)
	default:
		if b.n.Sign() == 0 {
			return r, x.u.errorf(line, "a division by 0")
		}
		if op == "/" {
			r.n.Quo(a.n, b.n)
		} else {
			r.n.Rem(a.n, b.n)
		}
	}
	return x.checked(r, line)
}

func (x *expression) checked(v value, line int) (value, error) {
	if !v.fits() {
		return v, x.u.errorf(line, "%v does not fit %s of %d bits", v.n, map[bool]string{true: "an unsigned number", false: "a number"}[v.unsigned], v.bits)
	}
	return v, nil
}

func (x *expression) unary() (value, error) {
	line := x.line()
	switch {
	case x.accept("+"):
		return x.unary()
	case x.accept("-"):
		v, err := x.unary()
		if err != nil {
			return v, err
		}
		return x.checked(value{new(big.Int).Neg(v.n), v.bits, v.unsigned}, line)
	case x.accept("~"):
		v, err := x.unary()
		if err != nil {
			return v, err
		}
		n := new(big.Int).Not(v.n)
		if v.unsigned {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(v.bits)))
		}
		return value{n, v.bits, v.unsigned}, nil
	case x.accept("("):
		v, err := x.binary(0)
		if err == nil && !x.accept(")") {
			err = x.u.errorf(line, "( without ) in a constant expression")
		}
		return v, err
	case x.accept("sizeof"):
		if len(x.in) < 3 || x.in[0].text != "(" || x.in[1].kind != ident || x.in[2].text != ")" {
			return value{}, x.u.errorf(line, "sizeof(type) wanted")
		}
		name := x.in[1].text
		x.in = x.in[3:]
		n, err := x.size(name, line)
		return value{big.NewInt(int64(n)), 64, true}, err
	}
	if len(x.in) == 0 {
		return value{}, x.u.errorf(line, "a constant expression ends early")
	}
	t := x.in[0]
	x.in = x.in[1:]
	switch t.kind {
	case ident:
		return x.names(t.text, t.line)
	case number:
		return integer(x.u, t)
	}
	return value{}, x.u.errorf(t.line, "%q is not understood in a constant expression", t.text)
}

// integer parses a literal. It gets the smallest type that C++ allows.
func integer(u *unit, t token) (value, error) {
	digits := strings.ToLower(strings.ReplaceAll(t.text, "'", ""))
	body := strings.TrimRight(digits, "ul")
	suffix := digits[len(body):]
	v := value{bits: 32}
	switch suffix {
	case "":
	case "u":
		v.unsigned = true
	case "l", "ll":
		v.bits = 64
	case "ul", "ull", "lu", "llu":
		v.bits, v.unsigned = 64, true
	default:
		return v, u.errorf(t.line, "%q is not an integer", t.text)
	}
	var ok bool
	if v.n, ok = new(big.Int).SetString(body, 0); !ok || strings.ContainsAny(body, "o_") {
		return v, u.errorf(t.line, "%q is not an integer", t.text)
	}
	hex := strings.HasPrefix(body, "0x")
	for !v.fits() {
		switch {
		case hex && !v.unsigned:
			v.unsigned = true
		case v.bits == 32:
			v.bits, v.unsigned = 64, v.unsigned && strings.Contains(suffix, "u")
		default:
			return v, u.errorf(t.line, "%s needs more than 64 bits", t.text)
		}
	}
	return v, nil
}
