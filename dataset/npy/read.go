package npy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/records"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

const chunk = 1 << 16 // bytes read and converted at a time

// ReadFile reads a file with exactly one array; extra bytes after it are an error that is dataset.ErrCorrupt. A
// *dataset.FormatError contains the path.
func ReadFile(path string) (*tensor.Tensor, error) {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(storage.Reader(f), chunk)
	t, err := Read(r)
	if err == nil {
		var rest int64
		if rest, err = io.Copy(io.Discard, r); rest > 0 {
			err = &dataset.FormatError{Format: "npy", Offset: -1, Kind: dataset.ErrCorrupt, Msg: "after the array", Got: fmt.Sprintf("%d more bytes", rest), Want: "the end", Err: err}
		}
	}
	if err != nil {
		return nil, dataset.InFile(err, path)
	}
	return t, nil
}

// Read reads one array and stops after its last byte. The tensor has the file's shape; the package comment lists the dtypes. If the
// data breaks the format, or the type is unsupported, the error is a *dataset.FormatError.
func Read(r io.Reader) (*tensor.Tensor, error) {
	return afterHeader(r, ReadData)
}

// afterHeader reads a header, and then the data by a function.
func afterHeader[T any](r io.Reader, read func(io.Reader, *Header) (T, error)) (none T, err error) {
	h, err := ReadHeader(r)
	if err != nil {
		return none, err
	}
	return read(r, &h)
}

// ReadData reads an array like Read, after ReadHeader has read its header from r, or with a header from HeaderOf.
func ReadData(r io.Reader, h *Header) (*tensor.Tensor, error) {
	if h.kind == bf16Kind {
		return bf16(r, h)
	}
	o := h.order()
	s, _ := h.scalar()
	switch s {
	case records.F16, records.F32, records.F64:
		return floats(r, h, s)
	case records.U8:
		return array[uint8](r, h, nil)
	case records.Bool:
		return array(r, h, func(b []byte) uint8 { return min(b[0], 1) })
	case records.I8:
		return array(r, h, func(b []byte) int32 { return int32(int8(b[0])) })
	case records.I16:
		return array(r, h, func(b []byte) int32 { return int32(int16(o.Uint16(b))) })
	case records.U16:
		return array(r, h, func(b []byte) int32 { return int32(o.Uint16(b)) })
	case records.I32:
		return array(r, h, func(b []byte) int32 { return int32(o.Uint32(b)) })
	case records.U32:
		return array(r, h, func(b []byte) int64 { return int64(o.Uint32(b)) })
	case records.I64:
		return array(r, h, h.int64s())
	case records.U64:
		return readUint64(r, h)
	}
	return nil, unsupported(h, "f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8 or b1")
}

// floats reads an array of floats bit for bit.
func floats(r io.Reader, h *Header, s records.Scalar) (*tensor.Tensor, error) {
	o := h.order()
	switch {
	case s == records.F16:
		return array(r, h, func(b []byte) tensor.Float16 { return tensor.Float16(o.Uint16(b)) })
	case s == records.F32 && h.native():
		return array[float32](r, h, nil)
	case s == records.F32:
		return array(r, h, func(b []byte) float32 { return math.Float32frombits(o.Uint32(b)) })
	case h.native():
		return array[float64](r, h, nil)
	}
	return array(r, h, func(b []byte) float64 { return math.Float64frombits(o.Uint64(b)) })
}

// ReadBF16 reads an array of uint16, or of two opaque bytes (V2), as bf16 bit patterns. Any other type is an error that is
// dataset.ErrUnsupported.
func ReadBF16(r io.Reader) (*tensor.Tensor, error) {
	return afterHeader(r, bf16)
}

func bf16(r io.Reader, h *Header) (*tensor.Tensor, error) {
	if !h.isBF16() {
		return nil, unsupported(h, "u2 or V2, the bits of bf16")
	}
	o := h.order()
	return array(r, h, func(b []byte) tensor.BFloat16 { return tensor.BFloat16(o.Uint16(b)) })
}

// isBF16 reports whether the elements may be bf16: numpy has no name for it.
func (h *Header) isBF16() bool {
	return h.kind == bf16Kind || h.item == 2 && (h.kind == 'u' || h.kind == 'V')
}

