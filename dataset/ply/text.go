package ply

import (
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/records"
)

// layout is how an element's rows lie in lines. A row is one line, or several, as some cameras' programs write it; then the first row says before
// which properties a line begins, and the others do alike, so that a number that is missing does not go unseen. Lists may be broken anywhere.
type layout struct {
	lines  *records.Lines
	breaks []bool // [properties]
	words  records.Words
}

// textRows is rows of ascii data.
func (p *parser) textRows(e *element, n int, set *records.Set) (whole int, err error) {
	if len(e.properties) == 0 {
		return n, nil
	}
	lines := &records.Lines{Format: "ply", Rows: e.n, Data: p.data, At: p.at, Line: p.line}
	l := &layout{lines: lines, breaks: make([]bool, len(e.properties))}
	before, beforeLine := p.at, p.line
	for row := range n {
		at, line := lines.At, lines.Line
		if err := l.row(e, row, set); err != nil {
			p.at, p.line = at, line
			if whole = lines.Whole(row, err); whole < row {
				p.at, p.line = before, beforeLine
			}
			return whole, err
		}
		before, beforeLine = at, line
	}
	if rest := p.follows(e); n > 0 && n == e.n && rest != nil && lines.At == len(p.data) && !lines.Ended() { // digits of the last row may be missing
		p.at, p.line = before, beforeLine
		return n - 1, &dataset.FormatError{Format: "ply", Offset: int64(len(p.data)), Line: lines.Line, Kind: dataset.ErrTruncated, Msg: e.name + " " + strconv.Itoa(n-1),
			Got: "the end of the file", Want: "a line's end, and the rows of " + rest.name, Err: io.ErrUnexpectedEOF}
	}
	p.at, p.line = lines.At, lines.Line
	return n, nil
}

// follows returns the next element after e that has rows to read, or nil.
func (p *parser) follows(e *element) *element {
	after := false
	for i := range p.elements {
		f := &p.elements[i]
		if after && f.n > 0 && len(f.properties) > 0 {
			return f
		}
		after = after || f == e
	}
	return nil
}

func (l *layout) row(e *element, row int, set *records.Set) (err error) {
	if l.words, err = l.lines.Next(e.name, row); err != nil {
		return err
	}
	for i, q := range e.properties {
		if i > 0 && row == 0 && !l.words.More() {
			l.breaks[i] = true
		}
		if l.breaks[i] {
			if err := l.words.End(); err != nil {
				return err
			}
			l.next(e.name, row)
		}
		word, err := l.words.Next()
		if err != nil {
			return err
		}
		if q.count != 0 {
			n, err := strconv.ParseUint(word, 10, 31)
			if err != nil {
				return l.words.Fail(dataset.ErrCorrupt, "length of list "+records.Quote(q.name), records.Quote(word), "a whole number that is not negative")
			}
			for range n {
				if !l.words.More() {
					l.next(e.name, row)
				}
				if _, err := l.words.Next(); err != nil {
					return err
				}
			}
			continue
		}
		if set != nil {
			if err := set.Text(row, i, word); err != nil {
				return l.words.Fail(dataset.ErrCorrupt, records.Quote(q.name), records.Quote(word), err.Error())
			}
		}
	}
	return l.words.End()
}

// next goes on to the next line. Where there is none the words stay at their end, and reading another is the error.
func (l *layout) next(what string, row int) {
	if words, err := l.lines.Next(what, row); err == nil {
		l.words = words
	}
}
