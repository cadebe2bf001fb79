package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/tensor"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 16 // bytes; numpy itself stops at 10,000 characters
	maxRank   = 64      // numpy's own
)

// Header describes the array in a file.
type Header struct {
	Version int    // 1, 2 or 3
	Descr   string // numpy's type name with the byte order, "<f4"; for records, the list of fields
	Fortran bool   // the first dimension varies fastest in the file
	Shape   []int
	Fields  []Field // the fields of records in order, nested fields and array elements one by one; nil for other types

	dtype dtype
	size  int64 // bytes before the data
	count int   // elements
	element
}

// Len returns the number of elements.
func (h *Header) Len() int { return h.count }

// ItemSize returns the size of an element in bytes, like numpy's itemsize.
func (h *Header) ItemSize() int { return h.item }

// IsRecords reports whether the elements are records, numpy's structured types.
func (h *Header) IsRecords() bool { return h.kind == recordKind }

// IsString reports whether the array holds strings.
func (h *Header) IsString() bool { return h.kind == 'U' || h.kind == 'S' }

// IsClock reports whether the type can hold timestamps: see ReadTimes.
func (h *Header) IsClock() bool { return h.clock() }

// String returns numpy's type name and the shape: "float32 [8,100,7]".
func (h *Header) String() string {
	return h.Type() + " " + tensor.FormatShape(h.Shape)
}

// Type returns numpy's type name without the byte order, "float32", or for records their first fields: "records (t, x, y)".
func (h *Header) Type() string {
	if !h.IsRecords() {
		return h.name()
	}
	names := make([]string, 0, 5)
	for i, f := range h.Fields {
		if i == 4 && len(h.Fields) > 5 {
			names = append(names, fmt.Sprintf("... %d more", len(h.Fields)-4))
			break
		}
		names = append(names, fmt.Sprintf("%.40s", f.Name))
	}
	return "records (" + strings.Join(names, ", ") + ")"
}

// ReadHeader reads up to the first byte of the data. It returns a *dataset.FormatError if the header is cut or broken, or if the
// elements have no fixed size.
func ReadHeader(r io.Reader) (Header, error) {
	h, at, err := parseHeader(r)
	if err != nil {
		return h, err
	}
	return h, h.resolve(at)
}

// ReadObjectHeader reads up to the first data byte of an array with Python objects. Its data is one pickle with the whole array.
// For an array of any other type the error is a *dataset.FormatError that is dataset.ErrUnsupported.
func ReadObjectHeader(r io.Reader) (Header, error) {
	h, at, err := parseHeader(r)
	if err != nil {
		return h, err
	}
	if h.Descr = h.dtype.text; strings.TrimLeft(h.Descr, "|<>=") != "O" || h.dtype.record || len(h.dtype.shape) > 0 {
		got := records.Quote(h.Descr)
		return h, &dataset.FormatError{Format: "npy", Offset: at, Kind: dataset.ErrUnsupported, Msg: "element type", Got: got, Want: "O, Python objects"}
	}
	return h, nil
}

// parseHeader reads up to the first byte of the data. The header's text begins at the byte that it returns.
func parseHeader(r io.Reader) (h Header, text int64, err error) {
	head := make([]byte, 12)
	if n, err := io.ReadFull(r, head[:10]); err != nil {
		return h, 0, short(err, int64(n), "file header")
	}
	if string(head[:6]) != magic {
		return h, 0, &dataset.FormatError{Format: "npy", Kind: dataset.ErrCorrupt, Msg: "file magic", Got: fmt.Sprintf("% x", head[:6]), Want: fmt.Sprintf("% x", magic)}
	}
	h.Version = int(head[6])
	size, at := int64(0), int64(10)
	switch {
	case head[6] == 1 && head[7] == 0:
		size = int64(binary.LittleEndian.Uint16(head[8:]))
	case (head[6] == 2 || head[6] == 3) && head[7] == 0:
		if n, err := io.ReadFull(r, head[10:]); err != nil {
			return h, 0, short(err, 10+int64(n), "file header")
		}
		size, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	default:
		return h, 0, &dataset.FormatError{Format: "npy", Offset: 6, Kind: dataset.ErrUnsupported, Msg: "file version", Got: fmt.Sprintf("%d.%d", head[6], head[7]), Want: "1.0, 2.0 or 3.0"}
	}
	if size > maxHeader {
		return h, 0, &dataset.FormatError{Format: "npy", Offset: 8, Kind: dataset.ErrTooLarge, Msg: "header length", Got: strconv.FormatInt(size, 10), Want: fmt.Sprintf("at most %d", maxHeader)}
	}
	raw := make([]byte, size)
	if n, err := io.ReadFull(r, raw); err != nil {
		return h, 0, short(err, at+int64(n), "array header")
	}
	h.size = at + size
	p := literal{text: string(raw), base: at, latin1: h.Version < 3}
	return h, at, p.header(&h)
}

// BF16 is the type name for bfloat16 in HeaderOf, because numpy has no name for it.
const BF16 = "bf16"

// HeaderOf returns the header for a numeric array inside a file of another format, little-endian and row-major, from byte at on.
// descr is numpy's type name, such as "<f4", or [BF16]. It returns the same errors as ReadHeader.
func HeaderOf(descr string, at int64, shape ...int) (Header, error) {
	h := Header{Shape: shape, dtype: dtype{text: descr}, size: at}
	if descr == BF16 {
		h.dtype.text = "<V2"
	}
	err := h.resolve(at)
	if descr == BF16 {
		h.kind, h.Descr = bf16Kind, BF16
	}
	return h, err
}

// resolve computes the element type and count of a parsed header. Its text begins at byte at.
func (h *Header) resolve(at int64) (err error) {
	fail := func(kind error, msg, got, want string) error {
		return &dataset.FormatError{Format: "npy", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
	}
	h.Descr = h.dtype.text
	switch {
	case len(h.dtype.shape) > 0: // numpy gives the array these dimensions
		return fail(dataset.ErrUnsupported, "element type", "an array in each element", "one number, string or record")
	case h.dtype.record:
		err = h.flatten(at)
	default:
		h.element, err = elementOf(h.dtype.text, at)
	}
	if err != nil {
		return err
	}
	if len(h.Shape) > maxRank {
		return fail(dataset.ErrUnsupported, "rank", strconv.Itoa(len(h.Shape)), fmt.Sprintf("at most %d", maxRank))
	}
	if h.count, err = tensor.NumElements(h.Shape...); err != nil || h.count > tensor.MaxBytes/max(h.item, 8) {
		return fail(dataset.ErrTooLarge, "shape", tensor.FormatShape(h.Shape), "at most 2^62 bytes")
	}
	if h.item == 0 && h.count > 0 {
		return fail(dataset.ErrUnsupported, "element type", records.Quote(h.Descr), "elements of at least one byte")
	}
	return nil
}

// short turns the end of the input into a FormatError at that byte, and leaves other errors as they are.
func short(err error, at int64, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &dataset.FormatError{Format: "npy", Offset: at, Kind: dataset.ErrTruncated, Msg: what, Err: io.ErrUnexpectedEOF}
	}
	return err
}
