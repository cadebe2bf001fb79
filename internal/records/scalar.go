package records

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
)

// Scalar is the type of one number.
type Scalar uint8

// The scalar types. The zero value is invalid.
const (
	I8 Scalar = iota + 1
	U8
	I16
	U16
	I32
	U32
	I64
	U64
	F32
	F64
	F16
	Bool // a byte; any value but 0 is true
)

var scalars = [...]struct {
	name string
	size int
}{{"none", 0}, {"int8", 1}, {"uint8", 1}, {"int16", 2}, {"uint16", 2}, {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8}, {"float32", 4}, {"float64", 8}, {"float16", 2}, {"bool", 1}}

// Size returns the size of a number in bytes.
func (s Scalar) Size() int { return scalars[s].size }

// String returns the type's plain name: "uint16".
func (s Scalar) String() string { return scalars[s].name }

// IsInteger reports whether the type has only integers.
func (s Scalar) IsInteger() bool { return s < F32 || s == Bool }

// FitsF32 reports whether float32 holds every number of the type.
func (s Scalar) FitsF32() bool { return s.Size() <= 2 || s == F32 }

// Load returns the number at the start of b, and whether it is exact. A NaN counts as exact.
func Load[T float32 | float64](s Scalar, b []byte, o binary.ByteOrder) (T, bool) {
	switch s {
	case I8:
		return T(int8(b[0])), true
	case U8:
		return T(b[0]), true
	case I16:
		return T(int16(o.Uint16(b))), true
	case U16:
		return T(o.Uint16(b)), true
	case I32:
		return dataset.Float[T](int64(int32(o.Uint32(b))))
	case U32:
		return dataset.Float[T](int64(o.Uint32(b)))
	case I64:
		return dataset.Float[T](int64(o.Uint64(b)))
	case U64:
		return dataset.Float[T](o.Uint64(b))
	case F32:
		return T(math.Float32frombits(o.Uint32(b))), true
	case F16:
		return T(half(o.Uint16(b))), true
	case Bool:
		return T(min(b[0], 1)), true
	}
	return ofFloat[T](math.Float64frombits(o.Uint64(b)))
}

func ofFloat[T float32 | float64](v float64) (T, bool) {
	f := T(v)
	return f, float64(f) == v || v != v
}

// parse is Load for a number written as text. The error names the expected text.
func parse[T float32 | float64](s Scalar, text string) (v T, exact bool, err error) {
	bits := 8 * s.Size()
	switch {
	case s >= F32:
		f, err := decimal.ParseFloat(text, bits)
		if err == nil {
			v, exact = ofFloat[T](f)
			return v, exact, nil
		}
		if f, ok := decimal.NotFinite(text); ok {
			return T(f), true, nil
		}
	case s == U8 || s == U16 || s == U32 || s == U64:
		u, err := strconv.ParseUint(text, 10, bits)
		if err == nil {
			v, exact = dataset.Float[T](u)
			return v, exact, nil
		}
	default:
		i, err := strconv.ParseInt(text, 10, bits)
		if err == nil {
			v, exact = dataset.Float[T](i)
			return v, exact, nil
		}
	}
	return 0, false, fmt.Errorf("%s", s)
}
