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

// rotation recognises fields where PX4 keeps quaternions, the scalar first.
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

// format is a defined type. The fields after fields are computed when the type is first used.
type format struct {
	name   string
	text   string
	off    int64 // of the definition's body
	fields []field

	state   uint8 // 0 not resolved, 1 under way, 2 resolved
	err     error // why it cannot be used
	size    int   // bytes, with padding
	need    int   // bytes up to the end of the last value: only padding may be missing from a message
	values  int   // columns, the clock among them
	clock   leaf  // base 0: the type has no clock
	leaves  []leaf
	columns []dataset.Column
	wide    bool // whether values need f64
	laid    bool
}

// define keeps a format's definition.
func (p *parser) define(m message) error {
	f, err := readFormat(m)
	if err != nil {
		return err
	}
	if old := p.formats[f.name]; old != nil {
		if old.text != f.text {
			return corrupt(f.off, "format definition", "another definition of "+quote(f.name), "one")
		}
		return nil
	}
	p.formats[f.name] = f
	return nil
}

// readFormat parses a definition: "name:type field;type[n] field;". If it is invalid, the error is a *dataset.FormatError.
func readFormat(m message) (*format, error) {
	text := string(m.body)
	at := m.at()
	name, list, found := strings.Cut(text, ":")
	if !found || !plain(name) {
		return nil, corrupt(at, "format definition", quote(text), "name:type field;...")
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
			return nil, corrupt(at, "field of format "+quote(f.name), quote(one), "a type, a space, a name")
		}
		fd.base = bases[fd.typ]
		f.fields = append(f.fields, fd)
		at += int64(len(one)) + 1
	}
	if len(f.fields) == 0 {
		return nil, corrupt(at, "format "+quote(name), "no field", "at least one")
	}
	return f, nil
}

// splitType splits a type such as "float[3]" into its base type and its length n. array is true if it has brackets, and ok is false if it
// is invalid. Real logs have an empty array, "char[0]", as the type of an empty text.
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

// plain reports whether s can be a name: 1 to maxName bytes, all printable ASCII, without spaces and the format's own signs :;[].
func plain[T string | []byte](s T) bool {
	if len(s) == 0 || len(s) > maxName {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || strings.IndexByte(":;[]", s[i]) >= 0 {
			return false
		}
	}
	return true
}

// resolve computes the sizes of a type and of its nested types. Later calls for the type return the same error.
func (p *parser) resolve(f *format, depth int) error {
	switch {
	case f.state == 2:
		return f.err
	case f.state == 1:
		return corrupt(f.off, "format "+quote(f.name), "a type that contains itself", "no circle")
	case depth > maxNesting:
		return tooLarge(f.off, "format "+quote(f.name), "types nested deeper", strconv.Itoa(maxNesting))
	}
	f.state = 1
	f.err = p.measureFields(f, depth)
	f.state = 2
	return f.err
}

func (p *parser) measureFields(f *format, depth int) error {
	for i := range f.fields {
		fd := &f.fields[i]
		size, need, values := baseSize[fd.base], baseSize[fd.base], 1
		if fd.base == 0 {
			sub := p.formats[fd.typ]
			if sub == nil {
				return corrupt(f.off, "format "+quote(f.name), "field "+quote(fd.name)+" of type "+quote(fd.typ), "a type of the format or one that is defined")
			}
			if err := p.resolve(sub, depth+1); err != nil {
				return err
			}
			size, need, values = sub.size, sub.need, sub.values
		}
		if fd.n > maxMessage || f.size+fd.n*size > maxMessage {
			return tooLarge(f.off, "format "+quote(f.name), fmt.Sprintf("%d times %d bytes more in field %q", fd.n, size, fd.name), fmt.Sprintf("%d bytes in all, what a message can hold", maxMessage))
		}
		if fd.name == "timestamp" && !fd.array && (fd.base == tUint64 || fd.base == tUint32 || fd.base == tUint16 || fd.base == tUint8) {
			if f.clock.base != 0 {
				return corrupt(f.off, "format "+quote(f.name), "field timestamp twice", "each name once")
			}
			f.clock = leaf{f.size, fd.base}
		}
		if !fd.padding() {
			f.values += fd.n * values
			if values > 0 {
				f.need = f.size + (fd.n-1)*size + need
			}
		}
		f.size += fd.n * size
	}
	return nil
}

// layout computes the columns of a type that is logged. A type has at most one column for each byte of a message. The length of all column
// names is limited in proportion to the file size.
func (p *parser) layout(f *format) error {
	if f.laid || f.clock.base == 0 || f.err != nil {
		return f.err
	}
	f.laid = true
	f.leaves = make([]leaf, 0, f.values)
	f.columns = make([]dataset.Column, 0, f.values)
	f.err = p.flatten(f, f, "", 0)
	if f.err == nil && len(f.columns) > 1 {
		seen := make(map[string]bool, len(f.columns))
		for _, c := range f.columns {
			if seen[c.Name] {
				f.err = corrupt(f.off, "format "+quote(f.name), "field "+quote(c.Name)+" twice", "each name once")
				break
			}
			seen[c.Name] = true
		}
	}
	if f.err != nil {
		f.leaves, f.columns = nil, nil
	}
	return f.err
}

func (p *parser) sizeOf(fd *field) int {
	if fd.base != 0 {
		return fd.n * baseSize[fd.base]
	}
	return fd.n * p.formats[fd.typ].size
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
