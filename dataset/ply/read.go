package ply

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/records"
)

// ReadFile reads a file. A *dataset.FormatError carries its path.
func ReadFile(path string) (*dataset.Cloud, error) { return records.ReadFile(path, Parse) }

// Read reads all of r.
func Read(r io.Reader) (*dataset.Cloud, error) { return records.Read(r, Parse) }

// Parse reads a file's bytes. It keeps no reference to them.
func Parse(data []byte) (*dataset.Cloud, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	p := &parser{header: h, data: data, at: h.size}
	p.lines = records.Lines{Format: "ply", Data: data, At: h.size, Line: h.line}
	for i := range h.elements {
		e := &h.elements[i]
		switch {
		case e.name == "vertex":
			err = p.vertices(e)
		case h.order == nil:
			err = p.textRows(e, nil)
		default:
			err = p.binaryRows(e, nil)
		}
		if err != nil {
			return nil, err
		}
		if e.name != "vertex" {
			p.left = append(p.left, dataset.LeftOut{Name: e.name, Count: e.n})
		}
	}
	if p.set == nil {
		return nil, &dataset.FormatError{Format: "ply", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "header", Got: "no element vertex", Want: "one, with the points"}
	}
	c, err := p.set.Cloud()
	if err != nil {
		return nil, err
	}
	if h.order == nil {
		p.at = p.lines.At
	}
	c.LeftOut, c.Trailing = p.left, int64(len(bytes.TrimSpace(data[p.at:])))
	return c, nil
}

type parser struct {
	*header
	data  []byte
	at    int           // of binary data
	lines records.Lines // of ascii data
	set   *records.Set
	left  []dataset.LeftOut
}

func (p *parser) truncated(e *element, row int) error {
	return &dataset.FormatError{Format: "ply", Offset: int64(len(p.data)), Kind: dataset.ErrTruncated, Msg: e.name + " " + strconv.Itoa(row),
		Want: fmt.Sprintf("%d in all", e.n), Err: io.ErrUnexpectedEOF}
}

// vertices reads the points.
func (p *parser) vertices(e *element) error {
	fields := make([]records.Field, len(e.properties))
	least := 0 // bytes of a row
	for i, q := range e.properties {
		fields[i] = records.Field{Name: q.name, Type: q.typ, Scalar: q.scalar, Skip: q.count != 0}
		switch {
		case q.count != 0:
			p.left = append(p.left, dataset.LeftOut{Name: "vertex." + q.name, Count: e.n})
			least += q.count.Size()
		default:
			least += q.scalar.Size()
		}
	}
	left := len(p.data) - p.at
	if p.order == nil {
		least, left = 2*len(fields), len(p.data)-p.lines.At+1 // a digit and what separates it from the next
	}
	if least > 0 && e.n > left/least {
		return p.truncated(e, left/least)
	}
	var err error
	if least == 0 {
		err = errors.New("no properties")
	} else {
		p.set, err = records.NewSet(fields, e.n)
	}
	if err != nil {
		return &dataset.FormatError{Format: "ply", Offset: e.offset, Line: e.line, Kind: dataset.ErrUnsupported, Msg: "element vertex", Got: err.Error(), Want: "properties x, y and z, and each once"}
	}
	size, fixed := e.size()
	switch {
	case p.order == nil:
		return p.textRows(e, p.set)
	case !fixed:
		return p.binaryRows(e, p.set)
	}
	at := p.at
	for i, q := range e.properties {
		p.set.Fill(i, p.data, at, size, p.order)
		at += q.scalar.Size()
	}
	p.at += e.n * size
	return nil
}

// binaryRows goes over the rows of an element, one by one if they hold lists, and puts their numbers into set unless that is
// nil.
func (p *parser) binaryRows(e *element, set *records.Set) error {
	if size, fixed := e.size(); fixed && set == nil {
		if size > 0 && e.n > (len(p.data)-p.at)/size {
			return p.truncated(e, (len(p.data)-p.at)/size)
		}
		p.at += e.n * size
		return nil
	}
	for row := range e.n {
		for i, q := range e.properties {
			n := 1
			if q.count != 0 {
				if q.count.Size() > len(p.data)-p.at {
					return p.truncated(e, row)
				}
				length := integer(q.count, p.data[p.at:], p.order)
				if length < 0 {
					return p.badLength(e, row, q, strconv.FormatInt(length, 10))
				}
				p.at += q.count.Size()
				if length > int64(len(p.data)-p.at) {
					return p.truncated(e, row)
				}
				n = int(length)
			}
			if n > (len(p.data)-p.at)/q.scalar.Size() {
				return p.truncated(e, row)
			}
			if set != nil {
				set.Put(row, i, p.data[p.at:], p.order)
			}
			p.at += n * q.scalar.Size()
		}
	}
	return nil
}

func (p *parser) badLength(e *element, row int, q property, got string) error {
	return &dataset.FormatError{Format: "ply", Offset: int64(p.at), Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("%s %d, length of list %s", e.name, row, records.Quote(q.name)), Got: got, Want: "0 or more"}
}

// textRows does the same for ascii data, where a row is a line.
func (p *parser) textRows(e *element, set *records.Set) error {
	if len(e.properties) == 0 {
		return nil
	}
	for row := range e.n {
		words, err := p.lines.Next(e.name, row)
		if err != nil {
			return err
		}
		for i, q := range e.properties {
			word, err := words.Next()
			if err != nil {
				return err
			}
			if q.count != 0 {
				n, err := strconv.ParseUint(word, 10, 31)
				if err != nil {
					return words.Fail(dataset.ErrCorrupt, "length of list "+records.Quote(q.name), records.Quote(word), "a whole number that is not negative")
				}
				for range n {
					if _, err := words.Next(); err != nil {
						return err
					}
				}
				continue
			}
			if set != nil {
				if err := set.Text(row, i, word); err != nil {
					return words.Fail(dataset.ErrCorrupt, records.Quote(q.name), records.Quote(word), err.Error())
				}
			}
		}
		if err := words.End(); err != nil {
			return err
		}
	}
	return nil
}

// integer returns the whole number at the start of b, -1 for one that int64 cannot hold.
func integer(s records.Scalar, b []byte, o binary.ByteOrder) int64 {
	switch s {
	case records.I8:
		return int64(int8(b[0]))
	case records.U8:
		return int64(b[0])
	case records.I16:
		return int64(int16(o.Uint16(b)))
	case records.U16:
		return int64(o.Uint16(b))
	case records.I32:
		return int64(int32(o.Uint32(b)))
	case records.U32:
		return int64(o.Uint32(b))
	}
	return max(int64(o.Uint64(b)), -1)
}
