package main

import "slices"

// The declarations under RC_HOST and RC_FLAG, as written. Expressions are still tokens.
type (
	constant struct {
		name, typ, doc string
		line           int
		expr           []token // nil for an enumerator without a value
		u              *unit
		before         *constant // the enumerator before it
		state          int       // evaluation state
		value          value
	}
	enumeration struct {
		name, typ, doc string
		line           int
		items          []*constant
		u              *unit
	}
	field struct {
		name, typ, doc string
		line           int
		pointer        bool
		dims           [][]token
	}
	structure struct {
		name, doc string
		line      int
		align     []token // the argument of alignas
		fields    []field
		u         *unit
		state     int
		layout    layout
	}
	flagDecl struct {
		word, typ, name, doc string
		line                 int
		shift, width         []token
	}
	flags struct { // the flags in one struct
		of   string
		list []flagDecl
		u    *unit
	}
)

// declarations lists one source's declarations in order: *constant, *enumeration, *structure and *flags.
type declarations []any

// reader reads tokens in order.
type reader struct {
	u  *unit
	at int
}

func (r *reader) peek(ahead int) token {
	if i := r.at + ahead; i < len(r.u.tokens) {
		return r.u.tokens[i]
	}
	return token{text: "the end of the file", line: r.line()}
}

// line returns the line of the last token read.
func (r *reader) line() int {
	if r.at == 0 || len(r.u.tokens) == 0 {
		return 1
	}
	return r.u.tokens[min(r.at, len(r.u.tokens))-1].line
}

func (r *reader) accept(text string) bool {
	if t := r.peek(0); t.text == text && t.kind != quoted && r.at < len(r.u.tokens) {
		r.at++
		return true
	}
	return false
}

func (r *reader) expect(text string) error {
	if !r.accept(text) {
		return r.unexpected(text)
	}
	return nil
}

func (r *reader) unexpected(want string) error {
	t := r.peek(0)
	return r.u.errorf(t.line, "%s wanted, got %q", want, t.text)
}

func (r *reader) name(what string) (string, error) {
	if t := r.peek(0); t.kind == ident {
		r.at++
		return t.text, nil
	}
	return "", r.unexpected(what)
}

// until returns the tokens before one of the given ends, and stops there. Ends inside brackets do not count.
func (r *reader) until(ends ...string) ([]token, error) {
	begin, depth := r.at, 0
	for ; r.at < len(r.u.tokens); r.at++ {
		t := r.peek(0)
		if t.kind == punct {
			switch {
			case depth == 0 && slices.Contains(ends, t.text):
				return r.u.tokens[begin:r.at], nil
			case slices.Contains([]string{"(", "[", "{"}, t.text):
				depth++
			case slices.Contains([]string{")", "]", "}"}, t.text):
				depth--
			}
		}
		if depth < 0 {
			break
		}
	}
	return nil, r.unexpected(ends[0])
}

// declared returns the declarations in a source that are for the host.
func declared(u *unit) (declarations, error) {
	var all declarations
	r := &reader{u: u}
	var open []string // the struct name for each open brace, or ""
	pending := ""
	words := map[string]*flags{}
	for r.at < len(u.tokens) {
		t := u.tokens[r.at]
		switch {
		case t.kind == ident && t.text == "RC_HOST":
			if t.ifs > 0 {
				return nil, u.errorf(t.line, "RC_HOST inside #if: the host cannot tell")
			}
			list, at, err := host(&reader{u, r.at + 1}, t.line)
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
			if _, ok := list[0].(*structure); !ok {
				r.at = at
				continue
			}
		case t.kind == ident && t.text == "RC_FLAG":
			if t.ifs > 0 {
				return nil, u.errorf(t.line, "RC_FLAG inside #if: the host cannot tell")
			}
			if len(open) == 0 || open[len(open)-1] == "" {
				return nil, u.errorf(t.line, "RC_FLAG outside of a struct")
			}
			r.at++
			f, err := readFlag(r, t.line)
			if err != nil {
				return nil, err
			}
			of := open[len(open)-1]
			if words[of] == nil {
				words[of] = &flags{of: of, u: u}
				all = append(all, words[of])
			}
			words[of].list = append(words[of].list, f)
			continue
		case t.kind == ident && t.text == "struct":
			pending = structName(r)
		case t.kind == punct && t.text == "{":
			open, pending = append(open, pending), ""
		case t.kind == punct && t.text == "}":
			if len(open) == 0 {
				return nil, u.errorf(t.line, "} without {")
			}
			open = open[:len(open)-1]
		case t.kind == punct && (t.text == ";" || t.text == ")"):
			pending = ""
		}
		r.at++
	}
	return all, nil
}

