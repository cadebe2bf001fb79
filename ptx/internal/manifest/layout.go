package main

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// basic describes a C++ type in Go and in memory.
type basic struct {
	goType string
	size   int
	signed bool
}

var basics = map[string]basic{
	"u8": {"uint8", 1, false}, "u16": {"uint16", 2, false}, "u32": {"uint32", 4, false}, "u64": {"uint64", 8, false},
	"i32": {"int32", 4, true}, "i64": {"int64", 8, true}, "float": {"float32", 4, true}, "double": {"float64", 8, true},
}

// cell is a struct field with its memory layout.
type cell struct {
	field
	goName, goType string // for one element
	of             *structure
	dims           []int
	offset, size   int // of the whole field
}

type layout struct {
	cells       []cell
	size, align int
}

// surface holds all host declarations in a folder's sources.
type surface struct {
	files   []string // sorted
	decls   map[string]declarations
	consts  map[string]*constant
	enums   map[string]*enumeration
	structs map[string]*structure
	goNames map[string]string // positions by Go name
}

const (
	untouched = iota
	underWay
	done
)

// camel converts a name to Go's style: src_batch becomes SrcBatch.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// enumerator returns an enumerator's Go name: the enum's name followed by its own, without the enum's name as a prefix.
func enumerator(enum, name string) string {
	return camel(enum) + camel(strings.TrimPrefix(name, enum+"_"))
}

