package ptxscan

import (
	"strconv"
	"strings"
)

// MaxParams is the most bytes of parameters that any PTX version gives an entry.
const MaxParams = 32764

// Module is the outline of one PTX text.
type Module struct {
	ISA     int    // .version, 78 for 7.8
	Target  string // first name after .target, such as sm_90
	Entries []Entry
}

// Entry is one kernel.
type Entry struct {
	Name       string
	Params     []Param
	MaxThreads int      // product of .maxntid, 0 without one
	Opcodes    []string // with qualifiers, each once, in order of appearance
}

// Param is one kernel parameter. A struct is an array of bytes: Type b8, Size the whole.
type Param struct {
	Type        string // without the dot
	Size, Align int
}

var typeSizes = map[string]int{
	"b8": 1, "u8": 1, "s8": 1,
	"b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
	"b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4,
	"b64": 8, "u64": 8, "s64": 8, "f64": 8,
	"b128": 16,
}

// scanner holds the token under the cursor.
type scanner struct {
	lexer
	tok token
}

// Scan reads a PTX text. It returns a *SyntaxError for what it cannot read, and for a module without version or target.
func Scan(text []byte) (*Module, error) {
	s := &scanner{lexer: lexer{src: text, line: 1}}
	if err := s.advance(); err != nil {
		return nil, err
	}
	m := &Module{}
	for s.tok.text != "" {
		var err error
		switch s.tok.text {
		case ".version":
			m.ISA, err = s.version()
		case ".target":
			if err = s.advance(); err == nil {
				m.Target, err = s.word("a target")
			}
		case ".entry":
			var e Entry
			if e, err = s.entry(); err == nil {
				m.Entries = append(m.Entries, e)
			}
		case "{":
			err = s.body(nil)
		case "}":
			err = s.errorf(s.tok.line, "} without {")
		default:
			err = s.advance()
		}
		if err != nil {
			return nil, err
		}
	}
	if m.ISA == 0 {
		return nil, s.errorf(s.line, "no .version")
	}
	if m.Target == "" {
		return nil, s.errorf(s.line, "no .target")
	}
	return m, nil
}

func (s *scanner) advance() error {
	t, err := s.next()
	s.tok = t
	return err
}

// word takes the token under the cursor, which must be a word.
func (s *scanner) word(what string) (string, error) {
	t := s.tok
	if t.text == "" || !isWord(t.text[0]) {
		return "", s.errorf(t.line, "%s expected, got %v", what, t)
	}
	return t.text, s.advance()
}

func (s *scanner) expect(text string) error {
	if s.tok.text != text {
		return s.errorf(s.tok.line, "%q expected, got %v", text, s.tok)
	}
	return s.advance()
}

