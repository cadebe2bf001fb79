package npy

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// Table is an array converted to features, for a stream or a batch of streams.
type Table struct {
	// Values are floats: f16, f32 and f64 as in the file. Whole numbers with 8 and 16 bits and booleans become f32, longer ones
	// f64. Records become f32 if it holds all their numbers, else f64. The shape is [S,D] for records [S], [S,1] for an array [S],
	// and otherwise the array's shape.
	Values *tensor.Tensor
	// Columns describe the last dimension: the fields of records, otherwise the indices. Type is numpy's type name, such as
	// "uint8".
	Columns []dataset.Column
	Inexact int // whole numbers that Values cannot hold exactly; they are rounded to nearest even
	// Integers are the exact int64 values before rounding, in the same shape; nil if nothing is rounded, and for records.
	Integers *tensor.Tensor
	// Times [S] is the record field that TableOptions.Clock selects, as ReadTimes returns it; nil without one.
	Times *tensor.Tensor
	Notes dataset.Notes // fields without numbers
}

// TableOptions are the settings of ReadTable.
type TableOptions struct {
	BF16  bool   // read uint16 and V2 as bf16 bit patterns
	Clock string // the record field that is the clock instead of a column
}

// maxWidth is how many columns an array without rows may have.
const maxWidth = 1 << 20

// ReadTable reads numbers or records [S] as features. If the array is neither, or the records lack the clock, the error is a
// *dataset.FormatError that is dataset.ErrUnsupported.
func ReadTable(r io.Reader, opt TableOptions) (*Table, error) {
	return afterHeader(r, func(r io.Reader, h *Header) (*Table, error) { return ReadTableData(r, h, opt) })
}

// ReadTableData is ReadTable for an array with a known header, from its first data byte on; see [ReadData].
func ReadTableData(r io.Reader, h *Header, opt TableOptions) (*Table, error) {
	if h.IsRecords() {
		return recordTable(r, h, opt.Clock)
	}
	s, ok := h.scalar()
	bits := h.kind == bf16Kind || opt.BF16 && h.isBF16()
	if opt.Clock != "" || !ok && !bits {
		return nil, unsupported(h, "f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1 or records")
	}
	var err error
	t, typ := &Table{}, h.Type()
	switch o := h.order(); {
	case bits:
		t.Values, err = bf16(r, h)
		typ = tensor.BF16.String()
	case !s.IsInteger():
		t.Values, err = floats(r, h, s)
	case s.FitsF32():
		t.Values, err = array(r, h, func(b []byte) float32 { v, _ := records.Load[float32](s, b, o); return v })
	case s == records.I64:
		var list *tensor.Tensor
		if list, err = array(r, h, h.int64s()); err != nil {
			return nil, err
		}
		if t.Values, t.Inexact, err = dataset.Numbers(list, 64); t.Inexact > 0 {
			t.Integers = list
		}
	default:
		t.Values, err = array(r, h, func(b []byte) float64 {
			v, exact := records.Load[float64](s, b, o)
			if !exact {
				t.Inexact++
			}
			return v
		})
	}
	if err != nil {
		return nil, err
	}
	switch n := len(h.Shape); {
	case n == 1:
		if t.Values, err = t.Values.Reshape(h.count, 1); err == nil && t.Integers != nil {
			t.Integers, err = t.Integers.Reshape(h.count, 1)
		}
	case n > 0 && h.Shape[n-1] > max(maxWidth, h.count):
		err = &dataset.FormatError{Format: "npy", Offset: h.size, Kind: dataset.ErrTooLarge, Msg: "shape", Got: tensor.FormatShape(h.Shape), Want: fmt.Sprintf("at most %d columns", maxWidth)}
	case n == 0:
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	whole := s.IsInteger() && !bits
	t.Columns = make([]dataset.Column, t.Values.Dim(t.Values.Rank()-1))
	for i := range t.Columns {
		t.Columns[i] = dataset.Column{Name: strconv.Itoa(i), Type: typ, Integer: whole}
	}
	return t, nil
}

// recordTable reads records [S].
func recordTable(r io.Reader, h *Header, clock string) (*Table, error) {
	fail := func(got, want string) (*Table, error) {
		return nil, &dataset.FormatError{Format: "npy", Offset: h.size, Kind: dataset.ErrUnsupported, Msg: "records", Got: got, Want: want}
	}
	if len(h.Shape) != 1 {
		return fail(h.String(), "[S]")
	}
	t := &Table{}
	var parts []records.Part
	var timed *Field
	for i := range h.Fields {
		f := &h.Fields[i]
		s, number := f.scalar()
		switch {
		case clock != "" && f.Name == clock && timed == nil:
			timed = f
		case number:
			t.Columns = append(t.Columns, dataset.Column{Name: f.Name, Type: f.Type(), Integer: s.IsInteger()})
			parts = append(parts, records.Part{Scalar: s, At: f.at, Order: f.order()})
		default:
			t.Notes.Add(f.note(h.count))
		}
	}
	if clock != "" && timed == nil {
		return fail(h.Type(), "a field "+records.Quote(clock))
	}
	if timed != nil && !timed.clock() {
		return fail(fmt.Sprintf("%s %s", timed.Name, timed.Type()), clockTypes)
	}
	data, err := elements[uint8](r, h.count*h.item, 1, h.size, nil)
	if err != nil {
		return nil, err
	}
	if timed != nil {
		if t.Times, err = timed.times(data, h); err != nil {
			return nil, err
		}
	}
	t.Values, t.Inexact, err = records.Table(data, h.count, h.item, parts)
	return t, err
}

// times reads a field of records as their clock.
func (f *Field) times(data []byte, h *Header) (*tensor.Tensor, error) {
	o := f.order()
	at := func(i int) []byte { return data[i*h.item+f.at:] }
	switch s, _ := f.scalar(); s {
	case records.F32:
		list := make([]float32, h.count)
		for i := range list {
			list[i] = math.Float32frombits(o.Uint32(at(i)))
		}
		return tensor.Of(list, h.count)
	case records.F64:
		list := make([]float64, h.count)
		for i := range list {
			list[i] = math.Float64frombits(o.Uint64(at(i)))
		}
		return tensor.Of(list, h.count)
	}
	list := make([]int64, h.count)
	for i := range list {
		list[i] = int64(o.Uint64(at(i)))
	}
	if err := f.nanoseconds(list, h.size+int64(f.at), int64(h.item)); err != nil {
		return nil, err
	}
	return tensor.Of(list, h.count)
}
