package ptxparse

import (
	"strconv"
	"strings"
)

var typeSizes = map[string]int{
	"b8": 1, "u8": 1, "s8": 1,
	"b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
	"b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
	"b64": 8, "u64": 8, "s64": 8, "f64": 8,
	"b128": 16,
}

// TypeSize returns the bytes of a type, given without its dot, or 0 if there is no such type.
func TypeSize(name string) int { return typeSizes[name] }

// parser has the current token and the visible names.
type parser struct {
	lexer
	tok   token
	m     *Module
	f     *Func  // the function being parsed
	top   *scope // module scope
	scope *scope
}

// Parse parses a PTX text. It returns a *SyntaxError if a statement cannot be parsed, or if the version or target is missing.
func Parse(text []byte) (*Module, error) {
	p := &parser{lexer: lexer{src: string(text), line: 1}, m: &Module{}, top: newScope(nil)}
	p.scope = p.top
	if err := p.advance(); err != nil {
		return nil, err
	}
	for p.tok.text != "" {
		if err := p.statement(); err != nil {
			return nil, err
		}
	}
	if p.m.ISA == 0 {
		return nil, p.errorf(p.line, "no .version")
	}
	if p.m.Target == "" {
		return nil, p.errorf(p.line, "no .target")
	}
	return p.m, nil
}

func (p *parser) advance() error {
	t, err := p.next()
	p.tok = t
	return err
}

// word returns the current token and moves to the next. The token must be a word.
func (p *parser) word(what string) (string, error) {
	t := p.tok
	if t.text == "" || !isWord(t.text[0]) {
		return "", p.errorf(t.line, "%s expected, got %v", what, t)
	}
	return t.text, p.advance()
}

func (p *parser) expect(text string) error {
	if p.tok.text != text {
		return p.errorf(p.tok.line, "%q expected, got %v", text, p.tok)
	}
	return p.advance()
}

// accept moves past the current token if it equals text. It returns false, and does not move, if not.
func (p *parser) accept(text string) (bool, error) {
	if p.tok.text != text {
		return false, nil
	}
	return true, p.advance()
}

// number returns the current token as a number in [1, limit] and moves to the next.
func (p *parser) number(what string, limit int) (int, error) {
	line := p.tok.line
	w, err := p.word(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(w, 0, 64)
	if err != nil || n < 1 || n > int64(limit) {
		return 0, p.errorf(line, "%s from 1 to %d expected, got %q", what, limit, w)
	}
	return int(n), nil
}

// skipLine skips the rest of a line that began before the current token.
func (p *parser) skipLine(line int) error {
	for p.tok.text != "" && p.tok.line == line {
		if err := p.advance(); err != nil {
			return err
		}
	}
	return nil
}

// skipTo skips the tokens up to and including the next semicolon.
func (p *parser) skipTo(end string) error {
	for p.tok.text != "" && p.tok.text != end {
		if err := p.advance(); err != nil {
			return err
		}
	}
	return p.expect(end)
}

// skipBraces skips a block in braces with all blocks inside it.
func (p *parser) skipBraces() error {
	open := p.tok.line
	if err := p.expect("{"); err != nil {
		return err
	}
	for depth := 1; depth > 0; {
		switch p.tok.text {
		case "":
			return p.errorf(open, "{ without }")
		case "{":
			depth++
		case "}":
			depth--
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	return nil
}

// statement parses one statement at module scope.
func (p *parser) statement() error {
	t := p.tok
	if t.text == "}" {
		return p.errorf(t.line, "} without {")
	}
	linkage := ""
	for {
		t = p.tok
		if err := p.advance(); err != nil {
			return err
		}
		switch t.text {
		case ".extern", ".visible", ".weak", ".common":
			linkage = t.text
			continue
		case ".version":
			return p.version()
		case ".target":
			w, err := p.word("a target")
			if err != nil {
				return err
			}
			p.m.Target = w
			return p.options()
		case ".address_size":
			n, err := p.number("an address size", 64)
			if err == nil && n != 64 {
				err = p.errorf(t.line, "address size 64 expected, got %d", n)
			}
			return err
		case ".file", ".loc", "@@DWARF":
			return p.skipLine(t.line)
		case ".section":
			if _, err := p.word("a section"); err != nil {
				return err
			}
			return p.skipBraces()
		case ".pragma", ".alias":
			return p.skipTo(";")
		case ".entry", ".func":
			return p.function(t.text == ".entry")
		case ".global", ".const", ".shared":
			list, err := p.variables(t.text[1:], linkage == ".extern")
			p.m.Vars = append(p.m.Vars, list...)
			return err
		case ";":
			return nil
		}
		return p.errorf(t.line, "a directive expected, got %v", t)
	}
}

// options skips the names after the first target.
func (p *parser) options() error {
	for {
		if ok, err := p.accept(","); !ok {
			return err
		}
		if _, err := p.word("a target option"); err != nil {
			return err
		}
	}
}

func (p *parser) version() error {
	line := p.tok.line
	w, err := p.word("a version")
	if err != nil {
		return err
	}
	major, minor, ok := strings.Cut(w, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if !ok || errA != nil || errB != nil || a < 1 || a > 99 || b < 0 || b > 9 {
		return p.errorf(line, "a version such as 7.8 expected, got %q", w)
	}
	p.m.ISA = 10*a + b
	return nil
}

// function parses an entry or a function, from the token after .entry or .func to the end of the body.
func (p *parser) function(entry bool) (err error) {
	f := &Func{Entry: entry, Line: p.tok.line}
	p.scope = newScope(p.top)
	defer func() { p.scope = p.top }()
	if !entry && p.tok.text == "(" {
		if f.Returns, err = p.params(); err != nil {
			return err
		}
	}
	what := "a function's name"
	if entry {
		what = "an entry's name"
	}
	if f.Name, err = p.word(what); err != nil {
		return err
	}
	if p.tok.text == "(" {
		if f.Params, err = p.params(); err != nil {
			return err
		}
	}
	for p.tok.text != "{" {
		switch t := p.tok; t.text {
		case ".maxntid", ".reqntid":
			f.MaxThreads, err = p.maxThreads()
		case ";":
			if !entry { // a prototype
				return p.advance()
			}
			return p.errorf(t.line, "the body of %s expected, got %v", f.Name, t)
		case "", "}":
			return p.errorf(t.line, "the body of %s expected, got %v", f.Name, t)
		default:
			err = p.advance()
		}
		if err != nil {
			return err
		}
	}
	if _, twice := p.m.Func(f.Name); twice {
		return p.errorf(f.Line, "%s is defined twice", f.Name)
	}
	p.f = f
	if err := p.body(); err != nil {
		return err
	}
	p.m.Funcs = append(p.m.Funcs, f)
	return nil
}

func (p *parser) maxThreads() (int, error) {
	n := 1
	for {
		if err := p.advance(); err != nil { // past .maxntid or the comma
			return 0, err
		}
		k, err := p.number("a block size", 1024)
		if err != nil {
			return 0, err
		}
		if n *= k; n > 1<<30 {
			return 0, p.errorf(p.tok.line, "block too large")
		}
		if p.tok.text != "," {
			return n, nil
		}
	}
}
