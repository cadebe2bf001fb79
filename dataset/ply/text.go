package ply

import (
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// layout describes how an element's rows are divided into lines. A row is one line, or several, as some cameras' programs write it.
// The first row defines before which properties a line begins. All other rows must agree, so a missing number is noticed. Lists may
// be broken anywhere.
type layout struct {
	lines  *records.Lines
	breaks []bool // [properties]
	words  records.Words
}

// textRows reads rows of ascii data. If each point is one line, a broken line loses only its point.
func (p *parser) textRows(e *element, n int, set *records.Set) (whole int, err error) {
	if len(e.properties) == 0 {
		return n, nil
	}
	lines := &records.Lines{Format: "ply", Rows: n, Data: p.data, At: p.at, Line: p.line}
	if next := p.follows(e); next != nil {
		lines.Follows = next.name
	}
	l := &layout{lines: lines, breaks: make([]bool, len(e.properties))}
	taken := lines.Take(e.name, set, e.vertex && e.isLine(*lines), func(row, to int) error { return l.row(e, row, to, set) })
	switch {
	case taken.Whole == 0 && taken.First != nil:
		return 0, taken.First
	case taken.Broken > 0:
		p.damage = dataset.Notes{{Code: dataset.CodePointLost, Count: taken.Broken, Detail: dataset.Detail{Bytes: int64(taken.Bytes), Cause: taken.First}}}
	}
	p.at, p.line = lines.At, lines.Line
	if taken.Err != nil {
		p.at = taken.At
	}
	return taken.Whole, taken.Err
}

// isLine reports whether a row is one line, as the first is.
func (e *element) isLine(lines records.Lines) bool {
	words, err := lines.Next(e.name, 0)
	for _, q := range e.properties {
		if err == nil {
			_, err = words.Next()
		}
		if q.count != 0 {
			return false
		}
	}
	return err == nil && !words.More()
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

// row reads a row, to a place in the set.
func (l *layout) row(e *element, row, to int, set *records.Set) (err error) {
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
			if err := set.Text(to, i, word); err != nil {
				return l.words.Fail(dataset.ErrCorrupt, records.Quote(q.name), records.Quote(word), err.Error())
			}
		}
	}
	return l.words.End()
}

// next goes on to the next line. If there is none, reading another word is the error.
func (l *layout) next(what string, row int) {
	if words, err := l.lines.Next(what, row); err == nil {
		l.words = words
	}
}
