package ulog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

const (
	maxMessage = 1<<16 - 1 // bytes: a message's size is a uint16
	maxNesting = 32
	maxName    = 255
)

// base is one of the format's own types; 0 is a nested one.
type base uint8

const (
	tInt8 base = iota + 1
	tUint8
	tInt16
	tUint16
	tInt32
	tUint32
	tInt64
	tUint64
	tFloat
	tDouble
	tBool
	tChar
)

var bases = map[string]base{
	"int8_t": tInt8, "uint8_t": tUint8, "int16_t": tInt16, "uint16_t": tUint16, "int32_t": tInt32, "uint32_t": tUint32,
	"int64_t": tInt64, "uint64_t": tUint64, "float": tFloat, "double": tDouble, "bool": tBool, "char": tChar,
}

var baseSize = [...]int{0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 1}

func (b base) integer() bool { return b != tFloat && b != tDouble }

// narrow reports whether f32 holds every value of the type.
func (b base) narrow() bool { return b == tFloat || baseSize[b] <= 2 }

type field struct {
	name, typ string
	base      base
	n         int
	array     bool
}

// rotation says which fields PX4 keeps quaternions in, the scalar first.
func (f *field) rotation() dataset.Rotation {
	if f.array && f.n == 4 && !f.base.integer() && slices.Contains([]string{"q", "q_d", "q_offset", "delta_q_reset"}, f.name) {
		return dataset.RotationWXYZ
	}
	return dataset.RotationNone
}

func (f *field) padding() bool { return strings.HasPrefix(f.name, "_padding") }

// leaf is one column: where it lies in a message, and its type.
type leaf struct {
	off  int
	base base
}

// format is a type that was defined. What follows fields is worked out when the type is first used.
type format struct {
	name   string
	text   string
	off    int64 // of the definition's body
	fields []field

	state   uint8 // 0 not resolved, 1 under way, 2 resolved
	size    int   // bytes, with padding
	values  int   // columns, the clock among them
	leaves  []leaf
	columns []dataset.Column
	clock   leaf // base 0: the type has no clock
	need    int  // bytes up to the end of the last value: only padding may be missing from a message
	wide    bool // values need f64
	laid    bool
}

// define reads "name:type field;type[n] field;".
func (p *parser) define(off int, body []byte) error {
	text := string(body)
	at := int64(off + messageHead)
	name, list, found := strings.Cut(text, ":")
	if !found || !plain(name) {
		return corrupt(at, "format definition", quote(text), "name:type field;...")
	}
	f := &format{name: name, text: text, off: at}
	at += int64(len(name)) + 1
	for list != "" {
		var one string
		one, list, _ = strings.Cut(list, ";")
		typ, name, found := strings.Cut(one, " ")
		fd := field{name: name, n: 1}
		var ok bool
		fd.typ, fd.n, fd.array, ok = splitType(typ)
		if !found || !ok || !plain(name) || fd.n < 1 {
			return corrupt(at, "field of format "+quote(f.name), quote(one), "a type, a space, a name")
		}
		fd.base = bases[fd.typ]
		f.fields = append(f.fields, fd)
		at += int64(len(one)) + 1
	}
	if len(f.fields) == 0 {
		return corrupt(at, "format "+quote(name), "no field", "at least one")
	}
	if old := p.formats[name]; old != nil {
		if old.text != text {
			return corrupt(f.off, "format definition", "another definition of "+quote(name), "one")
		}
		return nil
	}
	p.formats[name] = f
	return nil
}

// splitType takes "float[3]" apart. An empty array, "char[0]", is found in real logs as the type of an empty text.
func splitType(s string) (typ string, n int, array, ok bool) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return s, 1, false, plain(s)
	}
	if !strings.HasSuffix(s, "]") || !plain(s[:open]) {
		return "", 0, false, false
	}
	digits := s[open+1 : len(s)-1]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || digits[0] == '+' || digits[0] == '-' {
		return "", 0, false, false
	}
	return s[:open], n, true, true
}

// plain reports whether s can be a name: printable ASCII without spaces and the format's own signs.
func plain(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || strings.IndexByte(":;[]", s[i]) >= 0 {
			return false
		}
	}
	return true
}