// structName peeks at the name after struct, which may follow alignas. Its bracket does not end a pending struct name.
func structName(r *reader) string {
	at := *r
	at.at++
	if at.accept("alignas") {
		if at.expect("(") != nil {
			return ""
		}
		if _, err := at.until(")"); err != nil {
			return ""
		}
		at.at++
	}
	name, err := at.name("a name")
	if err != nil {
		return ""
	}
	r.at = at.at - 1
	return name
}

// host reads the declaration after RC_HOST.
func host(r *reader, line int) (declarations, int, error) {
	var list declarations
	var err error
	switch {
	case r.accept("constexpr"):
		list, err = readConstants(r, line)
	case r.accept("enum"):
		list, err = readEnum(r, line)
	case r.accept("struct"):
		list, err = readStruct(r, line)
	default:
		err = r.unexpected("constexpr, enum or struct behind RC_HOST")
	}
	return list, r.at, err
}

func readConstants(r *reader, line int) (list declarations, err error) {
	typ, err := r.name("a type")
	if err != nil {
		return nil, err
	}
	for {
		c := &constant{typ: typ, u: r.u}
		if c.name, err = r.name("a name"); err != nil {
			return nil, err
		}
		c.line = r.line()
		if err = r.expect("="); err != nil {
			return nil, err
		}
		if c.expr, err = r.until(",", ";"); err != nil {
			return nil, err
		}
		c.doc = r.u.docOf(c.line, r.line())
		if c.line != line { // a comment above documents the first only
			c.doc = r.u.after(r.line())
		}
		list = append(list, c)
		if r.accept(";") {
			return list, nil
		}
		r.at++ // the comma
	}
}

func readEnum(r *reader, line int) (_ declarations, err error) {
	e := &enumeration{line: line, u: r.u}
	if e.name, err = r.name("an enum's name"); err != nil {
		return nil, err
	}
	if err = r.expect(":"); err != nil {
		return nil, err
	}
	if e.typ, err = r.name("a type"); err != nil {
		return nil, err
	}
	if err = r.expect("{"); err != nil {
		return nil, err
	}
	open := r.line()
	var before *constant
	for !r.accept("}") {
		c := &constant{typ: e.typ, u: r.u, before: before}
		if c.name, err = r.name("an enumerator"); err != nil {
			return nil, err
		}
		c.line = r.line()
		if r.accept("=") {
			if c.expr, err = r.until(",", "}"); err != nil {
				return nil, err
			}
		}
		e.items = append(e.items, c)
		before = c
		if !r.accept(",") && r.peek(0).text != "}" {
			return nil, r.unexpected(", or }")
		}
	}
	last := r.line()
	if err = r.expect(";"); err != nil {
		return nil, err
	}
	if len(e.items) == 0 {
		return nil, r.u.errorf(line, "enum %s has no enumerators", e.name)
	}
	for _, c := range e.items {
		if c.line != open && c.line != last {
			c.doc = r.u.docOf(c.line, c.line)
		}
	}
	e.doc = r.u.docOf(line, last)
	return declarations{e}, nil
}