// survey collects the declarations from all sources and computes the struct layouts. taken holds the Go names already in the package.
func survey(units map[string]*unit, taken map[string]string) (*surface, error) {
	s := &surface{decls: map[string]declarations{}, consts: map[string]*constant{}, enums: map[string]*enumeration{},
		structs: map[string]*structure{}, goNames: map[string]string{}}
	for name, where := range taken {
		s.goNames[name] = where
	}
	for file := range units {
		s.files = append(s.files, file)
	}
	slices.Sort(s.files)
	seen := map[string]string{}
	for _, file := range s.files {
		u := units[file]
		list, err := declared(u)
		if err != nil {
			return nil, err
		}
		s.decls[file] = list
		// claim reserves a name in C++, if it is a host name, and one in Go.
		claim := func(line int, name, goName string) error {
			where := fmt.Sprintf("%s:%d", file, line)
			if seen[name] != "" {
				return u.errorf(line, "%s is declared at %s too: the host knows no namespaces", name, seen[name])
			}
			if s.goNames[goName] != "" {
				return u.errorf(line, "%s is %s in Go, as is what is declared at %s", name, goName, s.goNames[goName])
			}
			if goName == "" || !isLetter(goName[0]) {
				return u.errorf(line, "%s has no name in Go", name)
			}
			seen[name], s.goNames[goName] = where, where
			return nil
		}
		for _, d := range list {
			switch d := d.(type) {
			case *constant:
				s.consts[d.name] = d
				err = claim(d.line, d.name, camel(d.name))
			case *enumeration:
				s.enums[d.name] = d
				err = claim(d.line, d.name, "enum "+camel(d.name)) // the enum has no Go type
				for _, c := range d.items {
					s.consts[c.name] = c
					if err == nil {
						err = claim(c.line, c.name, enumerator(d.name, c.name))
					}
				}
			case *structure:
				s.structs[d.name] = d
				err = claim(d.line, d.name, camel(d.name))
			}
			if err != nil {
				return nil, err
			}
		}
		for _, d := range list {
			if d, ok := d.(*flags); ok {
				for _, f := range d.list {
					if goName := flagsName(d.of, f.word); seen["flags "+d.of+" "+f.word] == "" {
						if err := claim(f.line, "flags "+d.of+" "+f.word, goName); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	for _, file := range s.files {
		for _, d := range s.decls[file] {
			if err := s.resolve(d); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func flagsName(of, word string) string { return camel(of) + camel(word) }

func (s *surface) resolve(d any) error {
	switch d := d.(type) {
	case *constant:
		_, err := s.constant(d)
		return err
	case *enumeration:
		for _, c := range d.items {
			if _, err := s.constant(c); err != nil {
				return err
			}
		}
	case *structure:
		return s.lay(d)
	case *flags:
		_, err := s.words(d)
		return err
	}
	return nil
}

func (s *surface) expression(u *unit, in []token) *expression {
	return &expression{u: u, in: in,
		names: func(name string, line int) (value, error) {
			c, ok := s.consts[name]
			if !ok {
				return value{}, u.errorf(line, "%s is not a constant that is marked RC_HOST", name)
			}
			return s.constant(c)
		},
		size: func(name string, line int) (int, error) {
			_, size, _, err := s.typeOf(u, line, name)
			return size, err
		}}
}

func (s *surface) constant(c *constant) (value, error) {
	switch c.state {
	case done:
		return c.value, nil
	case underWay:
		return value{}, c.u.errorf(c.line, "%s is made of itself", c.name)
	}
	c.state = underWay
	b, ok := basics[c.typ]
	if !ok || strings.HasPrefix(b.goType, "float") {
		return value{}, c.u.errorf(c.line, "%s is a %s: the constants of the host are integers", c.name, c.typ)
	}
	v := value{big.NewInt(0), 64, false}
	var err error
	switch {
	case c.expr != nil:
		v, err = s.expression(c.u, c.expr).evaluate(c.line)
	case c.before != nil:
		v, err = s.constant(c.before)
		v.n = new(big.Int).Add(v.n, big.NewInt(1))
	}
	if err != nil {
		return v, err
	}
	c.value = value{v.n, 8 * b.size, !b.signed}
	if !c.value.fits() {
		return v, c.u.errorf(c.line, "%s is %v, which does not fit a %s", c.name, v.n, c.typ)
	}
	c.state = done
	return c.value, nil
}

// number evaluates an expression that must be in [least, most].
func (s *surface) number(u *unit, line int, what string, in []token, least, most int) (int, error) {
	v, err := s.expression(u, in).evaluate(line)
	if err != nil {
		return 0, err
	}
	if v.n.Cmp(big.NewInt(int64(least))) < 0 || v.n.Cmp(big.NewInt(int64(most))) > 0 {
		return 0, u.errorf(line, "%s is %v, not from %d to %d", what, v.n, least, most)
	}
	return int(v.n.Int64()), nil
}

// typeOf returns a type's Go name, size and alignment.
func (s *surface) typeOf(u *unit, line int, name string) (goType string, size, align int, err error) {
	if e, ok := s.enums[name]; ok {
		name = e.typ
	}
	if b, ok := basics[name]; ok {
		return b.goType, b.size, b.size, nil
	}
	d, ok := s.structs[name]
	if !ok {
		return "", 0, 0, u.errorf(line, "%s is no type that the host knows: mark it RC_HOST", name)
	}
	if err := s.lay(d); err != nil {
		return "", 0, 0, err
	}
	return camel(name), d.layout.size, d.layout.align, nil
}

// mostBytes limits a struct's size; no kernel needs more.
const mostBytes = 1 << 20

func (s *surface) lay(d *structure) error {
	switch d.state {
	case done:
		return nil
	case underWay:
		return d.u.errorf(d.line, "struct %s holds itself", d.name)
	}
	d.state = underWay
	l := layout{align: 1}
	names := map[string]bool{"Bytes": true}
	for _, f := range d.fields {
		c := cell{field: f, goName: camel(f.name), goType: "uint64", size: 8}
		align := 8
		if !f.pointer {
			var err error
			if c.goType, c.size, align, err = s.typeOf(d.u, f.line, f.typ); err != nil {
				return err
			}
			c.of = s.structs[f.typ]
		}
		if names[c.goName] || c.goName == "" || !isLetter(c.goName[0]) {
			return d.u.errorf(f.line, "field %s of %s: the name %q is taken or cannot be", f.name, d.name, c.goName)
		}
		names[c.goName] = true
		for _, in := range f.dims {
			n, err := s.number(d.u, f.line, "the length of "+f.name, in, 1, mostBytes)
			if err != nil {
				return err
			}
			c.dims = append(c.dims, n)
			if c.size *= n; c.size > mostBytes {
				return d.u.errorf(f.line, "%s has more than %d bytes", f.name, mostBytes)
			}
		}
		c.offset = up(l.size, align)
		l.size, l.align = c.offset+c.size, max(l.align, align)
		l.cells = append(l.cells, c)
	}
	if d.align != nil {
		n, err := s.number(d.u, d.line, "alignas", d.align, 1, 128)
		if err != nil {
			return err
		}
		if n&(n-1) != 0 || n < l.align {
			return d.u.errorf(d.line, "alignas(%d) of %s, whose fields need %d", n, d.name, l.align)
		}
		l.align = n
	}
	l.size = up(l.size, l.align)
	d.layout, d.state = l, done
	return nil
}

func up(n, align int) int { return (n + align - 1) / align * align }

// bits is a field in a word of flags.
type bits struct {
	flagDecl
	goName       string
	isBool       bool
	shift, width int
}

// word is a word of flags with its fields, in order.
type word struct {
	of, name string
	fields   []bits
}

// words groups a struct's flags by word, and checks that they fit and do not overlap.
func (s *surface) words(d *flags) ([]word, error) {
	var list []word
	for _, f := range d.list {
		at := slices.IndexFunc(list, func(w word) bool { return w.name == f.word })
		if at < 0 {
			at, list = len(list), append(list, word{of: d.of, name: f.word})
		}
		b := bits{flagDecl: f, goName: camel(f.name), isBool: f.typ == "bool"}
		var err error
		if b.shift, err = s.number(d.u, f.line, "the shift of "+f.name, f.shift, 0, 31); err != nil {
			return nil, err
		}
		if b.width, err = s.number(d.u, f.line, "the width of "+f.name, f.width, 1, 31); err != nil {
			return nil, err
		}
		_, isEnum := s.enums[f.typ]
		whole, isBasic := basics[f.typ]
		switch {
		case b.shift+b.width > 32:
			return nil, d.u.errorf(f.line, "%s ends past bit 31 of %s", f.name, f.word)
		case b.isBool && b.width != 1:
			return nil, d.u.errorf(f.line, "%s is a bool of %d bits", f.name, b.width)
		case !b.isBool && !isEnum && (!isBasic || whole.signed):
			return nil, d.u.errorf(f.line, "%s is a %s: u32, another unsigned number, bool or an RC_HOST enum wanted", f.name, f.typ)
		case isBasic && b.width > 8*whole.size:
			return nil, d.u.errorf(f.line, "%s has %d bits, more than a %s", f.name, b.width, f.typ)
		}
		for _, o := range list[at].fields {
			if o.goName == b.goName || o.shift < b.shift+b.width && b.shift < o.shift+o.width {
				return nil, d.u.errorf(f.line, "%s and %s share a name or bits of %s", f.name, o.name, f.word)
			}
		}
		if of, ok := s.structs[d.of]; ok && !slices.ContainsFunc(of.fields, func(c field) bool {
			return c.name == f.word && c.typ == "u32" && !c.pointer && c.dims == nil
		}) {
			return nil, d.u.errorf(f.line, "%s has no field u32 %s", d.of, f.word)
		}
		list[at].fields = append(list[at].fields, b)
	}
	return list, nil
}
