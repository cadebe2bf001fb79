package message

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// idlNames maps IDL's primitives to ROS names.
var idlNames = map[string]string{
	"boolean": "bool", "octet": "byte", "char": "char", "float": "float32", "double": "float64", "short": "int16", "long": "int32", "long long": "int64",
	"unsigned short": "uint16", "unsigned long": "uint32", "unsigned long long": "uint64", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
	"uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "string": "string", "wstring": "wstring",
}

const (
	maxName    = 255
	maxModules = 16 // nested
)

// idl parses IDL in the form that rosidl writes: modules, structs, constants, typedefs and enums, with annotations.
type idl struct {
	lib     *library
	toks    []token
	at      int
	path    []string // modules that enclose the declaration
	module  string   // path, joined
	consts  map[string]int
	aliases map[[2]string]rawField // typedefs and enums, by module and name
	bits    int                    // bits in the next enum, from its annotations
}

type token struct {
	text string
	line int
}

// stop is the panic that ends parsing if the text is not IDL.
type stop struct{ err *dataset.FormatError }

func (l *library) addIDL(text string, line int) {
	p := &idl{lib: l, consts: map[string]int{}, aliases: map[[2]string]rawField{}}
	defer func() {
		if v := recover(); v != nil {
			s, ok := v.(stop)
			if !ok {
				panic(v)
			}
			// Types parsed earlier stay. This error explains missing types.
			if l.broken == nil {
				l.broken = s.err
			}
		}
	}()
	p.toks = tokens(text, line)
	for p.at < len(p.toks) {
		p.declaration(0)
	}
}

// tokens splits IDL into words, literals and punctuation, without comments and preprocessor lines.
func tokens(text string, line int) (list []token) {
	for at := 0; at < len(text); {
		c, rest := text[at], text[at:]
		end := 1
		switch {
		case c == '\n':
			line++
			at++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			at++
			continue
		case c == '#' || strings.HasPrefix(rest, "//"):
			if end = strings.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
			at += end
			continue
		case strings.HasPrefix(rest, "/*"):
			if end = strings.Index(rest[2:], "*/"); end < 0 {
				end = len(rest)
			} else {
				end += 4
			}
			line += strings.Count(rest[:end], "\n")
			at += end
			continue
		case c == '"' || c == '\'':
			for end < len(rest) && rest[end] != c {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(rest))
		case strings.HasPrefix(rest, "::"):
			end = 2
		case isWord(c):
			for end < len(rest) && (isWord(rest[end]) || rest[end] == '.') {
				end++
			}
		}
		list = append(list, token{rest[:end], line})
		line += strings.Count(rest[:end], "\n")
		at += end
	}
	return list
}

func (p *idl) peek() string {
	if p.at < len(p.toks) {
		return p.toks[p.at].text
	}
	return ""
}

func (p *idl) next() string {
	s := p.peek()
	p.at++
	return s
}

// skip consumes a word or punctuation if it is next.
func (p *idl) skip(s string) bool {
	if p.peek() == s {
		p.at++
		return true
	}
	return false
}

func (p *idl) fail(kind error, got, want string) {
	line := 0
	if len(p.toks) > 0 {
		line = p.toks[min(p.at, len(p.toks)-1)].line
	}
	if got = strconv.Quote(clip(got)); p.at >= len(p.toks) {
		kind, got = dataset.ErrTruncated, "the end"
	}
	panic(stop{bad(p.lib.format, line, kind, "IDL", got, want)})
}

func (p *idl) want(s string) {
	if !p.skip(s) {
		p.fail(dataset.ErrCorrupt, p.peek(), "\""+s+"\"")
	}
}

func (p *idl) word() string {
	s := p.peek()
	if s == "" || !isWord(s[0]) || s[0] <= '9' || len(s) > maxName {
		p.fail(dataset.ErrCorrupt, s, "a name")
	}
	p.at++
	return s
}

// annotations reads "@name(...)". It records an enum's bits, and fails if the annotation allows missing fields.
func (p *idl) annotations() {
	p.bits = 32
	for p.skip("@") {
		at := p.at
		name, value := p.word(), ""
		for p.skip("::") {
			name = p.word()
		}
		if p.skip("(") {
			for depth := 1; depth > 0; {
				switch t := p.next(); t {
				case "(":
					depth++
				case ")":
					depth--
				case "":
					p.fail(dataset.ErrCorrupt, "", `")"`)
				default:
					value = t
				}
			}
		}
		text := "@" + name
		if value != "" {
			text += "(" + value + ")"
		}
		switch {
		case name == "optional", name == "mutable", name == "external", name == "extensibility" && value == "MUTABLE":
			p.at = at
			p.fail(dataset.ErrUnsupported, text, "types whose fields are all there, in order")
		case name == "bit_bound":
			var err error
			if p.bits, err = strconv.Atoi(value); err != nil || p.bits < 1 || p.bits > 32 {
				p.fail(dataset.ErrUnsupported, text, "1 to 32 bits")
			}
		}
	}
}

