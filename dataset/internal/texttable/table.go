package texttable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// Layout describes the structure of a table.
type Layout struct {
	Format   string // for errors
	Sep      byte   // between fields; a space stands for any number of spaces and tabs
	End      byte   // of a line: '\n' or '\r'
	Quotes   bool   // fields may be in double quotes
	Comments string // lines that begin with one of these bytes are no rows
	Header   int    // number of lines at the beginning that are not rows
	Fields   []Field
	Clock    Clock
}

// Field is one of a line.
type Field struct {
	Name string
	Kind Kind
}

// Kind is the purpose of a field.
type Kind uint8

const (
	Skip   Kind = iota // nothing
	Number             // a column
	Unsure             // a column, unless the first that is there of it is no number
	Time               // the time, or the seconds of it
	Low                // the nanoseconds of a time with its seconds in another field
	gone               // a column that was Unsure, and is text
)

// Clock describes how fields with the kind Time are read.
type Clock struct {
	Exponent int  // they count 10^Exponent seconds
	ISO      bool // they are dates as ISO 8601 has them; those without a zone are UTC
}

// Table is the content of a text table.
type Table struct {
	Rows    int
	Times   []int64 // [Rows], ns; nil without a clock
	Rounded int     // timestamps with digits below a nanosecond
	Values  []float64
	Columns []Column // [D], in the order of the fields
	Inexact int      // whole numbers that float64 does not hold
	Unended bool     // the last row has no line's end
	Notes   dataset.Notes
}

// Column is one of a table.
type Column struct {
	Name    string
	Integer bool // everything in it is a whole number or a truth value
	Empty   int  // fields that are empty or marked as missing: NaN
	Text    bool // it holds something else than numbers, and has no values
}

