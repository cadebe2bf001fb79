package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/tensor"
)

// Load returns nil, bool, int64, float64, string, []byte, *List, *Dict or *Array. Bytes may share the pickle's memory, and so may
// Python 2 strings.

// List is a list or a tuple. It may hold itself.
type List struct {
	Items []any
	tuple bool
}

// Dict is a dictionary, in the pickle's order. Its keys are numbers and texts.
type Dict struct{ Keys, Values []any }

// Get returns the value of a key that is a text; of one that is there twice, the last.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		switch k := d.Keys[i].(type) {
		case string:
			if k == key {
				return d.Values[i], true
			}
		case []byte:
			if string(k) == key {
				return d.Values[i], true
			}
		}
	}
	return nil, false
}

// Array is an array of numpy's, or one of its scalars, which has no shape.
type Array struct {
	Descr   string // numpy's name of the type with its byte order: "<f4"; "O" of objects
	Shape   []int
	Fortran bool
	Data    []byte // in the form of Descr and Shape; nil for objects
	Objects []any  // the elements of an array of objects, in row-major order; nil of others
	built   bool
}

// String is the type and the shape: "<f4 [8,1,384]".
func (a *Array) String() string { return a.Descr + " " + tensor.FormatShape(a.Shape) }

// file returns the array as package npy reads it.
func (a *Array) file() io.Reader {
	order, shape := "False", strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ","), "[]")
	if a.Fortran {
		order = "True"
	}
	if len(a.Shape) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s)}", a.Descr, order, shape)
	file := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return io.MultiReader(bytes.NewReader(append(file, header...)), bytes.NewReader(a.Data))
}

// Tensor returns an array of numbers, as npy.Read does.
func (a *Array) Tensor() (*tensor.Tensor, error) { return npy.Read(a.file()) }

// Int returns a whole number: Python's, or a scalar of numpy's.
func Int(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case *Array:
		if len(v.Shape) > 0 || len(v.Data) > 8 {
			return 0, false
		}
		t, err := v.Tensor()
		if err != nil || t.DType().IsFloat() {
			return 0, false
		}
		list, err := tensor.Floats(t)
		if err != nil || len(list) != 1 || list[0] >= 1<<53 || list[0] <= -1<<53 {
			return 0, false
		}
		return int64(list[0]), true
	}
	return 0, false
}

// Ints returns the numbers of a list or of an array, in row-major order. They are less than 2^53.
func Ints(v any) ([]int64, bool) {
	var items []any
	switch v := v.(type) {
	case *List:
		items = v.Items
	case *Array:
		if items = v.Objects; items != nil {
			break
		}
		t, err := v.Tensor()
		if err != nil {
			return nil, false
		}
		floats, err := tensor.Floats(t)
		if err != nil {
			return nil, false
		}
		list := make([]int64, len(floats))
		for i, f := range floats {
			if list[i] = int64(f); float64(list[i]) != f || f >= 1<<53 || f <= -1<<53 {
				return nil, false
			}
		}
		return list, true
	default:
		return nil, false
	}
	list := make([]int64, len(items))
	for i, item := range items {
		var ok bool
		if list[i], ok = Int(item); !ok {
			return nil, false
		}
	}
	return list, true
}

// MaxText is how many bytes a text may have.
const MaxText = 1 << 16

// Text returns a text: Python's, bytes that are UTF-8, or a scalar of numpy's; none that is longer than MaxText.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, len(v) <= MaxText
	case []byte:
		if len(v) > MaxText {
			return "", false
		}
		return string(v), utf8.Valid(v)
	case *Array:
		if len(v.Shape) > 0 || len(v.Data) > 4*MaxText {
			return "", false
		}
		list, err := npy.ReadStrings(v.file())
		if err != nil || len(list) != 1 {
			return "", false
		}
		return list[0], true
	}
	return "", false
}

// Items returns the elements of a list, or of a rank 1 array with objects or texts. The slice may share the list's memory.
func Items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *List:
		return v.Items, true
	case *Array:
		if len(v.Shape) != 1 {
			return nil, false
		}
		if v.Objects != nil {
			return v.Objects, true
		}
		list, err := npy.ReadStrings(v.file())
		if err != nil {
			return nil, false
		}
		items := make([]any, len(list))
		for i := range list {
			items[i] = list[i]
		}
		return items, true
	}
	return nil, false
}

// dtype is an element type of numpy's.
type dtype struct {
	kind  byte // numpy's letter
	size  int  // as its name has it: bytes, of U characters
	order byte // '<', '>' or '|'
}

// dtypeOf reads numpy's name of a type without a unit: "f4", "<U12", "O8".
func dtypeOf(name string) (d dtype, ok bool) {
	d.order = '<'
	if name != "" && strings.IndexByte("<>|=", name[0]) >= 0 {
		d.order, name = name[0], name[1:]
	}
	if len(name) < 2 && name != "O" || len(name) > 8 || strings.IndexByte("fiubUSO", name[0]) < 0 {
		return d, false
	}
	for _, c := range name[1:] {
		if c < '0' || c > '9' {
			return d, false
		}
		d.size = 10*d.size + int(c-'0')
	}
	d.kind = name[0]
	return d, true
}

// bytes returns how many an element takes.
func (d dtype) bytes() int {
	if d.kind == 'U' {
		return 4 * d.size
	}
	return d.size
}

func (d dtype) descr() string {
	if d.kind == 'O' {
		return "O"
	}
	return fmt.Sprintf("%c%c%d", d.order, d.kind, d.size)
}

// array returns an array, or got and want if its parts disagree.
func array(d *dtype, shape []any, fortran bool, data any) (a *Array, got, want string) {
	const maxRank = 64
	if len(shape) > maxRank {
		return nil, fmt.Sprintf("rank %d", len(shape)), fmt.Sprintf("at most %d", maxRank)
	}
	a = &Array{Descr: d.descr(), Shape: make([]int, len(shape)), Fortran: fortran, built: true}
	for i, v := range shape {
		n, ok := v.(int64)
		if !ok || n < 0 || n > tensor.MaxBytes {
			got := kindOf(v)
			if ok {
				got = fmt.Sprint(n)
			}
			return nil, "a dimension " + got, "a number from 0"
		}
		a.Shape[i] = int(n)
	}
	count, err := tensor.NumElements(a.Shape...)
	if err != nil {
		return nil, "shape " + tensor.FormatShape(a.Shape), "one that memory can hold"
	}
	if d.kind == 'O' {
		list, ok := data.(*List)
		if !ok || len(list.Items) != count {
			return nil, "no list of its objects", fmt.Sprintf("one of %d", count)
		}
		if a.Objects = list.Items; a.Objects == nil {
			a.Objects = []any{}
		}
		return a, "", ""
	}
	var ok bool
	if a.Data, ok = data.([]byte); !ok || count > 0 && (d.bytes() == 0 || len(a.Data)/d.bytes() != count) || len(a.Data) != count*d.bytes() {
		return nil, fmt.Sprintf("%d bytes", len(a.Data)), "those of " + a.String()
	}
	return a, "", ""
}

func formatError(kind error, at int64, msg, got, want string) error {
	return &dataset.FormatError{Format: "pickle", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}