func readStruct(r *reader, line int) (_ declarations, err error) {
	s := &structure{line: line, u: r.u}
	if r.accept("alignas") {
		if err = r.expect("("); err == nil {
			s.align, err = r.until(")")
		}
		if err != nil {
			return nil, err
		}
		r.at++
	}
	if s.name, err = r.name("a struct's name"); err != nil {
		return nil, err
	}
	if err = r.expect("{"); err != nil {
		return nil, err
	}
	s.doc = r.u.docOf(line, r.line())
	for !r.accept("}") {
		if err = readMember(r, s); err != nil {
			return nil, err
		}
	}
	if err = r.expect(";"); err != nil {
		return nil, err
	}
	if len(s.fields) == 0 {
		return nil, r.u.errorf(line, "struct %s has no fields", s.name)
	}
	return declarations{s}, nil
}

// readMember reads a field declaration, or skips a function, an RC_FLAG or an assertion.
func readMember(r *reader, s *structure) (err error) {
	t := r.peek(0)
	switch t.text {
	case "RC_FLAG":
		r.at++
		_, err = readFlag(r, t.line)
		return err
	case "static_assert":
		_, err = r.until(";")
		r.at++
		return err
	case "RC_FN_MEMBER", "template":
		if _, err = r.until("{", ";"); err != nil {
			return err
		}
		if !r.accept("{") {
			r.at++ // the semicolon after a function that is only declared
			return nil
		}
		_, err = r.until("}")
		r.at++
		r.accept(";")
		return err
	}
	if t.kind == directive || t.ifs > 0 {
		return r.u.errorf(t.line, "a directive among the fields of %s: the host cannot tell", s.name)
	}
	first := t.line
	r.accept("const")
	typ, err := r.name("a field's type")
	if err != nil {
		return err
	}
	if slices.Contains([]string{"static", "constexpr", "using", "union", "struct", "enum", "mutable", "volatile", "alignas", "unsigned", "signed", "long", "friend", "public", "private"}, typ) {
		return r.u.errorf(r.line(), "%q is not understood in struct %s: fields, RC_FN_MEMBER functions, templates and RC_FLAG are", typ, s.name)
	}
	r.accept("const")
	begin := len(s.fields)
	for {
		f := field{typ: typ}
		for r.accept("*") {
			f.pointer = true
		}
		for r.accept("const") || r.accept("__restrict__") {
		}
		if f.name, err = r.name("a field's name"); err != nil {
			return err
		}
		f.line = r.line()
		for r.accept("[") {
			n, err := r.until("]")
			if err != nil {
				return err
			}
			r.at++
			f.dims = append(f.dims, n)
		}
		s.fields = append(s.fields, f)
		if r.accept(";") {
			break
		}
		if err = r.expect(","); err != nil {
			return err
		}
	}
	doc := r.u.after(r.line())
	if doc == "" {
		doc = r.u.docOf(first, r.line())
	}
	for i := begin; i < len(s.fields); i++ {
		s.fields[i].doc = doc
		if l := s.fields[i].line; l != r.line() && r.u.after(l) != "" {
			s.fields[i].doc = r.u.after(l)
		}
	}
	return nil
}

// readFlag reads the arguments of RC_FLAG.
func readFlag(r *reader, line int) (f flagDecl, err error) {
	f.line = line
	for i, to := range []*string{&f.word, &f.typ, &f.name} {
		if err = r.expect([]string{"(", ",", ","}[i]); err != nil {
			return f, err
		}
		if *to, err = r.name([]string{"a word", "a type", "a name"}[i]); err != nil {
			return f, err
		}
	}
	if err = r.expect(","); err != nil {
		return f, err
	}
	if f.shift, err = r.until(","); err != nil {
		return f, err
	}
	r.at++
	if f.width, err = r.until(")"); err != nil {
		return f, err
	}
	r.at++
	f.doc = r.u.after(r.line())
	r.accept(";")
	return f, nil
}
