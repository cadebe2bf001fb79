package pickle

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// function is one that a pickle may name.
type function uint8

const (
	reconstruct function = iota
	frombuffer
	scalar
	ndarray
	dtypeType
	encode
	bytesType
)

// functions are all that a pickle may name, by module and name.
var functions = map[string]function{
	"numpy.core.multiarray._reconstruct": reconstruct, "numpy._core.multiarray._reconstruct": reconstruct,
	"numpy.core.multiarray.scalar": scalar, "numpy._core.multiarray.scalar": scalar,
	"numpy.core.numeric._frombuffer": frombuffer, "numpy._core.numeric._frombuffer": frombuffer,
	"numpy.ndarray": ndarray, "numpy.dtype": dtypeType,
	"_codecs.encode": encode, "__builtin__.bytes": bytesType, "builtins.bytes": bytesType,
}

// String returns the function's name.
func (f function) String() string {
	return [...]string{"numpy._core.multiarray._reconstruct", "numpy._core.numeric._frombuffer", "numpy._core.multiarray.scalar", "numpy.ndarray", "numpy.dtype",
		"_codecs.encode", "bytes"}[f]
}

// global pushes a function, if it is one of those.
func (m *machine) global(module, name string) error {
	f, ok := functions[module+"."+name]
	if !ok || strings.Contains(name, ".") {
		return m.fail(dataset.ErrUnsupported, "function", fmt.Sprintf("%.100q", module+"."+name), "one of those that write numpy's arrays: no other is called")
	}
	return m.push(f)
}

// reduce calls a function.
func (m *machine) reduce(f, args any) error {
	name, ok := f.(function)
	if !ok {
		return m.fail(dataset.ErrCorrupt, "call", "of "+kindOf(f), "of a function")
	}
	bad := func(want string) error {
		return m.fail(dataset.ErrUnsupported, "arguments of "+name.String(), "others", want)
	}
	tuple, ok := args.(*List)
	if !ok || !tuple.tuple {
		return bad("a tuple")
	}
	a := tuple.Items
	switch {
	case name == reconstruct && len(a) == 3 && a[0] == any(ndarray):
		return m.push(&Array{})
	case name == dtypeType && len(a) >= 1 && len(a) <= 3:
		text, _ := Text(a[0])
		d, ok := dtypeOf(text)
		if !ok {
			return m.fail(dataset.ErrUnsupported, "type", fmt.Sprintf("%.40q", text), "numbers f i u b, texts U S or objects O")
		}
		return m.push(&d)
	case name == scalar && len(a) == 2:
		if d, ok := a[0].(*dtype); ok && d.kind != 'O' {
			return m.array(d, nil, false, a[1])
		}
		return bad("a type of numbers or texts, and bytes")
	case name == frombuffer && len(a) == 4:
		d, isType := a[1].(*dtype)
		shape, isShape := a[2].(*List)
		order, _ := a[3].(string)
		if !isType || !isShape || d.kind == 'O' || order != "C" && order != "F" {
			return bad(`bytes, a type, a shape, and "C" or "F"`)
		}
		return m.array(d, shape.Items, order == "F", a[0])
	case name == encode && len(a) == 2:
		return m.encode(a[0], a[1])
	case name == bytesType && len(a) == 0:
		return m.push([]byte{})
	}
	return bad("those that numpy writes")
}

// encode makes bytes of a text of characters up to 255: so Python 3 writes them in protocol 2.
func (m *machine) encode(text, codec any) error {
	s, ok := text.(string)
	name, _ := codec.(string)
	if !ok || name != "latin1" && name != "latin-1" {
		return m.fail(dataset.ErrUnsupported, "encoding", fmt.Sprintf("%.40q", name), "latin1")
	}
	// Each text is encoded once where it was not made to fill the memory.
	if m.encoded += len(s); m.encoded > len(m.data) {
		return m.fail(dataset.ErrTooLarge, "bytes", "more than the pickle has", fmt.Sprintf("at most %d", len(m.data)))
	}
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 255 {
			return m.fail(dataset.ErrCorrupt, "bytes", fmt.Sprintf("%q", c), "a character up to 255")
		}
		b = append(b, byte(c))
	}
	return m.push(b)
}

func (m *machine) array(d *dtype, shape []any, fortran bool, data any) error {
	a, got, want := array(d, shape, fortran, data)
	if a == nil {
		return m.fail(dataset.ErrCorrupt, "array", got, want)
	}
	return m.push(a)
}

// build sets the state of an array or a type.
func (m *machine) build(state any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	tuple, ok := state.(*List)
	if !ok || !tuple.tuple {
		return m.fail(dataset.ErrUnsupported, "state", kindOf(state), "a tuple")
	}
	s := tuple.Items
	switch v := v.(type) {
	case *dtype: // (version, byte order, subarray, names, fields, size, alignment, flags), then metadata
		order, _ := textAt(s, 1)
		if len(s) < 8 || len(order) != 1 || strings.IndexByte("<>|=", order[0]) < 0 {
			return m.fail(dataset.ErrCorrupt, "state of a type", fmt.Sprintf("%d parts", len(s)), "8, the second < > | or =")
		}
		if s[2] != nil || s[3] != nil || s[4] != nil {
			return m.fail(dataset.ErrUnsupported, "type", "records", "numbers, texts or objects")
		}
		v.order = order[0]
		return nil
	case *Array: // (version, shape, type, fortran, data)
		if len(s) == 5 && !v.built {
			shape, isShape := s[1].(*List)
			d, isType := s[2].(*dtype)
			fortran, isBool := s[3].(bool)
			if isShape && isType && isBool {
				a, got, want := array(d, shape.Items, fortran, s[4])
				if a == nil {
					return m.fail(dataset.ErrCorrupt, "array", got, want)
				}
				*v = *a
				return nil
			}
		}
		return m.fail(dataset.ErrUnsupported, "state of an array", fmt.Sprintf("%d parts", len(s)), "version, shape, type, order and data, once")
	}
	return m.fail(dataset.ErrUnsupported, "state", "of "+kindOf(v), "of an array or a type")
}

func textAt(list []any, i int) (string, bool) {
	if i >= len(list) {
		return "", false
	}
	return Text(list[i])
}