// ReadFile reads a file. Lines that are broken are counted; where more are broken than whole, or with strict, the first is the error.
func ReadFile(ctx context.Context, path string, l Layout, strict bool) (*Table, error) {
	f, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, rows := storage.Reader(storage.Bound(ctx, f)), 0
	if _, local := storage.Local(path); local { // another is not read twice
		if rows, err = count(ctx, r, &l); err != nil {
			return nil, err
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	}
	t, err := Read(ctx, r, l, rows, strict)
	err = dataset.InFile(err, path)
	if t != nil {
		t.Notes.SetPath(path)
	}
	return t, err
}

// count returns how many rows a text may have at most: as many as its lines, and no more than its bytes have room for.
func count(ctx context.Context, r io.Reader, l *Layout) (int, error) {
	buf := make([]byte, readSize)
	lines, size := 1, 0
	for {
		n, err := r.Read(buf)
		lines, size = lines+bytes.Count(buf[:n], []byte{l.End}), size+n
		if err == io.EOF {
			return min(lines, size/len(l.Fields)+1), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
	}
}

// Read reads a text. It allocates memory for rows rows at the start.
func Read(ctx context.Context, r io.Reader, l Layout, rows int, strict bool) (*Table, error) {
	p := &parser{Layout: &l, lines: NewLines(r, l.End), flags: make([]flag, 0, len(l.Fields)), kinds: make([]Kind, len(l.Fields))}
	for i, f := range l.Fields {
		p.kinds[i] = f.Kind
		switch f.Kind {
		case Number, Unsure:
			p.table.Columns = append(p.table.Columns, Column{Name: f.Name, Integer: true})
			p.of = append(p.of, i)
		case Time:
			p.clock = true
		}
	}
	p.width = len(p.table.Columns)
	p.table.Values = memory.Must[float64]("rows", rows*p.width)[:0]
	if p.clock {
		p.table.Times = memory.Must[int64]("rows", rows)[:0]
	}
	if err := p.all(ctx, strict); err != nil {
		return nil, err
	}
	p.finish()
	return &p.table, nil
}

type parser struct {
	*Layout
	lines *Lines
	kinds []Kind // [fields]: an Unsure one becomes Number or gone
	of    []int  // [columns]: their fields
	width int
	clock bool
	table Table
	flags []flag // of the row's columns
	text  []int  // columns that the row makes text

	time    int64
	rounded bool
}

type flag uint8

const (
	fraction flag = 1 << iota
	empty
	inexact
)

func (p *parser) all(ctx context.Context, strict bool) error {
	broken := 0
	for {
		line, err := p.lines.Next()
		if err == io.EOF {
			break
		}
		if err == nil && line.Number%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if line.Number == 1 && bytes.HasPrefix(line.Text, []byte(mark)) {
			line.Text, line.At = line.Text[len(mark):], int64(len(mark))
		}
		if line.Number <= p.Header || blank(line.Text) || isComment(line.Text, p.Comments) {
			continue
		}
		line, bad, err := p.whole(line)
		if err != nil {
			return err
		}
		if bad == nil {
			p.keep()
			p.table.Unended = !line.Ended
			continue
		}
		if !line.Ended {
			bad.Kind, bad.Err = dataset.ErrTruncated, io.ErrUnexpectedEOF
		}
		if strict {
			return bad
		}
		broken++
		code := dataset.CodeLineBroken
		switch {
		case line.Long:
			code = dataset.CodeLineLong
		case !line.Ended:
			code = dataset.CodeLineCut
		}
		p.table.Notes.AddDamage(code, int64(line.Bytes), bad)
	}
	if broken > p.table.Rows {
		return p.table.Notes[0].Cause
	}
	return nil
}

// mark is the byte order mark that some programs write before UTF-8 text.
const mark = "\xef\xbb\xbf"

// whole reads the row of a line. Where a field in quotes goes on, so does the line, unless that makes no row.
func (p *parser) whole(line Line) (Line, *dataset.FormatError, error) {
	if line.Long {
		return line, p.fail(line, 0, dataset.ErrTooLarge, "line", fmt.Sprintf("%d bytes", line.Bytes), fmt.Sprintf("at most %d", maxLine)), nil
	}
	bad, open := p.row(line)
	if !open {
		return line, bad, nil
	}
	long := line
	for range maxQuoteLines {
		var ok bool
		var err error
		if long, ok, err = p.lines.Longer(long, line.Bytes); err != nil {
			return line, nil, err
		}
		if !ok {
			break
		}
		worse, open := p.row(long)
		if worse == nil {
			return long, nil, nil
		}
		if !open {
			break
		}
	}
	return p.lines.Back(long, line), bad, nil
}

// row reads a row's fields after the kept ones. open is true if a field in quotes does not end.
func (p *parser) row(line Line) (bad *dataset.FormatError, open bool) {
	p.table.Values = p.table.Values[:p.table.Rows*p.width]
	p.flags, p.text, p.time, p.rounded = p.flags[:0], p.text[:0], 0, false
	text, at := line.Text, 0
	for i, kind := range p.kinds {
		for at < len(text) && isSpace(text[at]) && (text[at] != p.Sep || p.Sep == ' ') {
			at++
		}
		if i > 0 && (at > len(text) || p.Sep == ' ' && at == len(text)) {
			return p.fail(line, len(text), dataset.ErrCorrupt, "line", fmt.Sprintf("%d fields", i), strconv.Itoa(len(p.kinds))), false
		}
		if kind == Number {
			v, n, whole := decimal.Prefix(text[at:])
			if n > 0 && (at+n == len(text) || text[at+n] == p.Sep) {
				p.put(v, whole, text[at:at+n])
				at += n + 1
				continue
			}
		}
		word, n, ok := Word(text[at:], p.Sep, p.Quotes)
		if !ok {
			return p.fail(line, at, dataset.ErrCorrupt, "field "+p.name(i), quote(text[at:]), "quotes that end, and a separator behind them"), n < 0
		}
		if want := p.field(kind, word); want != "" {
			return p.fail(line, at, dataset.ErrCorrupt, "field "+p.name(i), quote(word), want), false
		}
		at += n + 1
	}
	if at < len(text) && !blank(text[at:]) { // a separator at the line's end ends it
		got := fmt.Sprintf("more than %d fields", len(p.kinds))
		return p.fail(line, at, dataset.ErrCorrupt, "line", got, strconv.Itoa(len(p.kinds))), false
	}
	if p.clock && (p.time > maxTime || p.time < -maxTime) {
		return p.fail(line, 0, dataset.ErrCorrupt, "time", strconv.FormatInt(p.time, 10)+" ns", "at most 2^62 ns from 0"), false
	}
	return nil, false
}

const maxTime = 1 << 62

func (p *parser) name(i int) string {
	if p.Fields[i].Name == "" {
		return strconv.Itoa(i)
	}
	return quote([]byte(p.Fields[i].Name))
}

func (p *parser) fail(line Line, at int, kind error, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: p.Format, Offset: line.At + int64(at), Line: line.Number, Kind: kind, Msg: msg, Got: got, Want: want}
}

// put adds a number to the row.
func (p *parser) put(v float64, whole bool, text []byte) {
	var f flag
	switch {
	case !whole:
		f = fraction
	case (v >= 1<<53 || v <= -1<<53) && !isExact(v, text):
		f = inexact
	}
	p.table.Values, p.flags = append(p.table.Values, v), append(p.flags, f)
}

// isExact reports whether a number is the whole one of a text.
func isExact(v float64, text []byte) bool {
	digits := bytes.TrimLeft(bytes.TrimLeft(text, "+-"), "0")
	return strconv.FormatFloat(math.Abs(v), 'f', 0, 64) == string(digits)
}

// keep makes the row that was read last one of the table.
func (p *parser) keep() {
	t := &p.table
	for _, k := range p.text {
		t.Columns[k].Text, p.kinds[p.of[k]] = true, gone
	}
	for k, f := range p.flags {
		c := &t.Columns[k]
		switch {
		case f&empty != 0:
			c.Empty++
		case f&fraction != 0:
			c.Integer = false
		case f&inexact != 0:
			t.Inexact++
		}
		if f&empty == 0 && p.kinds[p.of[k]] == Unsure {
			p.kinds[p.of[k]] = Number
		}
	}
	t.Rows++
	if p.clock {
		t.Times = append(t.Times, p.time)
	}
	if p.rounded {
		t.Rounded++
	}
}

// finish takes the columns of text, and those in which nothing is, out of the values.
func (p *parser) finish() {
	t := &p.table
	t.Values = t.Values[:t.Rows*p.width]
	var stay []int
	for k := range t.Columns {
		c := &t.Columns[k]
		if c.Integer = c.Integer && c.Empty < t.Rows && !c.Text; !c.Text && (c.Empty < t.Rows || t.Rows == 0) {
			stay = append(stay, k)
		}
	}
	if len(stay) < p.width {
		to := 0
		for row := range t.Rows {
			for _, k := range stay {
				t.Values[to] = t.Values[row*p.width+k]
				to++
			}
		}
		t.Values = t.Values[:to]
	}
	if cap(t.Values) > len(t.Values)+len(t.Values)/4 {
		t.Values = slices.Clone(t.Values)
	}
}
