package ply

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// ReadFile reads a file. A *dataset.FormatError and the damage notes contain its path.
func ReadFile(path string, opt dataset.Options) (*dataset.Cloud, error) {
	return records.ReadFile(path, func(data []byte) (*dataset.Cloud, error) { return Parse(data, opt) })
}

// Read reads all of r.
func Read(r io.Reader, opt dataset.Options) (*dataset.Cloud, error) {
	return records.Read(r, func(data []byte) (*dataset.Cloud, error) { return Parse(data, opt) })
}

// Parse reads the bytes of a file, and keeps no reference to them. If the file is cut or broken, it keeps the points before that
// place, and counts the lost points and rows as damage. If each point is one line of text, a broken line loses only its point. If
// no point is left, if most lines are broken, or with opt.Strict, it returns the first *dataset.FormatError.
func Parse(data []byte, opt dataset.Options) (*dataset.Cloud, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	p := &parser{header: h, data: data, at: h.size, line: h.line}
	for i := range h.elements {
		e := &h.elements[i]
		var whole int
		if e.vertex {
			whole, err = p.vertices(e)
		} else {
			whole, err = p.rows(e, e.n, nil)
		}
		if !e.vertex && (whole > 0 || err == nil) {
			p.notes.Add(dataset.Note{Code: dataset.CodeNotPoints, Subject: e.name, Count: whole})
		}
		if opt.Strict && p.damage != nil {
			return nil, p.damage[0].Cause
		}
		if err == nil {
			continue
		}
		bad, broken := dataset.AsBroken(err)
		if !broken || opt.Strict || p.set == nil {
			return nil, err
		}
		p.lose(h.elements[i:], whole, bad)
		break
	}
	if p.set == nil {
		return nil, &dataset.FormatError{Format: "ply", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "header", Got: "no element vertex", Want: "one, with the points"}
	}
	c, err := p.set.Cloud()
	if err != nil {
		return nil, err
	}
	c.Notes = slices.Concat(p.notes, p.damage)
	if p.damage == nil {
		c.Trailing = int64(len(bytes.TrimSpace(data[p.at:])))
	}
	return c, nil
}

type parser struct {
	*header
	data   []byte
	at     int // the next byte; after an error the first lost byte
	line   int // its line, of ascii data
	set    *records.Set
	notes  dataset.Notes // elements and properties that are no points
	damage dataset.Notes
}

// lose counts the lost rows: the first element has whole rows, and the later elements are lost completely.
func (p *parser) lose(elements []element, whole int, bad error) {
	size := int64(len(p.data) - p.at)
	for _, e := range elements {
		d := dataset.Note{Code: dataset.CodeRowLost, Count: e.n - whole, Detail: dataset.Detail{Bytes: size, Got: e.name, Cause: bad}}
		if e.vertex {
			d.Code, d.Got = dataset.CodePointLost, ""
			for _, broken := range p.damage { // lines of them
				d.Bytes, d.Cause = d.Bytes+broken.Bytes, broken.Cause
			}
			p.damage = nil
		}
		if d.Count > 0 {
			p.damage = append(p.damage, d)
		}
		whole, size, bad = 0, 0, nil
	}
}

func (p *parser) truncated(e *element, row int) error {
	return &dataset.FormatError{Format: "ply", Offset: int64(len(p.data)), Kind: dataset.ErrTruncated, Msg: e.name + " " + strconv.Itoa(row),
		Want: fmt.Sprintf("%d in all", e.n), Err: io.ErrUnexpectedEOF}
}

// vertices reads the points. With an error it returns how many are whole, which it has read; there is no set without any.
func (p *parser) vertices(e *element) (whole int, err error) {
	fields := make([]records.Field, len(e.properties))
	least := 0 // bytes of a row
	for i, q := range e.properties {
		fields[i] = records.Field{Name: q.name, Type: q.typ, Scalar: q.scalar, Skip: q.count != 0}
		switch {
		case p.order == nil:
			least += 2 // a digit and a separator
		case q.count != 0:
			least += q.count.Size()
		default:
			least += q.scalar.Size()
		}
	}
	bad := errors.New("no properties")
	var set *records.Set
	if least > 0 {
		// The first row that cannot be there has room, for reading it is the error.
		set, bad = records.NewSet(fields, min(e.n, (len(p.data)-p.at+1)/least+1))
	}
	if records.NoRoom(bad) {
		return 0, bad
	}
	if bad != nil {
		return 0, &dataset.FormatError{Format: "ply", Offset: e.offset, Line: e.line, Kind: dataset.ErrUnsupported, Msg: "element vertex",
			Got: bad.Error(), Want: "properties x, y and z, and each once"}
	}
	whole, err = p.rows(e, e.n, set)
	if err != nil && whole == 0 {
		return 0, err
	}
	set.Keep(whole)
	p.set = set
	for _, q := range e.properties {
		if q.count != 0 {
			p.notes.Add(dataset.Note{Code: dataset.CodeNotPoints, Subject: "vertex." + q.name, Count: whole})
		}
	}
	return whole, err
}

// rows goes over n rows of an element, and puts their numbers into set unless that is nil. With an error it returns how many rows are whole.
func (p *parser) rows(e *element, n int, set *records.Set) (whole int, err error) {
	if p.order == nil {
		return p.textRows(e, n, set)
	}
	if size, fixed := e.size(); fixed {
		return p.records(e, n, size, set)
	}
	for row := range n {
		at := p.at
		if err := set.Row(func() error { return p.binaryRow(e, row, set) }); err != nil {
			p.at = at
			return row, err
		}
	}
	return n, nil
}

// records reads rows of one size.
func (p *parser) records(e *element, n, size int, set *records.Set) (whole int, err error) {
	if size > 0 && n > (len(p.data)-p.at)/size {
		n = (len(p.data) - p.at) / size
		err = p.truncated(e, n)
	}
	set.Keep(n)
	at := p.at
	for i, q := range e.properties {
		if set != nil {
			set.Fill(i, p.data, at, size, p.order)
		}
		at += q.scalar.Size()
	}
	p.at += n * size
	return n, err
}

// binaryRow reads a row that holds lists.
func (p *parser) binaryRow(e *element, row int, set *records.Set) error {
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
	return nil
}

func (p *parser) badLength(e *element, row int, q property, got string) error {
	return &dataset.FormatError{Format: "ply", Offset: int64(p.at), Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("%s %d, length of list %s", e.name, row, records.Quote(q.name)), Got: got, Want: "0 or more"}
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
