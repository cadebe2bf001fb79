package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/tensor"
)

// Error is the reason why a value cannot be written.
type Error struct {
	Op        string // the function
	Kind      error  // one of package dataset's Err values
	Got, Want string
}

func (e *Error) Error() string { return "npy." + e.Op + ": got " + e.Got + ", want " + e.Want }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Write writes a host tensor with any strides as a version 1.0 file. bf16 is written as uint16. If the tensor is on a device or
// closed, the error is a *tensor.Error, and if it has more than 64 dimensions, an *Error; nothing is written then.
func Write(w io.Writer, t *tensor.Tensor) error {
	if t == nil {
		return &Error{Op: "Write", Kind: dataset.ErrMissing, Got: "no tensor", Want: "a host tensor"}
	}
	if t.Rank() > maxRank {
		return &Error{Op: "Write", Kind: dataset.ErrShape, Got: fmt.Sprintf("rank %d", t.Rank()), Want: fmt.Sprintf("at most %d", maxRank)}
	}
	descr, write, err := content(t)
	if err != nil {
		return err
	}
	if err := writeHeader(w, descr, t.Shape()); err != nil {
		return err
	}
	return write(w)
}

// WriteData writes the elements of a host tensor with any strides, without a header: little-endian and row-major. If the tensor is
// on a device or closed, the error is a *tensor.Error and nothing is written.
func WriteData(w io.Writer, t *tensor.Tensor) error {
	_, write, err := content(t)
	if err != nil {
		return err
	}
	return write(w)
}

// content returns numpy's type name for a host tensor, and a function that writes its elements.
func content(t *tensor.Tensor) (descr string, write func(io.Writer) error, err error) {
	le := binary.LittleEndian
	switch t.DType() {
	case tensor.F32:
		return contentOf(t, "<f4", func(b []byte, v float32) []byte { return le.AppendUint32(b, math.Float32bits(v)) })
	case tensor.F64:
		return contentOf(t, "<f8", func(b []byte, v float64) []byte { return le.AppendUint64(b, math.Float64bits(v)) })
	case tensor.F16:
		return contentOf(t, "<f2", func(b []byte, v tensor.Float16) []byte { return le.AppendUint16(b, uint16(v)) })
	case tensor.BF16:
		return contentOf(t, "<u2", func(b []byte, v tensor.BFloat16) []byte { return le.AppendUint16(b, uint16(v)) })
	case tensor.I32:
		return contentOf(t, "<i4", func(b []byte, v int32) []byte { return le.AppendUint32(b, uint32(v)) })
	case tensor.I64:
		return contentOf(t, "<i8", func(b []byte, v int64) []byte { return le.AppendUint64(b, uint64(v)) })
	}
	data, err := tensor.Packed[uint8](t)
	return "|u1", func(w io.Writer) error {
		if len(data) == 0 {
			return nil
		}
		_, err := w.Write(data)
		return err
	}, err
}

func contentOf[T tensor.Element](t *tensor.Tensor, descr string, put func([]byte, T) []byte) (string, func(io.Writer) error, error) {
	data, err := tensor.Packed[T](t)
	size := t.DType().Size()
	return descr, func(w io.Writer) error {
		var buf []byte
		for part := range slices.Chunk(data, chunk/size) {
			if raw.Little {
				buf = raw.Bytes(part)
			} else {
				buf = buf[:0]
				for _, v := range part {
					buf = put(buf, v)
				}
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// WriteStrings writes a list of strings as an array with rank 1 and type U. If a string is not UTF-8 or ends in a zero byte, which
// numpy would drop, the error is an *Error and nothing is written.
func WriteStrings(w io.Writer, list []string) error {
	width := 1
	for i, s := range list {
		if !utf8.ValidString(s) {
			return &Error{Op: "WriteStrings", Kind: dataset.ErrOption, Got: fmt.Sprintf("%q at index %d", s, i), Want: "UTF-8"}
		}
		if strings.HasSuffix(s, "\x00") {
			return &Error{Op: "WriteStrings", Kind: dataset.ErrOption, Got: fmt.Sprintf("%q at index %d", s, i), Want: "no zero byte at the end"}
		}
		width = max(width, utf8.RuneCountInString(s))
	}
	if err := writeHeader(w, "<U"+strconv.Itoa(width), []int{len(list)}); err != nil {
		return err
	}
	var buf []byte
	for _, s := range list {
		buf = buf[:0]
		for _, c := range s {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(c))
		}
		for len(buf) < 4*width {
			buf = append(buf, 0, 0, 0, 0)
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// writeHeader writes the magic, version 1.0 and the dictionary, padded so that the data begins at a multiple of 64.
func writeHeader(w io.Writer, descr string, shape []int) error {
	var b strings.Builder
	b.WriteString(magic + "\x01\x00\x00\x00{'descr': '" + descr + "', 'fortran_order': False, 'shape': (")
	for i, d := range shape {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(strconv.Itoa(d))
		if i < len(shape)-1 || i == 0 {
			b.WriteString(",")
		}
	}
	b.WriteString("), }")
	for (b.Len()+1)%64 != 0 {
		b.WriteByte(' ')
	}
	b.WriteByte('\n')
	head := []byte(b.String())
	binary.LittleEndian.PutUint16(head[8:], uint16(len(head)-10))
	_, err := w.Write(head)
	return err
}
