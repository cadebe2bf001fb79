package pcd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/lzf"
	"github.com/robocache/robocache/internal/memory"
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

// Parse reads the bytes of a file, and keeps no reference to them. If the file is cut, it keeps the points before the cut; if lines
// of ascii data are broken, it keeps the points in the others. The cloud then has one row, and its notes count the lost points. If
// no point is left, if most lines are broken, or with opt.Strict, it returns the first *dataset.FormatError.
func Parse(data []byte, opt dataset.Options) (*dataset.Cloud, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	p := &parser{header: h, data: data, n: h.width * h.height}
	switch h.encoding {
	case "ascii":
		err = p.ascii()
	case "binary":
		err = p.binary()
	default:
		err = p.compressed()
	}
	if err != nil {
		return nil, err
	}
	if p.damage != nil && opt.Strict {
		return nil, p.damage[0].Cause
	}
	c, err := p.set.Cloud()
	if err != nil {
		return nil, err
	}
	if p.damage == nil {
		c.Width, c.Height = h.width, h.height
	}
	c.Viewpoint, c.Trailing, c.Notes = h.view, p.trailing, p.damage
	if h.padding > 0 {
		c.Notes.Add(dataset.Note{Code: dataset.CodeNotPoints, Subject: "_", Count: h.padding * p.n})
	}
	return c, nil
}

type parser struct {
	*header
	data     []byte
	n        int // points
	set      *records.Set
	damage   dataset.Notes
	trailing int64
}

// lose makes the file's whole points all there are: the others, which take bytes, are damage. Without any whole point it returns the error.
func (p *parser) lose(whole int, bytes int, err error) error {
	bad, broken := dataset.AsBroken(err)
	if !broken || whole == 0 {
		return err
	}
	p.damage = dataset.Notes{{Code: dataset.CodePointLost, Count: p.n - whole, Detail: dataset.Detail{Bytes: int64(bytes), Cause: bad}}}
	p.n = whole
	return nil
}

// begin makes room for n points. The caller has made sure that the file can hold as many.
func (p *parser) begin(n int) error {
	var err error
	if p.set, err = records.NewSet(p.fields, n); records.NoRoom(err) {
		return err
	} else if err != nil {
		return &dataset.FormatError{Format: "pcd", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "FIELDS", Got: err.Error(), Want: "x, y and z, and each field once"}
	}
	return nil
}

func (p *parser) truncated(got int) error {
	return &dataset.FormatError{Format: "pcd", Offset: int64(len(p.data)), Kind: dataset.ErrTruncated, Msg: p.encoding + " data",
		Got: strconv.Itoa(got) + " bytes", Want: fmt.Sprintf("%d points of %d bytes", p.n, p.record), Err: io.ErrUnexpectedEOF}
}

// binary reads records one after the other.
func (p *parser) binary() error {
	body := p.data[p.size:]
	if whole := len(body) / p.record; p.n > whole {
		if err := p.lose(whole, len(body)%p.record, p.truncated(len(body))); err != nil {
			return err
		}
	}
	if err := p.begin(p.n); err != nil {
		return err
	}
	at := 0
	for i, f := range p.fields {
		p.set.Fill(i, body, at, p.record, binary.LittleEndian)
		at += f.Scalar.Size()
	}
	if p.damage == nil {
		p.trailing = count(body[p.n*p.record:])
	}
	return nil
}

// compressed reads two sizes, and LZF data that holds field after field, each for all points. Libraries differ in whether
// padding is among them.
func (p *parser) compressed() error {
	body := p.data[p.size:]
	if p.n == 0 && len(bytes.TrimSpace(body)) == 0 {
		return p.begin(p.n) // as PCL writes no points
	}
	fail := func(at int, kind error, msg, got, want string) error {
		return &dataset.FormatError{Format: "pcd", Offset: int64(p.size + at), Kind: kind, Msg: msg, Got: got, Want: want}
	}
	if len(body) < 8 {
		return p.truncated(len(body))
	}
	packed, plain := uint64(binary.LittleEndian.Uint32(body)), uint64(binary.LittleEndian.Uint32(body[4:]))
	if packed > uint64(len(body)-8) {
		return p.truncated(len(body))
	}
	if plain > packed*lzf.MaxRatio {
		return fail(4, dataset.ErrTooLarge, "uncompressed size", strconv.FormatUint(plain, 10), fmt.Sprintf("at most %d, all that %d bytes could become", packed*lzf.MaxRatio, packed))
	}
	padding := 0
	for _, f := range p.fields {
		if f.Skip {
			padding += f.Scalar.Size()
		}
	}
	fits := func(record int) bool {
		return record > 0 && uint64(p.n) == plain/uint64(record) && plain%uint64(record) == 0
	}
	withPadding := fits(p.record)
	if !withPadding && !fits(p.record-padding) {
		return fail(4, dataset.ErrCorrupt, "uncompressed size", strconv.FormatUint(plain, 10), fmt.Sprintf("%d points of %d bytes", p.n, p.record-padding))
	}
	if err := p.begin(p.n); err != nil {
		return err
	}
	out, err := memory.Make[byte]("points", int(plain))
	if err != nil {
		return err
	}
	if at, err := lzf.Decompress(out, body[8:8+packed]); err != nil {
		return fail(8+at, dataset.ErrCorrupt, "compressed data", err.Error(), "")
	}
	at, next := 0, 0
	for _, count := range p.counts {
		size := p.fields[next].Scalar.Size()
		if p.fields[next].Skip && !withPadding {
			next += count
			continue
		}
		for k := range count {
			p.set.Fill(next+k, out, at+k*size, count*size, binary.LittleEndian)
		}
		at, next = at+p.n*count*size, next+count
	}
	p.trailing = count(body[8+packed:])
	return nil
}

// ascii reads one point a line.
func (p *parser) ascii() error {
	// A number takes a byte, and one that separates it from the next. The first point that cannot be there has room, for reading it is the error.
	if err := p.begin(min(p.n, (len(p.data)-p.size+1)/(2*len(p.fields))+1)); err != nil {
		return err
	}
	lines := &records.Lines{Format: "pcd", Rows: p.n, Data: p.data, At: p.size, Line: p.line}
	taken := lines.Take("point", p.set, true, func(row, to int) error { return p.row(lines, row, to) })
	bytes := taken.Bytes
	if taken.Err != nil {
		bytes += len(p.data) - taken.At
	}
	p.trailing = count(p.data[lines.At:])
	if taken.First == nil {
		return nil
	}
	return p.lose(taken.Whole, bytes, taken.First)
}

// row reads a point, to a place in the set.
func (p *parser) row(lines *records.Lines, row, to int) error {
	words, err := lines.Next("point", row)
	if err != nil {
		return err
	}
	for i := range p.fields {
		word, err := words.Next()
		if err != nil {
			return err
		}
		if err := p.set.Text(to, i, word); err != nil {
			return words.Fail(dataset.ErrCorrupt, records.Quote(p.fields[i].Name), records.Quote(word), err.Error())
		}
	}
	return words.End()
}

// count returns the number of bytes after the data, without white space at the ends, and without the zeros that PCL writes to fill
// the last page.
func count(rest []byte) int64 { return int64(len(bytes.Trim(rest, "\x00 \t\r\n"))) }
