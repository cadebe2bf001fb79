package ply

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// property is a number of an element, or a list of them.
type property struct {
	name, typ string
	scalar    records.Scalar
	count     records.Scalar // of a list's length; 0 for a single number
}

// element is a table of the file.
type element struct {
	name       string
	vertex     bool // the points
	n          int
	properties []property
	offset     int64 // of its header line
	line       int
}

// size returns the bytes of a row, and false if rows differ because they hold lists.
func (e *element) size() (int, bool) {
	n := 0
	for _, p := range e.properties {
		if p.count != 0 {
			return 0, false
		}
		n += p.scalar.Size()
	}
	return n, true
}

// header describes the content of a file.
type header struct {
	order    binary.ByteOrder // nil for ascii
	elements []element
	size     int // bytes before the data
	line     int // the data's first
}

// maxLine is how long a header's line may be.
const maxLine = 1 << 16

var types = map[string]records.Scalar{
	"char": records.I8, "uchar": records.U8, "short": records.I16, "ushort": records.U16, "int": records.I32, "uint": records.U32,
	"float": records.F32, "double": records.F64,
	"int8": records.I8, "uint8": records.U8, "int16": records.I16, "uint16": records.U16, "int32": records.I32, "uint32": records.U32,
	"int64": records.I64, "uint64": records.U64, "float32": records.F32, "float64": records.F64,
}

const typeNames = "char, uchar, short, ushort, int, uint, float, double, or the like of int8 and float32"

// liner splits a header into lines.
type liner struct {
	data   []byte
	end    byte // of a line
	offset int  // of the current line
	next   int
	line   int
}

func (l *liner) fail(kind error, msg, got, want string) error {
	return &dataset.FormatError{Format: "ply", Offset: int64(l.offset), Line: l.line, Kind: kind, Msg: msg, Got: got, Want: want}
}

func (l *liner) words() ([]string, error) {
	end := bytes.IndexByte(l.data[l.next:], l.end)
	l.offset = l.next
	l.line++
	if end < 0 {
		l.offset = len(l.data)
		return nil, l.fail(dataset.ErrTruncated, "header", "", "a line end_header")
	}
	if end > maxLine {
		return nil, l.fail(dataset.ErrTooLarge, "header line", fmt.Sprintf("%d bytes", end), fmt.Sprintf("at most %d", maxLine))
	}
	l.next += end + 1
	return strings.Fields(string(l.data[l.offset : l.offset+end])), nil
}

func readHeader(data []byte) (*header, error) {
	if !bytes.HasPrefix(data, []byte("ply\n")) && !bytes.HasPrefix(data, []byte("ply\r")) {
		return nil, &dataset.FormatError{Format: "ply", Kind: dataset.ErrCorrupt, Msg: "file magic", Got: records.Quote(string(data[:min(len(data), 5)])), Want: "a line ply"}
	}
	l := &liner{data: data, end: records.LineEnd(data)}
	h := &header{}
	format := ""
	for {
		words, err := l.words()
		if err != nil {
			return nil, err
		}
		if l.line == 1 || len(words) == 0 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "comment", "obj_info":
		case "format":
			if format != "" {
				return nil, l.fail(dataset.ErrCorrupt, "header", "format twice", "it once")
			}
			format = strings.ToLower(strings.Join(words[1:], " "))
			switch format {
			case "ascii 1.0":
			case "binary_little_endian 1.0":
				h.order = binary.LittleEndian
			case "binary_big_endian 1.0":
				h.order = binary.BigEndian
			default:
				return nil, l.fail(dataset.ErrUnsupported, "format", records.Quote(format), "ascii, binary_little_endian or binary_big_endian, version 1.0")
			}
		case "element":
			if err := h.element(l, words[1:]); err != nil {
				return nil, err
			}
		case "property":
			if err := h.property(l, words[1:]); err != nil {
				return nil, err
			}
		case "end_header":
			if format == "" {
				return nil, l.fail(dataset.ErrCorrupt, "header", "no format", "a line format")
			}
			h.size, h.line = l.next, l.line+1
			return h, nil
		default:
			return nil, l.fail(dataset.ErrCorrupt, "header", records.Quote(words[0]), "format, comment, obj_info, element, property or end_header")
		}
	}
}

func (h *header) element(l *liner, words []string) error {
	if len(words) != 2 {
		return l.fail(dataset.ErrCorrupt, "element", records.Quote(strings.Join(words, " ")), "a name and a count")
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return l.fail(dataset.ErrCorrupt, "element "+records.Quote(words[0]), records.Quote(words[1]), "a count from 0 to 2^31-1")
	}
	for _, e := range h.elements {
		if e.name == words[0] || e.vertex && strings.EqualFold(words[0], e.name) {
			return l.fail(dataset.ErrCorrupt, "element", records.Quote(words[0])+" twice", "each once")
		}
	}
	h.elements = append(h.elements, element{name: words[0], vertex: strings.EqualFold(words[0], "vertex"), n: n, offset: int64(l.offset), line: l.line})
	return nil
}

func (h *header) property(l *liner, words []string) error {
	if len(h.elements) == 0 {
		return l.fail(dataset.ErrCorrupt, "property", "it before any element", "it after one")
	}
	e := &h.elements[len(h.elements)-1]
	p := property{}
	scalar := func(typ string) (records.Scalar, error) {
		s := types[strings.ToLower(typ)]
		if s == 0 {
			return 0, l.fail(dataset.ErrUnsupported, "property type", records.Quote(typ), typeNames)
		}
		return s, nil
	}
	var err error
	switch {
	case len(words) == 4 && strings.EqualFold(words[0], "list"):
		if p.count, err = scalar(words[1]); err != nil {
			return err
		}
		if !p.count.IsInteger() {
			return l.fail(dataset.ErrCorrupt, "length of list "+records.Quote(words[3]), words[1], "a type of whole numbers")
		}
		words = words[2:]
	case len(words) != 2:
		return l.fail(dataset.ErrCorrupt, "property", records.Quote(strings.Join(words, " ")), "a type and a name, or list, two types and a name")
	}
	if p.scalar, err = scalar(words[0]); err != nil {
		return err
	}
	p.typ, p.name = strings.ToLower(words[0]), words[1]
	if len(e.properties) == records.MaxFields {
		return l.fail(dataset.ErrTooLarge, "properties of element "+records.Quote(e.name), "more", fmt.Sprintf("at most %d", records.MaxFields))
	}
	e.properties = append(e.properties, p)
	return nil
}
