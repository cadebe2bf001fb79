package pcd

import (
	"bytes"
	"encoding/binary"
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
	c, err := p.set.Cloud()
	if err != nil {
		return nil, err
	}
	c.Width, c.Height, c.Viewpoint, c.Trailing = h.width, h.height, h.view, p.trailing
	if h.padding > 0 {
		c.LeftOut = append(c.LeftOut, dataset.LeftOut{Name: "_", Count: h.padding * p.n})
	}
	return c, nil
}

type parser struct {
	*header
	data     []byte
	n        int // points
	set      *records.Set
	trailing int64
}

// begin makes room for the points. The caller has made sure that the file can hold as many.
func (p *parser) begin() error {
	var err error
	if p.set, err = records.NewSet(p.fields, p.n); err != nil {
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
	if p.n > len(body)/p.record {
		return p.truncated(len(body))
	}
	if err := p.begin(); err != nil {
		return err
	}
	at := 0
	for i, f := range p.fields {
		p.set.Fill(i, body, at, p.record, binary.LittleEndian)
		at += f.Scalar.Size()
	}
	p.trailing = count(body[p.n*p.record:])
	return nil
}

// compressed reads two sizes, and LZF data that holds field after field, each for all points. Libraries differ in whether
// padding is among them.
func (p *parser) compressed() error {
	body := p.data[p.size:]
	if p.n == 0 && len(bytes.TrimSpace(body)) == 0 {
		return p.begin() // as PCL writes no points
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
	if plain > packed*maxRatio {
		return fail(4, dataset.ErrTooLarge, "uncompressed size", strconv.FormatUint(plain, 10), fmt.Sprintf("at most %d, all that %d bytes could become", packed*maxRatio, packed))
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
	if err := p.begin(); err != nil {
		return err
	}
	out := make([]byte, plain)
	if at, err := decompress(out, body[8:8+packed]); err != nil {
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
	body := p.data[p.size:]
	// A number takes a byte, and one that separates it from the next.
	if p.n > (len(body)+1)/(2*len(p.fields)) {
		return &dataset.FormatError{Format: "pcd", Offset: int64(len(p.data)), Kind: dataset.ErrTruncated, Msg: "ascii data",
			Got: fmt.Sprintf("%d bytes", len(body)), Want: fmt.Sprintf("%d points of %d numbers", p.n, len(p.fields)), Err: io.ErrUnexpectedEOF}
	}
	if err := p.begin(); err != nil {
		return err
	}
	lines := records.Lines{Format: "pcd", Data: p.data, At: p.size, Line: p.line}
	for row := range p.n {
		words, err := lines.Next("point", row)
		if err != nil {
			return err
		}
		for i := range p.fields {
			word, err := words.Next()
			if err != nil {
				return err
			}
			if err := p.set.Text(row, i, word); err != nil {
				return words.Fail(dataset.ErrCorrupt, records.Quote(p.fields[i].Name), records.Quote(word), err.Error())
			}
		}
		if err := words.End(); err != nil {
			return err
		}
	}
	p.trailing = count(p.data[lines.At:])
	return nil
}

// count returns the bytes of what follows the data, without white space at its ends, and without the zeros by which PCL filled
// the last page of a file.
func count(rest []byte) int64 { return int64(len(bytes.Trim(rest, "\x00 \t\r\n"))) }
