package records

import (
	"encoding/binary"

	"github.com/robocache/robocache/tensor"
)

// Part is the place of a number in each record.
type Part struct {
	Scalar Scalar
	At     int // offset in the record, bytes
	Order  binary.ByteOrder
}

// Table returns the parts of n records of stride bytes, [n,len(parts)]. It is f32 if f32 holds all types of the parts exactly, else f64.
// The second result counts the numbers that do not fit exactly.
func Table(data []byte, n, stride int, parts []Part) (*tensor.Tensor, int, error) {
	t := table{width: len(parts)}
	for _, p := range parts {
		t.wide = t.wide || !p.Scalar.FitsF32()
	}
	if err := t.room(n); err != nil {
		return nil, 0, err
	}
	inexact := 0
	for i, p := range parts {
		inexact += t.load(0, i, n, p.Scalar, data, p.At, stride, p.Order)
	}
	made, err := t.tensor(n)
	return made, inexact, err
}

func half(bits uint16) float32 { return tensor.Float16(bits).F32() }