// ReadStrings reads a string array with rank 0 or 1. Zero bytes at the end of a string are removed, as in numpy. Byte strings (S)
// are returned unchanged, and need not be UTF-8.
func ReadStrings(r io.Reader) ([]string, error) {
	h, err := ReadHeader(r)
	if err != nil {
		return nil, err
	}
	if !h.IsString() {
		return nil, unsupported(&h, "strings: U or S")
	}
	if len(h.Shape) > 1 {
		return nil, &dataset.FormatError{Format: "npy", Offset: h.size, Kind: dataset.ErrUnsupported, Msg: "strings", Got: "shape " + tensor.FormatShape(h.Shape), Want: "rank 0 or 1"}
	}
	data, err := elements[uint8](r, h.count*h.item, 1, h.size, nil)
	if err != nil {
		return nil, err
	}
	list, err := memory.Make[string]("strings", h.count)
	if err != nil {
		return nil, err
	}
	order := h.order()
	var text []byte
	for i := range list {
		item := data[i*h.item : (i+1)*h.item]
		if h.kind == 'S' {
			list[i] = string(bytes.TrimRight(item, "\x00"))
			continue
		}
		text = text[:0]
		for at := 0; at < len(item); at += 4 {
			c := order.Uint32(item[at:])
			if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
				return nil, &dataset.FormatError{Format: "npy", Offset: h.size + int64(i*h.item+at), Kind: dataset.ErrCorrupt, Msg: "string", Got: fmt.Sprintf("%#x", c), Want: "a Unicode character"}
			}
			text = utf8.AppendRune(text, rune(c))
		}
		list[i] = string(bytes.TrimRight(text, "\x00"))
	}
	return list, nil
}

func unsupported(h *Header, want string) error {
	got := records.Quote(h.Descr)
	if h.IsRecords() {
		got = h.Type()
	}
	return &dataset.FormatError{Format: "npy", Offset: h.size, Kind: dataset.ErrUnsupported, Msg: "element type", Got: got, Want: want}
}

// readUint64 reads into int64, and fails at the first element that does not fit.
func readUint64(r io.Reader, h *Header) (*tensor.Tensor, error) {
	data, err := elements(r, h.count, 8, h.size, h.int64s())
	if err != nil {
		return nil, err
	}
	for i, v := range data {
		if v < 0 {
			return nil, &dataset.FormatError{Format: "npy", Offset: h.size + 8*int64(i), Kind: dataset.ErrUnsupported, Msg: "uint64 element", Got: strconv.FormatUint(uint64(v), 10), Want: "at most 2^63-1, to fit i64"}
		}
	}
	return shaped(data, h)
}

func array[T tensor.Element](r io.Reader, h *Header, get func([]byte) T) (*tensor.Tensor, error) {
	data, err := elements(r, h.count, h.item, h.size, get)
	if err != nil {
		return nil, err
	}
	return shaped(data, h)
}

// elements reads n elements of size bytes each, from byte base of the file on. It allocates as they arrive; a reader that
// has a Len method, as bytes.Reader does, is trusted for that many bytes at once. Without get the bytes in the file are
// those of a T in memory.
func elements[T tensor.Element](r io.Reader, n, size int, base int64, get func([]byte) T) ([]T, error) {
	first := chunk
	if l, ok := r.(interface{ Len() int }); ok {
		first = max(first, l.Len())
	}
	data, err := memory.Make[T]("array data", min(n, first/size))
	if err != nil {
		return nil, err
	}
	data = data[:0]
	var buf []byte
	if get != nil {
		buf = make([]byte, min(n, chunk/size)*size)
	}
	for len(data) < n {
		more := min(n-len(data), chunk/size)
		if need := len(data) + more; need > cap(data) {
			room := min(n, max(need, 2*cap(data)))
			grown, err := memory.Make[T]("array data", room)
			if err != nil {
				return nil, err
			}
			data = grown[:copy(grown, data)]
		}
		next := data[len(data) : len(data)+more]
		want := buf[:min(len(buf), more*size)]
		if get == nil {
			want = raw.Bytes(next)
		}
		got, err := io.ReadFull(r, want)
		if err != nil {
			return nil, short(err, base+int64(len(data))*int64(size)+int64(got), "array data")
		}
		data = data[:len(data)+more]
		for i := 0; get != nil && i < more; i++ {
			next[i] = get(want[i*size:])
		}
	}
	return data, nil
}

// shaped wraps data that is in the file's order as a row-major tensor.
func shaped[T tensor.Element](data []T, h *Header) (*tensor.Tensor, error) {
	long := 0
	for _, d := range h.Shape {
		if d > 1 {
			long++
		}
	}
	if !h.Fortran || long < 2 || len(data) == 0 {
		return tensor.Of(data, h.Shape...)
	}
	flat, err := tensor.Of(data, len(data))
	if err != nil {
		return nil, err
	}
	strides, n := make([]int, len(h.Shape)), 1
	for i, d := range h.Shape {
		strides[i] = n
		n *= d
	}
	view, err := flat.AsStrided(h.Shape, strides, 0)
	if err != nil {
		return nil, err
	}
	return view.Contiguous()
}
