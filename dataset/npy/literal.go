package npy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
)

// literal reads the Python dictionary of a header: strings, True, False, tuples of integers, and the lists of records' fields.
type literal struct {
	text   string
	at     int
	base   int64
	latin1 bool // a byte is a character, as in versions 1 and 2; otherwise the text is UTF-8
}

// maxDepth is how deep records may lie in records.
const maxDepth = 32

// dtype is a type in a header: an element's type, or the fields of a record; with a shape, an array of these.
type dtype struct {
	text   string // of one element: "<f4"; of records, the list
	record bool
	fields []named
	shape  []int
	at     int // where it stands in the header
}

type named struct {
	name string
	dtype
}

func (p *literal) fail(want string) error {
	got := "the end of the header"
	if p.at < len(p.text) {
		got = strconv.Quote(p.text[p.at:min(p.at+16, len(p.text))])
	}
	return &dataset.FormatError{Format: "npy", Offset: p.base + int64(p.at), Kind: dataset.ErrCorrupt, Msg: "array header", Got: got, Want: want}
}

func (p *literal) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take skips space, then one character if it is c.
func (p *literal) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *literal) header(h *Header) error {
	if !p.take('{') {
		return p.fail("'{'")
	}
	seen := map[string]bool{}
	for !p.take('}') {
		start := p.at
		key, err := p.str()
		if err != nil {
			return err
		}
		if seen[key] {
			p.at = start
			return p.fail("each key once")
		}
		seen[key] = true
		if !p.take(':') {
			return p.fail("':'")
		}
		p.space()
		switch key {
		case "descr":
			h.dtype, err = p.dtype(0)
		case "fortran_order":
			h.Fortran, err = p.boolean()
		case "shape":
			h.Shape, err = p.tuple()
		default:
			p.at = start
			err = p.fail("descr, fortran_order or shape")
		}
		if err != nil {
			return err
		}
		if !p.take(',') {
			if !p.take('}') {
				return p.fail("',' or '}'")
			}
			break
		}
	}
	if len(seen) != 3 {
		return p.fail("descr, fortran_order and shape")
	}
	if p.space(); p.at != len(p.text) {
		return p.fail("nothing after the dictionary")
	}
	return nil
}

// dtype reads 'f4', a list of fields, or a tuple of one of these and a shape.
func (p *literal) dtype(depth int) (d dtype, err error) {
	if depth > maxDepth {
		return d, &dataset.FormatError{Format: "npy", Offset: p.base + int64(p.at), Kind: dataset.ErrTooLarge, Msg: "element type", Got: "records in records", Want: fmt.Sprintf("at most %d deep", maxDepth)}
	}
	p.space()
	start := p.at
	switch {
	case p.take('('):
		if d, err = p.dtype(depth + 1); err != nil {
			return d, err
		}
		if len(d.shape) > 0 || !p.take(',') {
			return d, p.fail("a type and a shape")
		}
		if d.shape, err = p.tuple(); err != nil {
			return d, err
		}
		if p.take(','); !p.take(')') {
			return d, p.fail("')'")
		}
	case p.take('['):
		d.record = true
		for !p.take(']') {
			f, err := p.field(depth)
			if err != nil {
				return d, err
			}
			d.fields = append(d.fields, f)
			if !p.take(',') {
				if !p.take(']') {
					return d, p.fail("',' or ']'")
				}
				break
			}
		}
		d.text = p.text[start:p.at]
	default:
		d.text, err = p.str()
	}
	d.at = start
	return d, err
}

// field reads (name, type) or (name, type, shape); the name may be (title, name).
func (p *literal) field(depth int) (f named, err error) {
	if !p.take('(') {
		return f, p.fail("'('")
	}
	titled := p.take('(')
	if titled {
		if _, err = p.str(); err == nil && !p.take(',') {
			err = p.fail("','")
		}
		if err != nil {
			return f, err
		}
	}
	if f.name, err = p.str(); err != nil {
		return f, err
	}
	if titled && !p.take(')') || !p.take(',') {
		return f, p.fail("','")
	}
	name := f.name
	if f.dtype, err = p.dtype(depth + 1); err != nil {
		return f, err
	}
	f.name = name
	if p.take(',') {
		if p.space(); p.at < len(p.text) && p.text[p.at] == '(' {
			if len(f.shape) > 0 {
				return f, p.fail("one shape")
			}
			if f.shape, err = p.tuple(); err != nil {
				return f, err
			}
			p.take(',')
		}
	}
	if !p.take(')') {
		return f, p.fail("')'")
	}
	return f, nil
}

// str reads a string as Python's repr writes it.
func (p *literal) str() (string, error) {
	p.space()
	if p.at >= len(p.text) || (p.text[p.at] != '\'' && p.text[p.at] != '"') {
		return "", p.fail("a quoted string")
	}
	quote := p.text[p.at]
	var s []byte
	for at := p.at + 1; at < len(p.text); {
		switch c := p.text[at]; {
		case c == quote:
			p.at = at + 1
			return string(s), nil
		case c == '\\':
			r, rest, ok := unescape(p.text[at:])
			if !ok {
				p.at = at
				return "", p.fail("an escape of Python's")
			}
			s = utf8.AppendRune(s, r)
			at = len(p.text) - len(rest)
		case p.latin1:
			s = utf8.AppendRune(s, rune(c))
			at++
		default:
			s = append(s, c)
			at++
		}
	}
	return "", p.fail("a closed string")
}

// unescape reads an escape at the beginning of a text.
func unescape(text string) (r rune, rest string, ok bool) {
	if len(text) < 2 {
		return 0, text, false
	}
	if i := strings.IndexByte(`\'"ntr`, text[1]); i >= 0 {
		return rune("\\'\"\n\t\r"[i]), text[2:], true
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	if n == 0 || len(text) < 2+n {
		return 0, text, false
	}
	v, err := strconv.ParseUint(text[2:2+n], 16, 32)
	return rune(v), text[2+n:], err == nil && v <= utf8.MaxRune
}

func (p *literal) boolean() (bool, error) {
	for _, word := range []string{"True", "False"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return word == "True", nil
		}
	}
	return false, p.fail("True or False")
}

// tuple reads (), (3,) and (3, 4L): old versions of numpy wrote the L.
func (p *literal) tuple() ([]int, error) {
	if !p.take('(') {
		return nil, p.fail("'('")
	}
	shape := []int{}
	for !p.take(')') {
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		n, err := strconv.Atoi(p.text[start:p.at])
		if err != nil {
			p.at = start
			return nil, p.fail("a dimension")
		}
		shape = append(shape, n)
		if p.at < len(p.text) && p.text[p.at] == 'L' {
			p.at++
		}
		if !p.take(',') {
			if !p.take(')') {
				return nil, p.fail("',' or ')'")
			}
			if len(shape) == 1 {
				return nil, p.fail("a tuple: (n,)")
			}
			break
		}
	}
	return shape, nil
}
