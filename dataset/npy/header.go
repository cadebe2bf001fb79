package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 1 << 16 // bytes; numpy itself stops at 10,000 characters
	maxRank   = 64      // numpy's own
)

// Header is what a file says of its array.
type Header struct {
	Version int    // 1, 2 or 3
	Descr   string // numpy's name of the type with its byte order: "<f4"
	Fortran bool   // the first dimension is the fastest in the file
	Shape   []int

	size  int64 // bytes before the data
	count int   // elements
	kind  byte  // numpy's letter: f i u b U S V
	item  int   // bytes an element
	big   bool  // big-endian
}

// Len returns the number of elements.
func (h *Header) Len() int { return h.count }

// DType returns the dtype of the tensor that Read gives, and false for strings and for types that it does not take.
func (h *Header) DType() (tensor.DType, bool) {
	switch string(h.kind) + strconv.Itoa(h.item) {
	case "f2":
		return tensor.F16, true
	case "f4":
		return tensor.F32, true
	case "f8":
		return tensor.F64, true
	case "i1", "i2", "i4", "u2":
		return tensor.I32, true
	case "i8", "u4", "u8":
		return tensor.I64, true
	case "u1", "b1":
		return tensor.U8, true
	}
	return 0, false
}

// IsString reports whether the array holds strings.
func (h *Header) IsString() bool { return h.kind == 'U' || h.kind == 'S' }

// ReadHeader reads up to the first byte of the data. It returns a *dataset.FormatError for a header that is cut, broken
// or of a type whose elements have no fixed size.
func ReadHeader(r io.Reader) (Header, error) {
	var h Header
	head := make([]byte, 12)
	if n, err := io.ReadFull(r, head[:10]); err != nil {
		return h, short(err, int64(n), "file header")
	}
	if string(head[:6]) != magic {
		return h, &dataset.FormatError{Format: "npy", Kind: dataset.ErrCorrupt, Msg: "file magic", Got: fmt.Sprintf("% x", head[:6]), Want: fmt.Sprintf("% x", magic)}
	}
	h.Version = int(head[6])
	size, at := int64(0), int64(10)
	switch {
	case head[6] == 1 && head[7] == 0:
		size = int64(binary.LittleEndian.Uint16(head[8:]))
	case (head[6] == 2 || head[6] == 3) && head[7] == 0:
		if n, err := io.ReadFull(r, head[10:]); err != nil {
			return h, short(err, 10+int64(n), "file header")
		}
		size, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	default:
		return h, &dataset.FormatError{Format: "npy", Offset: 6, Kind: dataset.ErrUnsupported, Msg: "file version", Got: fmt.Sprintf("%d.%d", head[6], head[7]), Want: "1.0, 2.0 or 3.0"}
	}
	if size > maxHeader {
		return h, &dataset.FormatError{Format: "npy", Offset: 8, Kind: dataset.ErrTooLarge, Msg: "header length", Got: strconv.FormatInt(size, 10), Want: fmt.Sprintf("at most %d", maxHeader)}
	}
	text := make([]byte, size)
	if n, err := io.ReadFull(r, text); err != nil {
		return h, short(err, at+int64(n), "array header")
	}
	h.size = at + size
	p := literal{text: string(text), base: at}
	if err := p.header(&h); err != nil {
		return h, err
	}
	return h, h.resolve(at)
}

