package records

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Out is a cloud as columns for a writer: x, y and z, then the features.
type Out struct {
	N       int
	Columns []OutColumn
}

// OutColumn is one column. A feature of integers is U8 or I32 if all fit. Others are F32, or F64 if the tensor is f64.
type OutColumn struct {
	Name   string
	Scalar Scalar
	t      *tensor.Tensor
	column int
	narrow []float32 // number i is at i*stride + column
	double []float64
}

// OutOf returns a cloud's columns. An invalid cloud returns the error of its Check.
func OutOf(c *dataset.Cloud) (*Out, error) {
	if c == nil {
		return nil, &dataset.CloudError{Arg: "cloud", Kind: dataset.ErrMissing, Got: "nil", Want: "a cloud"}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	out := &Out{N: c.Len()}
	for i, name := range []string{"x", "y", "z"} {
		o, err := columnOf(name, c.Points, i)
		if err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, o)
	}
	for i, col := range c.Columns {
		o, err := columnOf(col.Name, c.Features, i)
		if err != nil {
			return nil, err
		}
		if col.Integer {
			o.Scalar = o.narrowest(out.N)
		}
		out.Columns = append(out.Columns, o)
	}
	return out, nil
}

func columnOf(name string, t *tensor.Tensor, column int) (o OutColumn, err error) {
	o = OutColumn{Name: name, Scalar: F32, t: t, column: column * t.Stride(1)}
	if t.DType() == tensor.F64 {
		o.Scalar = F64
		o.double, err = tensor.Elements[float64](t)
	} else {
		o.narrow, err = tensor.Elements[float32](t)
	}
	return o, err
}

func (o *OutColumn) narrowest(n int) Scalar {
	s := U8
	for i := range n {
		v := o.At(i)
		switch {
		case !(v >= -1<<31 && v < 1<<31) || v != float64(int32(v)) || v == 0 && math.Signbit(v):
			return o.Scalar
		case v < 0 || v > 255:
			s = I32
		}
	}
	return s
}

// At returns number i.
func (o *OutColumn) At(i int) float64 {
	at := i*o.t.Stride(0) + o.column
	if o.double != nil {
		return o.double[at]
	}
	return float64(o.narrow[at])
}

// Append appends number i in the column's type.
func (o *OutColumn) Append(b []byte, i int) []byte {
	switch v := o.At(i); o.Scalar {
	case U8:
		return append(b, uint8(v))
	case I32:
		return binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
	case F64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	default:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
}

// AppendText appends number i as the text that reads as the same number; a NaN is "nan".
func (o *OutColumn) AppendText(b []byte, i int) []byte {
	v := o.At(i)
	switch {
	case o.Scalar.IsInteger():
		return strconv.AppendInt(b, int64(v), 10)
	case v != v:
		return append(b, "nan"...)
	case math.IsInf(v, 0):
		return append(b, map[bool]string{true: "inf", false: "-inf"}[v > 0]...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 8*o.Scalar.Size())
}

// IsWord reports whether a name can stand in a header, which has words between white space.
func IsWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
