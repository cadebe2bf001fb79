package npy

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

// recordKind is the kind of an element that is a record; numpy has no letter for it.
const recordKind = 'r'

// bf16Kind is the kind of an element that is known to be bf16.
const bf16Kind = 'B'

// element is the type of one element, or of one field of a record.
type element struct {
	kind byte   // numpy's letter: f i u b U S V c M m; recordKind; bf16Kind; 0 for none that can be read
	item int    // bytes
	big  bool   // big-endian
	unit string // of M and m: "ns", "10us"; empty for none
}

const elementTypes = "f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1, M8 m8, c, U, S, V or records of these"

// elementOf reads numpy's name of a type. Errors lie at a byte of the file.
func elementOf(descr string, at int64) (e element, err error) {
	d := descr
	if d != "" && strings.IndexByte("<>|=", d[0]) >= 0 {
		e.big, d = d[0] == '>', d[1:]
	}
	d, unit, hasUnit := strings.Cut(d, "[")
	item := -1
	if len(d) > 1 && d[1] != '+' {
		if item, err = strconv.Atoi(d[1:]); err != nil {
			item = -1
		}
	}
	isTime := d != "" && (d[0] == 'M' || d[0] == 'm')
	var closed bool
	e.unit, closed = strings.CutSuffix(unit, "]")
	if item < 0 || strings.IndexByte("fiubUSVcMm", d[0]) < 0 || isTime && item != 8 || hasUnit && !(isTime && closed) {
		got := records.Quote(descr)
		if d == "O" {
			got += ", Python objects"
		}
		return e, &dataset.FormatError{Format: "npy", Offset: at, Kind: dataset.ErrUnsupported, Msg: "element type", Got: got, Want: elementTypes}
	}
	if most := math.MaxInt32; item > most || d[0] == 'U' && item > most/4 {
		return e, &dataset.FormatError{Format: "npy", Offset: at, Kind: dataset.ErrTooLarge, Msg: "element type", Got: descr, Want: "less than 2^31 bytes"}
	}
	e.kind, e.item = d[0], item
	if e.kind == 'U' {
		e.item = 4 * item
	}
	return e, nil
}

// scalars are the types of numbers.
var scalars = map[string]records.Scalar{
	"f2": records.F16, "f4": records.F32, "f8": records.F64, "b1": records.Bool,
	"i1": records.I8, "i2": records.I16, "i4": records.I32, "i8": records.I64,
	"u1": records.U8, "u2": records.U16, "u4": records.U32, "u8": records.U64,
}

// scalar returns a number's type, or false if the element is not a number.
func (e element) scalar() (records.Scalar, bool) {
	s, ok := scalars[string(e.kind)+strconv.Itoa(e.item)]
	return s, ok
}

func (e element) isTime() bool { return e.kind == 'M' || e.kind == 'm' }

func (e element) order() binary.ByteOrder {
	if e.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// native reports whether numbers are in the file as they are in memory.
func (e element) native() bool { return e.big != raw.Little }

// int64s returns the function that reads an i64; nil if the file has the memory's byte order.
func (e element) int64s() func([]byte) int64 {
	if e.native() {
		return nil
	}
	o := e.order()
	return func(b []byte) int64 { return int64(o.Uint64(b)) }
}

// name is numpy's name of the type.
func (e element) name() string {
	if s, ok := e.scalar(); ok {
		return s.String()
	}
	unit := ""
	if e.unit != "" {
		unit = "[" + e.unit + "]"
	}
	switch e.kind {
	case bf16Kind:
		return "bfloat16"
	case 'M':
		return "datetime64" + unit
	case 'm':
		return "timedelta64" + unit
	case 'c':
		return "complex" + strconv.Itoa(8*e.item)
	case 'f':
		return "float" + strconv.Itoa(8*e.item)
	case 'U':
		return "str of " + strconv.Itoa(e.item/4)
	case 'S':
		return "bytes of " + strconv.Itoa(e.item)
	case 'V':
		return "void of " + strconv.Itoa(e.item)
	}
	return "an array too wide"
}

// DType returns the dtype of the tensor that Read returns, or false if Read does not support the type.
func (h *Header) DType() (tensor.DType, bool) {
	s, ok := h.scalar()
	if h.kind == bf16Kind {
		return tensor.BF16, true
	}
	if !ok {
		return 0, false
	}
	switch s {
	case records.F16:
		return tensor.F16, true
	case records.F32:
		return tensor.F32, true
	case records.F64:
		return tensor.F64, true
	case records.U8, records.Bool:
		return tensor.U8, true
	case records.I8, records.I16, records.I32, records.U16:
		return tensor.I32, true
	}
	return tensor.I64, true
}
