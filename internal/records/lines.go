package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
)

// Lines steps through the lines of a text file that are not blank. They end with a line feed, a carriage return, or both.
type Lines struct {
	Format  string // for errors
	Rows    int    // that there should be, for errors
	Follows string // what has rows after these, if anything has
	Data    []byte
	At      int // the next byte
	Line    int // its line, from 1
}

// Words steps through the words of a line.
type Words struct {
	line   []byte
	at     int
	format string
	what   string
	row    int
	base   int64 // of the line in the file
	number int
	last   int64 // where the last word began
}

// Next returns the next line. It holds a row of something that errors name.
func (l *Lines) Next(what string, row int) (Words, error) {
	for l.At < len(l.Data) {
		start, blank := l.At, true
		for ; l.At < len(l.Data) && !isEnd(l.Data[l.At]); l.At++ {
			blank = blank && isSpace(l.Data[l.At])
		}
		w := Words{line: l.Data[start:l.At], format: l.Format, what: what, row: row, base: int64(start), number: l.Line, last: int64(start)}
		if l.At < len(l.Data) {
			if l.Data[l.At] == '\r' && l.At+1 < len(l.Data) && l.Data[l.At+1] == '\n' {
				l.At++
			}
			l.At++
			l.Line++
		}
		if !blank {
			return w, nil
		}
	}
	return Words{}, &dataset.FormatError{Format: l.Format, Offset: int64(l.At), Line: l.Line, Kind: dataset.ErrTruncated, Msg: fmt.Sprintf("%s %d", what, row),
		Want: fmt.Sprintf("%d in all", l.Rows), Err: io.ErrUnexpectedEOF}
}

// Next returns the next word, and an error at the line's end.
func (w *Words) Next() (string, error) {
	w.skip()
	start := w.at
	for w.at < len(w.line) && !isSpace(w.line[w.at]) {
		w.at++
	}
	w.last = w.base + int64(start)
	if start == w.at {
		return "", w.Fail(dataset.ErrCorrupt, "", "the line's end", "another number")
	}
	return string(w.line[start:w.at]), nil
}

// End returns an error if there is one more word.
func (w *Words) End() error {
	if !w.More() {
		return nil
	}
	w.last = w.base + int64(w.at)
	return w.Fail(dataset.ErrCorrupt, "", fmt.Sprintf("%.60q", w.line[w.at:]), "the line's end")
}

// Fail returns an error at the last word, in a field of the row or, without a name, in the row.
func (w *Words) Fail(kind error, field, got, want string) error {
	msg := fmt.Sprintf("%s %d", w.what, w.row)
	if field != "" {
		msg += ", " + field
	}
	return &dataset.FormatError{Format: w.format, Offset: w.last, Line: w.number, Kind: kind, Msg: msg, Got: got, Want: want}
}

func (w *Words) skip() {
	for w.at < len(w.line) && isSpace(w.line[w.at]) {
		w.at++
	}
}

// More reports whether the line has one more word.
func (w *Words) More() bool {
	w.skip()
	return w.at < len(w.line)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }
func isEnd(c byte) bool   { return c == '\n' || c == '\r' }

// Taken is what became of rows.
type Taken struct {
	Whole  int   // rows
	Broken int   // rows that cost themselves alone
	Bytes  int   // of these
	Err    error // what cost the rows that are neither, or nil
	At     int   // where these begin
	First  error // what is wrong with the first row that is lost, or nil
}

// Take reads all rows of something, each with read, which is told which it is and what place it has in the set, which keeps those that are whole.
// Where a row is a line, one that is broken costs itself alone, and if these are more than the others it all is; else it costs what follows too.
// Where the data ends without a line's end although there should be more, digits of the last row may be missing.
func (l *Lines) Take(what string, set *Set, rowIsLine bool, read func(row, to int) error) (r Taken) {
	last, whole := l.At, false // the row before: where it begins, and whether it is whole
	for row := 0; row < l.Rows && r.Err == nil; row++ {
		r.At = l.At
		err := set.Row(func() error { return read(row, r.Whole) })
		cut := errors.Is(err, dataset.ErrTruncated)
		switch {
		case err == nil:
			r.Whole++
		case rowIsLine && !cut:
			r.Broken++
			r.Bytes += l.At - r.At
		default:
			r.Err = err
		}
		if r.First == nil {
			r.First = err
		}
		if !cut {
			last, whole = r.At, err == nil
		}
	}
	unsure := whole && l.At == len(l.Data) && len(l.Data) > 0 && !isEnd(l.Data[len(l.Data)-1])
	if r.Err == nil && l.Follows != "" && unsure {
		r.Err = &dataset.FormatError{Format: l.Format, Offset: int64(len(l.Data)), Line: l.Line, Kind: dataset.ErrTruncated, Msg: fmt.Sprintf("%s %d", what, l.Rows-1),
			Got: "the end of the file", Want: "a line's end, and the rows of " + l.Follows, Err: io.ErrUnexpectedEOF}
		if r.First == nil {
			r.First = r.Err
		}
	}
	if unsure && errors.Is(r.Err, dataset.ErrTruncated) {
		r.Whole, r.At = r.Whole-1, last
		set.undo()
	}
	if r.Broken > r.Whole {
		r.Whole = 0
	}
	set.Keep(r.Whole)
	return r
}

// LineEnd returns the byte that ends the lines of a header: a carriage return where nothing else ends the first, else a line feed.
func LineEnd(data []byte) byte {
	i := bytes.IndexAny(data, "\r\n")
	if i >= 0 && data[i] == '\r' && !bytes.HasPrefix(data[i+1:], []byte("\n")) {
		return '\r'
	}
	return '\n'
}