// declaration reads a declaration in a module.
func (p *idl) declaration(depth int) {
	p.annotations()
	if p.skip(";") {
		return
	}
	switch word := p.peek(); word {
	case "module":
		p.at++
		if depth > maxModules {
			p.fail(dataset.ErrTooLarge, word, "fewer modules in each other")
		}
		outside := p.module
		p.path = append(p.path, p.word())
		p.module = strings.Join(p.path, "::")
		p.want("{")
		for !p.skip("}") {
			p.declaration(depth + 1)
		}
		p.path, p.module = p.path[:len(p.path)-1], outside
	case "struct":
		p.at++
		p.structure()
	case "const":
		p.at++
		p.typ()
		name := p.word()
		p.want("=")
		from := p.at
		for p.peek() != ";" && p.peek() != "" {
			p.at++
		}
		delete(p.consts, name)
		if p.at == from+1 { // an expression has no value here, so that using its name as a bound is an error
			if v, err := strconv.ParseInt(p.toks[from].text, 0, 32); err == nil && v >= 0 {
				p.consts[name] = int(v)
			}
		}
	case "typedef":
		p.at++
		f := p.typ()
		for {
			d := p.declarator(f)
			p.aliases[[2]string{p.module, d.Name}] = d
			if !p.skip(",") {
				break
			}
		}
	case "enum":
		p.at++
		f := rawField{Field: Field{Kind: Uint32, Raw: "uint32"}}
		switch {
		case p.bits <= 8:
			f.Field = Field{Kind: Uint8, Raw: "uint8"}
		case p.bits <= 16:
			f.Field = Field{Kind: Uint16, Raw: "uint16"}
		}
		p.aliases[[2]string{p.module, p.word()}] = f
		p.want("{")
		for !p.skip("}") {
			p.annotations()
			p.word()
			p.skip(",")
		}
	case "":
		p.fail(dataset.ErrTruncated, "", `"}"`)
	default:
		p.fail(dataset.ErrUnsupported, word, "module, struct, const, typedef or enum")
	}
	p.skip(";")
}

func (p *idl) structure() {
	name := p.word()
	d := &definition{name: name}
	if len(p.path) > 0 {
		d.name = p.path[0] + "/" + name
	}
	if p.peek() == ":" {
		p.fail(dataset.ErrUnsupported, name+" : ...", "structs without a base")
	}
	p.want("{")
	seen := map[string]bool{}
	for !p.skip("}") {
		p.annotations()
		f := p.typ()
		for {
			m := p.declarator(f)
			if seen[m.Name] {
				p.fail(dataset.ErrCorrupt, m.Name+" twice", "each name once")
			}
			seen[m.Name] = true
			d.fields = append(d.fields, m)
			if !p.skip(",") {
				break
			}
		}
		p.want(";")
	}
	if len(d.fields) == 1 && d.fields[0].Name == "structure_needs_at_least_one_member" {
		d.fields = nil // this field represents an empty struct, which also takes one byte
	}
	p.lib.put(d)
}

// number reads a length or bound: a literal or a constant.
func (p *idl) number() int {
	s := p.next()
	for p.skip("::") {
		s = p.next()
	}
	if v, err := strconv.ParseUint(s, 0, 32); err == nil && v <= maxLen {
		return int(v)
	}
	v, ok := p.consts[s]
	if !ok || v > maxLen {
		p.fail(dataset.ErrCorrupt, s, fmt.Sprintf("a number up to %d", maxLen))
	}
	return v
}

// typ reads a type without the dimensions after a name.
func (p *idl) typ() (f rawField) {
	name := p.peek()
	switch name {
	case "sequence":
		p.at++
		p.want("<")
		if p.peek() != "sequence" {
			f = p.typ()
		}
		if f.Raw == "" || f.Array != One {
			p.fail(dataset.ErrUnsupported, "a sequence of arrays", "one of single values")
		}
		f.Array = Sequence
		if p.skip(",") {
			f.Len = p.number()
		}
		p.want(">")
		return f
	case "string", "wstring":
		p.at++
		if p.skip("<") {
			p.number()
			p.want(">")
		}
	case "unsigned", "long":
		p.at++
		for p.peek() == "long" || p.peek() == "short" {
			name += " " + p.next()
		}
	default:
		p.skip("::")
		name = p.word()
		for p.skip("::") {
			name += "::" + p.word()
		}
	}
	scope, base := "", name
	if at := strings.LastIndex(name, "::"); at >= 0 {
		scope, base = name[:at], name[at+2:]
	}
	for depth := len(p.path); depth >= 0; depth-- { // the innermost module first
		parts := slices.Clone(p.path[:depth])
		if scope != "" {
			parts = append(parts, scope)
		}
		if a, ok := p.aliases[[2]string{strings.Join(parts, "::"), base}]; ok {
			return a
		}
	}
	if ros, ok := idlNames[name]; ok {
		f.Raw = ros
		f.Kind, _ = primitive(ros, false)
		return f
	}
	if strings.Contains(name, " ") || name == "wchar" || name == "fixed" || name == "any" || name == "map" {
		p.fail(dataset.ErrUnsupported, name, "a type that ROS has")
	}
	f.Kind, f.ref, f.Raw = Struct, name, shortName(name)
	return f
}

// declarator reads a name and its dimensions. Several dimensions become one.
func (p *idl) declarator(f rawField) rawField {
	f.Name = p.word()
	for p.skip("[") {
		n := p.number()
		p.want("]")
		switch {
		case f.Array == Sequence:
			p.fail(dataset.ErrUnsupported, "an array of sequences", "one of single values")
		case f.Array == Fixed && n > 0 && f.Len > maxLen/n:
			p.fail(dataset.ErrTooLarge, "an array of more", fmt.Sprintf("up to %d", maxLen))
		case f.Array == Fixed:
			f.Len *= n
		default:
			f.Array, f.Len = Fixed, n
		}
	}
	return f
}
