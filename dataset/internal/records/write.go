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

// Out is a cloud as columns to write: x, y and z, then the features.
type Out struct {
	N       int
	Columns []OutColumn
}

// OutColumn is one of them. A feature of whole numbers is U8 or I32 where that holds them all; everything else is F32.
type OutColumn struct {
	Name   string
	Scalar Scalar
	data   []float32 // number i is at i*step
	step   int
}

// OutOf returns a cloud's columns. It is an error if the cloud is none, as its Check says.
func OutOf(c *dataset.Cloud) (*Out, error) {
	if c == nil {
		return nil, &dataset.CloudError{Arg: "cloud", Got: "nil", Want: "a cloud"}
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	out := &Out{N: c.Len()}
	points, err := elements(c.Points)
	if err != nil {
		return nil, err
	}
	features, err := elements(c.Features)
	if err != nil {
		return nil, err
	}
	for i, name := range []string{"x", "y", "z"} {
		out.Columns = append(out.Columns, OutColumn{name, F32, points[min(i, len(points)):], 3})
	}
	for j, col := range c.Columns {
		o := OutColumn{col.Name, F32, features[min(j, len(features)):], len(c.Columns)}
		if col.Integer {
			o.Scalar = o.narrowest(out.N)
		}
		out.Columns = append(out.Columns, o)
	}
	return out, nil
}

func elements(t *tensor.Tensor) ([]float32, error) {
	t, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	return tensor.Data[float32](t)
}

func (o *OutColumn) narrowest(n int) Scalar {
	s := U8
	for i := range n {
		v := o.At(i)
		switch {
		case !(v >= -1<<31 && v < 1<<31) || v != float32(int32(v)) || v == 0 && math.Signbit(float64(v)):
			return F32
		case v < 0 || v > 255:
			s = I32
		}
	}
	return s
}

// At returns number i.
func (o *OutColumn) At(i int) float32 { return o.data[i*o.step] }

// Append appends number i in the column's type.
func (o *OutColumn) Append(b []byte, i int) []byte {
	switch v := o.At(i); o.Scalar {
	case U8:
		return append(b, uint8(v))
	case I32:
		return binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
	default:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
}

// AppendText appends number i as text that reads as the same number; a NaN is "nan".
func (o *OutColumn) AppendText(b []byte, i int) []byte {
	v := o.At(i)
	switch {
	case o.Scalar != F32:
		return strconv.AppendInt(b, int64(v), 10)
	case v != v:
		return append(b, "nan"...)
	case math.IsInf(float64(v), 0):
		return append(b, map[bool]string{true: "inf", false: "-inf"}[v > 0]...)
	}
	return strconv.AppendFloat(b, float64(v), 'g', -1, 32)
}

// IsWord reports whether a header, whose words stand between white space, can hold a name.
func IsWord(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}
