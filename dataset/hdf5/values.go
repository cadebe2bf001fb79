package hdf5

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// Values holds the elements in a dataset or an attribute. A row is a slice along the first dimension; a scalar is one row.
type Values struct {
	f      *File
	name   string // for errors
	at     int64  // offset of the header or message
	space  space
	typ    *Type  // type of the selected part
	stored int    // bytes per element in the file
	offset int    // the selected part's offset in an element
	fill   []byte // value for unwritten elements; nil means zeros
	data   stored
	err    error // why there are no values
}

// stored is an array's storage.
type stored interface {
	// read passes the elements in rows lo to hi-1 to put, in parts; at counts from the first element. It leaves out elements that were
	// never written.
	read(v *Values, lo, hi int, put func(at int, elements []byte) error) error
	// whole reports whether all elements in rows lo to hi-1 were written.
	whole(v *Values, lo, hi int) (bool, error)
}

// Shape returns the dimensions, without the dimensions of arrays in each element; Read appends those.
func (v *Values) Shape() []int { return slices.Clone(v.space.shape) }

// Type returns the element type.
func (v *Values) Type() *Type { return v.typ }

// IsNull reports whether the file declares that there are no elements, not even a scalar. The shape is then [0].
func (v *Values) IsNull() bool { return v.space.empty }

// Len returns the number of rows.
func (v *Values) Len() int {
	if len(v.space.shape) == 0 {
		return 1
	}
	return v.space.shape[0]
}

// perRow returns how many elements a row has.
func (v *Values) perRow() int {
	if len(v.space.shape) < 2 {
		return 1
	}
	n, _ := tensor.NumElements(v.space.shape[1:]...)
	return n
}

func (v *Values) fail(kind error, msg, got, want string) *dataset.FormatError {
	return v.f.fail(v.at, kind, v.name+msg, got, want)
}

// Field returns the values of one field in a compound. For a nested field, call Field again on the result.
func (v *Values) Field(name string) (*Values, error) {
	for _, f := range v.typ.Fields {
		if f.Name == name {
			field := *v
			field.name += "." + name
			field.typ, field.offset = f.Type, v.offset+f.Offset
			return &field, nil
		}
	}
	return nil, v.fail(dataset.ErrNotFound, ": field", fmt.Sprintf("%.60q", name), v.typ.String())
}

// maxUnfilled is how many bytes a read may return even if the file is smaller.
const maxUnfilled = 64 << 20

// each reads rows. put gets the elements as stored, whole compounds for a field.
func (v *Values) each(lo, hi int, put func(at int, elements []byte) error) error {
	whole, err := v.data.whole(v, lo, hi)
	if err != nil {
		return err
	}
	if !whole && slices.ContainsFunc(v.fill, func(b byte) bool { return b != 0 }) {
		count := (hi - lo) * v.perRow()
		block := bytes.Repeat(v.fill, min(count, max(1, 1<<16/v.stored)))
		for at := 0; at < count; at += len(block) / v.stored {
			if err := put(at, block[:min(len(block), (count-at)*v.stored)]); err != nil {
				return err
			}
		}
	}
	return v.data.read(v, lo, hi, put)
}

// check returns how many elements rows lo to hi-1 have. With n bytes each, they must not exceed the file's possible content.
func (v *Values) check(lo, hi, n int) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if lo < 0 || hi < lo || hi > v.Len() {
		return 0, v.fail(dataset.ErrShape, ": rows", fmt.Sprintf("%d to %d", lo, hi), fmt.Sprintf("inside 0 to %d", v.Len()))
	}
	row := v.perRow()
	most := maxUnfilled
	if v.f.size < math.MaxInt64/deflateRatio {
		most = max(most, deflateRatio*int(v.f.size))
	}
	if row > 0 && hi-lo > most/row/n {
		return 0, v.fail(dataset.ErrTooLarge, "", fmt.Sprintf("%d rows of %d elements, %d bytes each", hi-lo, row, n), fmt.Sprintf("at most %d bytes at once, of a file of %d", most, v.f.size))
	}
	return (hi - lo) * row, memory.Fits(v.name, int64(hi-lo)*int64(row*n))
}

// Read returns all numbers.
func (v *Values) Read() (*tensor.Tensor, error) { return v.Rows(0, v.Len()) }