// resolve works out the size of a type and of those nested in it.
func (p *parser) resolve(f *format, depth int) error {
	switch {
	case f.state == 2:
		return nil
	case f.state == 1:
		return corrupt(f.off, "format "+quote(f.name), "a type that contains itself", "no circle")
	case depth > maxNesting:
		return tooLarge(f.off, "format "+quote(f.name), "types nested deeper", strconv.Itoa(maxNesting))
	}
	f.state = 1
	for i := range f.fields {
		fd := &f.fields[i]
		size, values := baseSize[fd.base], 1
		if fd.base == 0 {
			sub := p.formats[fd.typ]
			if sub == nil {
				return corrupt(f.off, "format "+quote(f.name), "field "+quote(fd.name)+" of type "+quote(fd.typ), "a type of the format or one that is defined")
			}
			if err := p.resolve(sub, depth+1); err != nil {
				return err
			}
			size, values = sub.size, sub.values
		}
		if fd.n > maxMessage || f.size+fd.n*size > maxMessage {
			return tooLarge(f.off, "format "+quote(f.name), fmt.Sprintf("%d times %d bytes more in field %q", fd.n, size, fd.name), fmt.Sprintf("%d bytes in all, what a message can hold", maxMessage))
		}
		f.size += fd.n * size
		if !fd.padding() {
			f.values += fd.n * values
		}
	}
	f.state = 2
	return nil
}

// layout lists the columns of a type that has a message of len bytes. The columns are no more than the bytes; the names
// are held to the budget, which grows with the file.
func (p *parser) layout(f *format, n int) error {
	if f.laid {
		return nil
	}
	if err := p.resolve(f, 0); err != nil {
		return err
	}
	off := 0
	for i := range f.fields {
		fd := &f.fields[i]
		if fd.name == "timestamp" && !fd.array && (fd.base == tUint64 || fd.base == tUint32 || fd.base == tUint16 || fd.base == tUint8) {
			if f.clock.base != 0 {
				return corrupt(f.off, "format "+quote(f.name), "field timestamp twice", "each name once")
			}
			f.clock = leaf{off, fd.base}
		}
		off += p.sizeOf(fd)
	}
	f.need = p.end(f)
	if n < f.need || n > f.size {
		return nil // the caller reports it: nothing is laid out for a message that cannot be right
	}
	if f.clock.base != 0 {
		f.leaves = make([]leaf, 0, f.values)
		f.columns = make([]dataset.Column, 0, f.values)
		if err := p.flatten(f, f, "", 0); err != nil {
			return err
		}
		if len(f.columns) > 1 {
			seen := make(map[string]bool, len(f.columns))
			for _, c := range f.columns {
				if seen[c.Name] {
					return corrupt(f.off, "format "+quote(f.name), "field "+quote(c.Name)+" twice", "each name once")
				}
				seen[c.Name] = true
			}
		}
	}
	f.laid = true
	return nil
}

func (p *parser) sizeOf(fd *field) int {
	if fd.base != 0 {
		return fd.n * baseSize[fd.base]
	}
	return fd.n * p.formats[fd.typ].size
}

// end returns the byte after the last value of a resolved type, 0 if it has none.
func (p *parser) end(f *format) int {
	off, end := 0, 0
	for i := range f.fields {
		fd := &f.fields[i]
		size := p.sizeOf(fd)
		switch {
		case fd.padding():
		case fd.base != 0:
			end = off + size
		case p.formats[fd.typ].values > 0:
			sub := p.formats[fd.typ]
			end = off + size - sub.size + p.end(sub)
		}
		off += size
	}
	return end
}

// flatten appends the columns of f to those of top.
func (p *parser) flatten(top, f *format, prefix string, off int) error {
	for i := range f.fields {
		fd := &f.fields[i]
		size := p.sizeOf(fd) / fd.n
		if fd.padding() || (f == top && fd.name == "timestamp" && off == top.clock.off) || (fd.base == 0 && p.formats[fd.typ].values == 0) {
			off += fd.n * size
			continue
		}
		for k := range fd.n {
			name := prefix + fd.name
			if fd.array {
				name += "[" + strconv.Itoa(k) + "]"
			}
			if p.names -= len(name); p.names < 0 || len(name) > 4*maxName {
				return tooLarge(f.off, "column names of format "+quote(top.name), quote(name), "names that the file's size can account for")
			}
			if fd.base == 0 {
				if err := p.flatten(top, p.formats[fd.typ], name+".", off); err != nil {
					return err
				}
			} else {
				top.leaves = append(top.leaves, leaf{off, fd.base})
				top.columns = append(top.columns, dataset.Column{Name: name, Type: fd.typ, Integer: fd.base.integer(), Rotation: fd.rotation()})
				top.wide = top.wide || !fd.base.narrow()
			}
			off += size
		}
	}
	return nil
}
