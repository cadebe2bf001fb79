package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// whole is a type of whole numbers.
type whole struct {
	name, descr string
	size        int
	low, high   float64 // the least and the greatest that float64 holds
}

// wholes are the types for whole numbers, smaller ones first.
var wholes = []whole{
	{"bool", "|b1", 1, 0, 1}, {"uint8", "|u1", 1, 0, math.MaxUint8}, {"int8", "|i1", 1, math.MinInt8, math.MaxInt8},
	{"uint16", "<u2", 2, 0, math.MaxUint16}, {"int16", "<i2", 2, math.MinInt16, math.MaxInt16},
	{"uint32", "<u4", 4, 0, math.MaxUint32}, {"int32", "<i4", 4, math.MinInt32, math.MaxInt32},
	{"int64", "<i8", 8, -0x1p63, 0x1p63 - 1024}, {"uint64", "<u8", 8, 0, 0x1p64 - 2048},
}

func wholeOf(name string) (whole, bool) {
	k := slices.IndexFunc(wholes, func(w whole) bool { return w.name == name })
	if k < 0 {
		return whole{}, false
	}
	return wholes[k], true
}

// WholeType returns the smallest numpy type that holds all columns with whole numbers: "bool", "uint8", "int64". Column types may
// have C names too, such as "uint8_t". Unknown type names, and combinations that no type holds, give int64. If a column is not
// Integer, the result is empty.
func WholeType(columns []dataset.Column) string {
	low, high := 0.0, 0.0
	for _, c := range columns {
		t, known := wholeOf(strings.TrimSuffix(c.Type, "_t"))
		if !known {
			t, _ = wholeOf("int64")
		}
		if low, high = min(low, t.low), max(high, t.high); !c.Integer {
			return ""
		}
	}
	for _, t := range wholes {
		if len(columns) > 0 && t.low <= low && high <= t.high {
			return t.name
		}
	}
	if len(columns) == 0 {
		return ""
	}
	return "int64"
}

// HoldsWhole reports whether a numpy type holds all elements of a host tensor [S,...] exactly. The tensor is i64, or floats with
// whole numbers.
func HoldsWhole(typ string, t *tensor.Tensor) (bool, error) {
	w, known := wholeOf(typ)
	if !known || t.DType() == tensor.I64 {
		return known && w.size == 8, nil
	}
	err := eachFloat(t, func(v float64) error {
		if v != math.Trunc(v) || v < w.low || v > w.high { // NaN too
			return errFraction
		}
		return nil
	})
	if err == errFraction {
		return false, nil
	}
	return err == nil, err
}

var errFraction = fmt.Errorf("npy: %w", dataset.ErrDType)

// WriteWhole writes a host tensor's whole numbers as a numpy type in a version 1.0 file. The type must hold them; see [HoldsWhole].
func WriteWhole(w io.Writer, typ string, t *tensor.Tensor) error {
	to, known := wholeOf(typ)
	if !known || t.Rank() > maxRank {
		return &Error{Op: "WriteWhole", Kind: dataset.ErrDType, Got: fmt.Sprintf("type %q, rank %d", typ, t.Rank()), Want: fmt.Sprintf("bool, uint8 to int64, at most %d", maxRank)}
	}
	if err := writeHeader(w, to.descr, t.Shape()); err != nil {
		return err
	}
	return WriteWholeData(w, typ, t)
}

// WriteWholeData writes the elements like [WriteWhole], without a header: little-endian and row-major.
func WriteWholeData(w io.Writer, typ string, t *tensor.Tensor) error {
	to, _ := wholeOf(typ)
	if t.DType() == tensor.I64 {
		return WriteData(w, t)
	}
	buf := make([]byte, 0, chunk+8)
	flush := func() error {
		_, err := w.Write(buf)
		buf = buf[:0]
		return err
	}
	err := eachFloat(t, func(v float64) error {
		bits := uint64(int64(v))
		if v >= 0x1p63 {
			bits = uint64(v)
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], bits)
		if buf = append(buf, b[:to.size]...); len(buf) < chunk {
			return nil
		}
		return flush()
	})
	if err != nil || len(buf) == 0 {
		return err
	}
	return flush()
}

// eachFloat calls do for the elements of floats [S,...], some rows at a time, until it fails.
func eachFloat(t *tensor.Tensor, do func(v float64) error) error {
	const some = 1024
	for row := 0; row < t.Dim(0); row += some {
		part, err := t.Slice(0, row, min(row+some, t.Dim(0)))
		if err != nil {
			return err
		}
		values, err := tensor.Floats(part)
		if err != nil {
			return err
		}
		for _, v := range values {
			if err := do(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// WholeDescr returns the name of a whole-number type in an array header, and its size in bytes. Example: WholeDescr("int16")
// returns "<i2" and 2. ok is false for other types.
func WholeDescr(typ string) (descr string, size int, ok bool) {
	w, ok := wholeOf(typ)
	return w.descr, w.size, ok
}