// Rows returns the numbers in rows lo to hi-1, with the dtype that Type.DType returns. It reads only the chunks that contain these
// rows.
func (v *Values) Rows(lo, hi int) (*tensor.Tensor, error) {
	n, err := v.check(lo, hi, max(v.typ.Size, 8))
	if err != nil {
		return nil, err
	}
	dtype, ok := v.typ.DType()
	if !ok {
		return nil, v.fail(dataset.ErrUnsupported, ": numbers", v.typ.String(), "integers, floats, booleans, or arrays of these")
	}
	base, dims := v.typ.Flat()
	shape := v.Shape()
	if len(shape) > 0 {
		shape[0] = hi - lo
	} else if lo == hi {
		shape = []int{0}
	}
	whole, err := v.data.whole(v, lo, hi)
	if err != nil {
		return nil, err
	}
	create := tensor.New
	if whole {
		create = raw.New // all of it is written below
	}
	t, err := create(dtype, append(shape, dims...)...)
	if err != nil || n == 0 {
		return t, err
	}
	if whole && v.plain(base, dtype) {
		out, err := raw.Of(t)
		if err != nil {
			return nil, err
		}
		if done, err := v.direct(lo, hi, out); err != nil {
			return nil, err
		} else if done {
			return t, nil
		}
	}
	if err := v.each(lo, hi, filler(v, base, t)); err != nil {
		return nil, err
	}
	return t, nil
}

// direct reads rows straight into out if all were written, in file order. It returns false if the storage does not support it.
func (v *Values) direct(lo, hi int, out []byte) (bool, error) {
	switch d := v.data.(type) {
	case contiguous:
		return true, d.direct(v, lo, hi, out)
	case *chunked:
		return d.direct(v, lo, hi, out)
	}
	return false, nil
}

// Raw returns the bytes of rows lo to hi-1 as stored, after the filters are undone.
func (v *Values) Raw(lo, hi int) ([]byte, error) {
	n, err := v.check(lo, hi, v.typ.Size)
	if err != nil {
		return nil, err
	}
	if d, ok := v.data.(*chunked); ok && n > 0 && v.stored == v.typ.Size {
		if data, err := d.one(v, lo, hi); data != nil || err != nil {
			return data, err
		}
	}
	whole, err := v.data.whole(v, lo, hi)
	if err != nil {
		return nil, err
	}
	var out []byte
	if whole {
		out = raw.Memory(n * v.typ.Size) // all of it is written below
	} else {
		out = make([]byte, n*v.typ.Size)
	}
	if whole && v.stored == v.typ.Size {
		if done, err := v.direct(lo, hi, out); err != nil {
			return nil, err
		} else if done {
			return out, nil
		}
	}
	err = v.each(lo, hi, func(at int, b []byte) error {
		if len(out) == n*v.stored {
			copy(out[at*v.stored:], b)
			return nil
		}
		for size := v.typ.Size; len(b) > 0; b, at = b[v.stored:], at+1 {
			copy(out[at*size:(at+1)*size], b[v.offset:])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReadStrings returns all strings, in row-major order.
func (v *Values) ReadStrings() ([]string, error) { return v.Strings(0, v.Len()) }

// Strings returns the strings in rows lo to hi-1, in row-major order, without padding.
func (v *Values) Strings(lo, hi int) ([]string, error) {
	base, dims := v.typ.Flat()
	if v.err == nil && base.Kind != String && base.Kind != VarString {
		return nil, v.fail(dataset.ErrUnsupported, ": strings", v.typ.String(), "strings")
	}
	return variable(v, base, dims, lo, hi, func(b []byte) string {
		if base.Kind == String && base.padding == 2 {
			return strings.TrimRight(string(b), " ")
		}
		if base.Kind == VarString || base.padding == 0 {
			b, _, _ = bytes.Cut(b, []byte{0})
		}
		return string(bytes.TrimRight(b, "\x00"))
	})
}

// Bytes returns the variable-length elements in rows lo to hi-1, in row-major order: strings as bytes, sequences as their stored
// elements.
func (v *Values) Bytes(lo, hi int) ([][]byte, error) {
	base, dims := v.typ.Flat()
	if v.err == nil && base.Kind != Sequence && base.Kind != VarString {
		return nil, v.fail(dataset.ErrUnsupported, ": elements of variable length", v.typ.String(), "such ones")
	}
	return variable(v, base, dims, lo, hi, bytes.Clone)
}

// variable reads strings, or sequences as bytes. take must copy its argument if it keeps it.
func variable[T any](v *Values, base *Type, dims []int, lo, hi int, take func([]byte) T) ([]T, error) {
	per, _ := tensor.NumElements(dims...)
	n, err := v.check(lo, hi, max(v.typ.Size, 24*per))
	if err != nil {
		return nil, err
	}
	out := make([]T, n*per)
	room := max(maxUnfilled, deflateRatio*v.f.size)
	err = v.each(lo, hi, func(at int, b []byte) error {
		for ; len(b) > 0; b, at = b[v.stored:], at+1 {
			for k := range per {
				element := b[v.offset+k*base.Size:][:base.Size]
				if base.Kind != String {
					var err error
					if element, err = v.f.variable(v, base, element); err != nil {
						return err
					}
				}
				if room -= int64(len(element)); room < 0 {
					return v.fail(dataset.ErrTooLarge, "", "more bytes in all than the file could hold", "fewer rows at once")
				}
				out[at*per+k] = take(element)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