// resolve works out the element type and count of a parsed header.
func (h *Header) resolve(at int64) error {
	fail := func(kind error, msg, got, want string) error {
		return &dataset.FormatError{Format: "npy", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
	}
	d := h.Descr
	order := byte('=')
	if d != "" && strings.IndexByte("<>|=", d[0]) >= 0 {
		order, d = d[0], d[1:]
	}
	item, err := -1, error(nil)
	if len(d) > 1 {
		item, err = strconv.Atoi(d[1:])
	}
	if err != nil || item < 0 || d[1] == '+' || strings.IndexByte("fiubUSV", d[0]) < 0 {
		return fail(dataset.ErrUnsupported, "element type", strconv.Quote(h.Descr), "f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1, U or S")
	}
	h.kind, h.item, h.big = d[0], item, order == '>'
	if h.kind == 'U' {
		if item > math.MaxInt32 {
			return fail(dataset.ErrTooLarge, "element type", h.Descr, "a string of at most 2^31 characters")
		}
		h.item = 4 * item
	}
	if len(h.Shape) > maxRank {
		return fail(dataset.ErrUnsupported, "rank", strconv.Itoa(len(h.Shape)), fmt.Sprintf("at most %d", maxRank))
	}
	if h.count, err = tensor.NumElements(h.Shape...); err != nil || h.count > tensor.MaxBytes/max(h.item, 8) {
		return fail(dataset.ErrTooLarge, "shape", tensor.FormatShape(h.Shape), "at most 2^62 bytes")
	}
	if h.item == 0 && h.count > 0 {
		return fail(dataset.ErrUnsupported, "element type", h.Descr, "elements of at least one byte")
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

// literal reads the Python dictionary of a header: strings, True, False, tuples of integers.
type literal struct {
	text string
	at   int
	base int64
}

func (p *literal) fail(want string) error {
	got := "the end of the header"
	if p.at < len(p.text) {
		got = strconv.Quote(p.text[p.at:min(p.at+16, len(p.text))])
	}
	return &dataset.FormatError{Format: "npy", Offset: p.base + int64(p.at), Kind: dataset.ErrCorrupt, Msg: "array header", Got: got, Want: want}
}

func (p *literal) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take skips space, then one character if it is c.
func (p *literal) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *literal) header(h *Header) error {
	if !p.take('{') {
		return p.fail("'{'")
	}
	seen := map[string]bool{}
	for !p.take('}') {
		start := p.at
		key, err := p.str()
		if err != nil {
			return err
		}
		if seen[key] {
			p.at = start
			return p.fail("each key once")
		}
		seen[key] = true
		if !p.take(':') {
			return p.fail("':'")
		}
		p.space()
		switch key {
		case "descr":
			if p.at < len(p.text) && (p.text[p.at] == '[' || p.text[p.at] == '(') {
				return &dataset.FormatError{Format: "npy", Offset: p.base + int64(p.at), Kind: dataset.ErrUnsupported, Msg: "element type", Got: "a structured type", Want: "one number or string an element"}
			}
			h.Descr, err = p.str()
		case "fortran_order":
			h.Fortran, err = p.boolean()
		case "shape":
			h.Shape, err = p.tuple()
		default:
			p.at = start
			err = p.fail("descr, fortran_order or shape")
		}
		if err != nil {
			return err
		}
		if !p.take(',') {
			if !p.take('}') {
				return p.fail("',' or '}'")
			}
			break
		}
	}
	if len(seen) != 3 {
		return p.fail("descr, fortran_order and shape")
	}
	if p.space(); p.at != len(p.text) {
		return p.fail("nothing after the dictionary")
	}
	return nil
}

func (p *literal) str() (string, error) {
	p.space()
	if p.at >= len(p.text) || (p.text[p.at] != '\'' && p.text[p.at] != '"') {
		return "", p.fail("a quoted string")
	}
	end := strings.IndexByte(p.text[p.at+1:], p.text[p.at])
	if end < 0 {
		return "", p.fail("a closed string")
	}
	s := p.text[p.at+1 : p.at+1+end]
	p.at += end + 2
	return s, nil
}

func (p *literal) boolean() (bool, error) {
	for _, word := range []string{"True", "False"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return word == "True", nil
		}
	}
	return false, p.fail("True or False")
}

// tuple reads (), (3,) and (3, 4L): old versions of numpy wrote the L.
func (p *literal) tuple() ([]int, error) {
	if !p.take('(') {
		return nil, p.fail("'('")
	}
	shape := []int{}
	for !p.take(')') {
		start := p.at
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			p.at++
		}
		n, err := strconv.Atoi(p.text[start:p.at])
		if err != nil {
			p.at = start
			return nil, p.fail("a dimension")
		}
		shape = append(shape, n)
		if p.at < len(p.text) && p.text[p.at] == 'L' {
			p.at++
		}
		if !p.take(',') {
			if !p.take(')') {
				return nil, p.fail("',' or ')'")
			}
			if len(shape) == 1 {
				return nil, p.fail("a tuple: (n,)")
			}
			break
		}
	}
	return shape, nil
}
