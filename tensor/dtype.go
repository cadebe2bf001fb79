package tensor

import "fmt"

// DType is the type of a tensor's elements, for example F32. The zero value is not a valid dtype.
type DType uint8

// The dtypes. F16 is IEEE binary16, and BF16 is the upper half of a binary32.
const (
	F32 DType = iota + 1
	F64
	F16
	BF16
	I32
	I64
	U8
)

var dtypes = [...]struct {
	name string
	size int
}{{"none", 0}, {"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1}}

// Size returns an element's size in bytes, or 0 for an invalid dtype.
func (d DType) Size() int {
	if int(d) >= len(dtypes) {
		return 0
	}
	return dtypes[d].size
}

// String returns the dtype's short name: f32, f64, f16, bf16, i32, i64 or u8.
func (d DType) String() string {
	if int(d) >= len(dtypes) {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// IsFloat reports whether the dtype is f32, f64, f16 or bf16.
func (d DType) IsFloat() bool { return d == F32 || d == F64 || d == F16 || d == BF16 }

// ParseDType returns the dtype for a short name, which is the reverse of String. Example: "f32" gives F32.
func ParseDType(name string) (DType, error) {
	for i, d := range dtypes {
		if i > 0 && d.name == name {
			return DType(i), nil
		}
	}
	return 0, &Error{Op: "ParseDType", Kind: ErrDType, Got: fmt.Sprintf("%q", name), Want: "f32, f64, f16, bf16, i32, i64 or u8"}
}

// UnmarshalText reads a short name, for example from JSON.
func (d *DType) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDType(string(text))
	return err
}

// Element lists the Go types of tensor elements, one per dtype.
type Element interface {
	float32 | float64 | Float16 | BFloat16 | int32 | int64 | uint8
}

// DTypeOf returns the dtype for a Go element type. Example: DTypeOf[float32]() is F32.
func DTypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case int32:
		return I32
	case int64:
		return I64
	}
	return U8
}