// number takes a decimal number in [1, limit].
func (s *scanner) number(what string, limit int) (int, error) {
	line := s.tok.line
	w, err := s.word(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > limit {
		return 0, s.errorf(line, "%s from 1 to %d expected, got %q", what, limit, w)
	}
	return n, nil
}

func (s *scanner) version() (int, error) {
	if err := s.advance(); err != nil {
		return 0, err
	}
	line := s.tok.line
	w, err := s.word("a version")
	if err != nil {
		return 0, err
	}
	major, minor, ok := strings.Cut(w, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if !ok || errA != nil || errB != nil || a < 1 || a > 99 || b < 0 || b > 9 {
		return 0, s.errorf(line, "a version such as 7.8 expected, got %q", w)
	}
	return 10*a + b, nil
}

// entry reads from .entry to the end of its body.
func (s *scanner) entry() (Entry, error) {
	var e Entry
	err := s.advance()
	if err != nil {
		return e, err
	}
	if e.Name, err = s.word("an entry's name"); err != nil {
		return e, err
	}
	if s.tok.text == "(" {
		if e.Params, err = s.params(); err != nil {
			return e, err
		}
	}
	for s.tok.text != "{" {
		switch s.tok.text {
		case ".maxntid":
			e.MaxThreads, err = s.maxThreads()
		case "", ";", "}":
			err = s.errorf(s.tok.line, "the body of %s expected, got %v", e.Name, s.tok)
		default:
			err = s.advance()
		}
		if err != nil {
			return e, err
		}
	}
	seen := map[string]bool{}
	err = s.body(func(op string) {
		if !seen[op] {
			seen[op] = true
			e.Opcodes = append(e.Opcodes, op)
		}
	})
	return e, err
}

func (s *scanner) maxThreads() (int, error) {
	n := 1
	for {
		if err := s.advance(); err != nil { // past .maxntid or the comma
			return 0, err
		}
		k, err := s.number("a block size", 1024)
		if err != nil {
			return 0, err
		}
		if n *= k; n > 1<<30 {
			return 0, s.errorf(s.tok.line, "block too large")
		}
		if s.tok.text != "," {
			return n, nil
		}
	}
}

// params reads the list in parentheses.
func (s *scanner) params() ([]Param, error) {
	var list []Param
	total := 0
	if err := s.advance(); err != nil {
		return nil, err
	}
	for s.tok.text != ")" {
		if len(list) > 0 {
			if err := s.expect(","); err != nil {
				return nil, err
			}
		}
		p, err := s.param()
		if err != nil {
			return nil, err
		}
		if total = (total+p.Align-1)/p.Align*p.Align + p.Size; total > MaxParams {
			return nil, s.errorf(s.tok.line, "more than %d bytes of parameters", MaxParams)
		}
		list = append(list, p)
	}
	return list, s.advance()
}

// param reads .param [.align N] .type [.ptr [.space] [.align N]] name [ '[' N ']' ].
func (s *scanner) param() (Param, error) {
	var p Param
	if err := s.expect(".param"); err != nil {
		return p, err
	}
	pointee := false // an .align after .ptr is about what the pointer points to
	for strings.HasPrefix(s.tok.text, ".") {
		line := s.tok.line
		w, err := s.word("a type")
		if err != nil {
			return p, err
		}
		switch {
		case w == ".ptr":
			pointee = true
		case w == ".align":
			n, err := s.number("an alignment", 1<<15)
			if err != nil {
				return p, err
			}
			if n&(n-1) != 0 {
				return p, s.errorf(line, "alignment %d is no power of two", n)
			}
			if !pointee {
				p.Align = n
			}
		case typeSizes[w[1:]] != 0:
			p.Type, p.Size = w[1:], typeSizes[w[1:]]
		case pointee: // the state space that the pointer points to
		default:
			return p, s.errorf(line, "unknown parameter type %q", w)
		}
	}
	line := s.tok.line
	if p.Type == "" {
		return p, s.errorf(line, "parameter without a type")
	}
	if _, err := s.word("a parameter's name"); err != nil {
		return p, err
	}
	p.Align = max(p.Align, p.Size)
	if s.tok.text != "[" {
		return p, nil
	}
	if err := s.advance(); err != nil {
		return p, err
	}
	n, err := s.number("an array length", MaxParams)
	if err != nil {
		return p, err
	}
	if p.Size *= n; p.Size > MaxParams {
		return p, s.errorf(line, "a parameter of %d bytes is over %d", p.Size, MaxParams)
	}
	return p, s.expect("]")
}

// body reads a block in braces, with the blocks inside it, and hands over the opcode of every instruction.
func (s *scanner) body(opcode func(string)) error {
	open, depth, start := s.tok.line, 0, true
	vector := false // inside the braces of an operand
	for {
		t := s.tok
		if t.text == "" {
			return s.errorf(open, "{ without }")
		}
		if err := s.advance(); err != nil {
			return err
		}
		switch t.text {
		case "{":
			if vector = !start; !vector {
				depth++
			}
		case "}":
			if vector {
				vector = false
				break
			}
			if depth--; depth == 0 {
				return nil
			}
			start = true
		case ";", ":":
			start = true
		case ".loc": // ends with its line, not with a semicolon
			for s.tok.text != "" && s.tok.line == t.line {
				if err := s.advance(); err != nil {
					return err
				}
			}
		case "@", "!":
			// A guard, @p or @!p: the opcode comes after the predicate.
			if start && t.text == "@" {
				if s.tok.text == "!" {
					if err := s.advance(); err != nil {
						return err
					}
				}
				if _, err := s.word("a predicate"); err != nil {
					return err
				}
			}
		default:
			// A word before a colon is a label.
			if start && opcode != nil && isWord(t.text[0]) && t.text[0] != '.' && s.tok.text != ":" {
				opcode(t.text)
			}
			start = false
		}
	}
}
