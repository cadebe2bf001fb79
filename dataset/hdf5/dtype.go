package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Kind is the class of an element's type.
type Kind uint8

// The type kinds. From Opaque on, values cannot be converted, and only their bytes can be read.
const (
	Int Kind = iota + 1
	Uint
	Float
	Bool      // an enumeration with FALSE and TRUE in one byte, as h5py writes bool
	String    // with a fixed size
	VarString // with a variable length
	Compound
	Array
	Sequence // variable length, with elements other than characters
	Opaque
	Bitfield
	Reference
	Time
	Complex
)

var kindNames = [...]string{"none", "int", "uint", "float", "bool", "string", "variable string", "compound", "array", "variable sequence", "opaque", "bitfield", "reference", "time", "complex"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Type is an element's type.
type Type struct {
	Kind   Kind
	Size   int  // bytes in the file
	Big    bool // numbers are big-endian
	Enum   []Member
	Fields []Field // for a compound, in order
	Dims   []int   // for an array
	Elem   *Type   // for an array or a sequence
	Tag    string  // for opaque bytes

	padding int    // of strings
	brain   bool   // a 2-byte float is a bfloat16
	odd     string // why it cannot be read, or empty
}

// Member is a value in an enumeration with its name.
type Member struct {
	Name  string
	Value int64
}

// Field is a member of a compound.
type Field struct {
	Name   string
	Offset int // bytes from the start of the element
	Type   *Type
}

// String describes the type: "float32", "int16 big-endian", "string of 7", "compound (t, x, y)".
func (t *Type) String() string {
	switch {
	case t.odd != "":
		return t.odd
	case t.Kind <= Float:
		s := fmt.Sprintf("%v%d", t.Kind, 8*t.Size)
		if t.brain {
			s = "bfloat16"
		}
		if t.Big && t.Size > 1 {
			s += " big-endian"
		}
		return s
	case t.Kind == String || t.Kind == Opaque || t.Kind == Bitfield:
		return fmt.Sprintf("%v of %d", t.Kind, t.Size)
	case t.Kind == Compound:
		names := make([]string, 0, 5)
		for i, f := range t.Fields {
			if i == 4 && len(t.Fields) > 5 {
				names = append(names, fmt.Sprintf("... %d more", len(t.Fields)-4))
				break
			}
			names = append(names, fmt.Sprintf("%.40s", f.Name))
		}
		return "compound (" + strings.Join(names, ", ") + ")"
	case t.Kind == Array:
		return "array " + tensor.FormatShape(t.Dims) + " of " + t.Elem.String()
	case t.Kind == Sequence:
		return "variable sequence of " + t.Elem.String()
	}
	return t.Kind.String()
}

// DType returns the dtype of the tensor that Read returns, or false if Read does not support the type.
func (t *Type) DType() (tensor.DType, bool) {
	if t.odd != "" {
		return 0, false
	}
	switch {
	case t.Kind == Array:
		return t.Elem.DType()
	case t.brain:
		return tensor.BF16, true
	case t.Kind == Float:
		return map[int]tensor.DType{2: tensor.F16, 4: tensor.F32, 8: tensor.F64}[t.Size], true
	case t.Kind == Bool, t.Kind == Uint && t.Size == 1:
		return tensor.U8, true
	case (t.Kind == Int || t.Kind == Time) && t.Size <= 4, t.Kind == Uint && t.Size == 2:
		return tensor.I32, true
	case t.Kind == Int || t.Kind == Uint || t.Kind == Time:
		return tensor.I64, true
	}
	return 0, false
}

// order returns the byte order.
func (t *Type) order() binary.ByteOrder {
	if t.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Flat returns the number type in nested arrays, with the dimensions of all levels.
func (t *Type) Flat() (*Type, []int) {
	var dims []int
	for ; t.Kind == Array; t = t.Elem {
		dims = append(dims, t.Dims...)
	}
	return t, dims
}

const maxNesting = 16

// dtype reads a type message, or a type nested in one.
func (c *cursor) dtype(depth int) *Type {
	begin := c.at
	head := c.u8()
	class, version := head&15, head>>4
	flags := int(c.number(3))
	size := c.u32()
	t := &Type{Size: int(size)}
	switch {
	case c.err != nil:
	case version < 1 || version > 5:
		c.bad(8, dataset.ErrUnsupported, "version", fmt.Sprint(version), "1 to 5")
	case size == 0 || size > math.MaxInt32:
		c.bad(4, dataset.ErrCorrupt, "bytes of an element", fmt.Sprint(size), "1 to 2^31-1")
	case depth > maxNesting:
		c.bad(8, dataset.ErrUnsupported, "types inside types", fmt.Sprint(depth), fmt.Sprintf("at most %d", maxNesting))
	}
	if c.err != nil {
		return t
	}
	switch class {
	case 0:
		t.integer(c, flags)
	case 1:
		t.float(c, flags)
	case 2:
		t.Kind = Time
		if c.skip(2); t.Size != 4 && t.Size != 8 {
			t.odd = fmt.Sprintf("time of %d bytes", t.Size)
		}
	case 3:
		t.Kind, t.padding = String, flags&15
	case 4:
		t.integer(c, flags&1)
	case 5:
		t.Kind = Opaque
		t.Tag = strings.TrimRight(string(c.bytes(uint64(flags&255))), "\x00")
		if (strings.HasPrefix(t.Tag, "NUMPY:<M8[") || strings.HasPrefix(t.Tag, "NUMPY:<m8[")) && t.Size == 8 {
			t.Kind = Int
		}
	case 6:
		t.compound(c, version, flags&0xffff, depth)
	case 7:
		t.Kind = Reference
	case 8:
		t.enumeration(c, version, flags&0xffff, depth)
	case 9:
		t.Kind, t.padding = Sequence, flags>>4&15
		if flags&15 == 1 {
			t.Kind = VarString
		}
		t.Elem = c.dtype(depth + 1)
		if want := 8 + c.offsets; c.err == nil && t.Size != want {
			c.bad(c.at-begin-4, dataset.ErrCorrupt, "bytes of a variable element", fmt.Sprint(t.Size), fmt.Sprint(want))
		}
	case 10:
		t.array(c, version, depth)
	case 11:
		t.Kind, t.odd = Complex, "complex"
		c.dtype(depth + 1)
	default:
		c.bad(8, dataset.ErrUnsupported, "class", fmt.Sprint(class), "0 to 11")
	}
	return t
}

func (t *Type) integer(c *cursor, flags int) {
	t.Kind, t.Big = Uint, flags&1 != 0
	if flags&8 != 0 {
		t.Kind = Int
	}
	at, precision := c.u16(), c.u16()
	if t.Size > 8 || t.Size&(t.Size-1) != 0 || at != 0 || precision != 8*t.Size {
		t.odd = fmt.Sprintf("%v of %d bits in %d bytes", t.Kind, precision, t.Size)
	}
}

func (t *Type) float(c *cursor, flags int) {
	t.Kind, t.Big = Float, flags&1 != 0
	type layout struct{ at, precision, exponent, exponentBits, mantissa, mantissaBits, bias, sign int }
	got := layout{c.u16(), c.u16(), c.u8(), c.u8(), c.u8(), c.u8(), int(c.u32()), flags >> 8 & 255}
	t.brain = got == layout{0, 16, 7, 8, 0, 7, 127, 15}
	switch {
	case flags&(1<<6) != 0:
	case t.Size == 2 && (t.brain || got == layout{0, 16, 10, 5, 0, 10, 15, 15}):
		return
	case t.Size == 4 && got == layout{0, 32, 23, 8, 0, 23, 127, 31}:
		return
	case t.Size == 8 && got == layout{0, 64, 52, 11, 0, 52, 1023, 63}:
		return
	}
	t.brain = false
	t.odd = fmt.Sprintf("float of %d bits in %d bytes, not of IEEE 754", got.precision, t.Size)
}

// name reads a name. Before version 3 it is padded to a multiple of 8 bytes.
func (c *cursor) name(version int) string {
	begin := c.at
	s := c.text()
	if version < 3 {
		c.skip((8 - (c.at-begin)%8) % 8)
	}
	return s
}

func (t *Type) compound(c *cursor, version, count, depth int) {
	t.Kind = Compound
	for range count {
		f := Field{Name: c.name(version)}
		var dims []int
		switch {
		case version == 1:
			f.Offset = int(c.u32())
			rank := c.u8()
			c.skip(3 + 4 + 4)
			for i := range 4 {
				if d := int(c.u32()); i < rank {
					dims = append(dims, d)
				}
			}
		case version == 2:
			f.Offset = int(c.u32())
		default:
			n := 1
			for ; n < 4 && t.Size>>(8*n) > 0; n++ {
			}
			f.Offset = int(c.number(n))
		}
		f.Type = c.dtype(depth + 1)
		if len(dims) > 0 && c.err == nil {
			f.Type = arrayOf(c, f.Type, dims)
		}
		if c.err != nil {
			return
		}
		if f.Offset < 0 || f.Offset > t.Size || f.Type.Size > t.Size-f.Offset {
			c.bad(0, dataset.ErrCorrupt, fmt.Sprintf("field %.40q", f.Name), fmt.Sprintf("%d bytes at %d", f.Type.Size, f.Offset), fmt.Sprintf("inside %d", t.Size))
			return
		}
		t.Fields = append(t.Fields, f)
	}
	if len(t.Fields) == 0 {
		c.bad(0, dataset.ErrCorrupt, "fields of a compound", "none", "one or more")
	}
}

func (t *Type) enumeration(c *cursor, version, count, depth int) {
	base := c.dtype(depth + 1)
	if c.err != nil {
		return
	}
	if base.Kind != Int && base.Kind != Uint || base.Size != t.Size {
		c.bad(0, dataset.ErrCorrupt, "enumeration", fmt.Sprintf("of %v in %d bytes", base, t.Size), "of integers")
		return
	}
	t.Kind, t.Big, t.odd = base.Kind, base.Big, base.odd
	for range count {
		t.Enum = append(t.Enum, Member{Name: c.name(version)})
		if c.err != nil {
			return
		}
	}
	for i := range t.Enum {
		b := c.bytes(uint64(base.Size))
		if c.err != nil {
			return
		}
		if base.odd == "" {
			t.Enum[i].Value = int64(integer(b, base))
		}
	}
	if len(t.Enum) == 2 && t.Size == 1 && t.Enum[0] == (Member{"FALSE", 0}) && t.Enum[1] == (Member{"TRUE", 1}) {
		t.Kind = Bool
	}
}

func (t *Type) array(c *cursor, version, depth int) {
	rank := c.u8()
	if version < 3 {
		c.skip(3)
	}
	var dims []int
	for range rank {
		dims = append(dims, int(c.u32()))
	}
	if version < 3 {
		c.skip(4 * rank)
	}
	base := c.dtype(depth + 1)
	if c.err != nil {
		return
	}
	if a := arrayOf(c, base, dims); a.Size != t.Size {
		c.bad(0, dataset.ErrCorrupt, "array", fmt.Sprintf("%v in %d bytes", a, t.Size), fmt.Sprint(a.Size))
	} else {
		*t = *a
	}
}

// arrayOf returns an array type and checks that its size is the element's size.
func arrayOf(c *cursor, base *Type, dims []int) *Type {
	n, err := tensor.NumElements(dims...)
	if err != nil || n < 1 || n > math.MaxInt32/base.Size {
		c.bad(0, dataset.ErrCorrupt, "array", tensor.FormatShape(dims), "at most 2^31-1 bytes, and one element")
		return base
	}
	t := &Type{Kind: Array, Size: n * base.Size, Dims: dims, Elem: base}
	if base.odd != "" {
		t.odd = "array of " + base.odd
	}
	return t
}

// integer returns the bits of an integer with 1, 2, 4 or 8 bytes, sign-extended to 64 bits.
func integer(b []byte, t *Type) uint64 {
	order := t.order()
	signed := t.Kind == Int || t.Kind == Time
	switch t.Size {
	case 1:
		if signed {
			return uint64(int8(b[0]))
		}
		return uint64(b[0])
	case 2:
		if v := order.Uint16(b); signed {
			return uint64(int16(v))
		} else {
			return uint64(v)
		}
	case 4:
		if v := order.Uint32(b); signed {
			return uint64(int32(v))
		} else {
			return uint64(v)
		}
	}
	v := order.Uint64(b)
	if t.Kind == Time { // PyTables' form: seconds in the upper half, microseconds in the lower
		v = uint64(int64(int32(v>>32))*1e9 + int64(int32(v))*1e3)
	}
	return v
}
