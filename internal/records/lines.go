package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
)

// Lines reads a text file line by line and skips blank lines. A line ends with a line feed, a carriage return, or both.
type Lines struct {
	Format  string // for errors
	Rows    int    // the number of rows that the header states, for errors
	Follows string // the element after these rows, for example "face"; empty if there is none
	Data    []byte
	At      int // the next byte
	Line    int // its line, from 1
}

// Words reads a line word by word.
type Words struct {
	line   []byte
	at     int
	format string
	what   string
	row    int
	base   int64 // offset of the line in the file
	number int
	last   int64 // offset of the last word
}

// Next returns the next line. Errors name what and row: for example, "vertex 3".
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

// End returns an error if another word follows.
func (w *Words) End() error {
	if !w.More() {
		return nil
	}
	w.last = w.base + int64(w.at)
	return w.Fail(dataset.ErrCorrupt, "", fmt.Sprintf("%.60q", w.line[w.at:]), "the line's end")
}

// Fail returns an error at the last word. It names the field, or only the row if field is empty.
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

// More reports whether another word follows on the line.
func (w *Words) More() bool {
	w.skip()
	return w.at < len(w.line)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }
func isEnd(c byte) bool   { return c == '\n' || c == '\r' }

// Taken is the result of [Lines.Take].
type Taken struct {
	Whole  int   // rows kept
	Broken int   // broken rows after which the next row could still be read
	Bytes  int   // size of the broken rows
	Err    error // the reason why all rows from At on are lost, or nil
	At     int   // offset of the first row that is lost for Err
	First  error // the error of the first lost row, or nil
}

// Take reads all rows with read, which gets the number of the row and its place in the set. The set keeps whole rows.
// If a row is a line, a broken row is lost alone; if more rows are broken than whole, all are lost. Otherwise a broken row also loses all
// rows after it. If the data ends within a line although more rows must follow, the last row is lost too, because digits may be missing.
func (l *Lines) Take(what string, set *Set, rowIsLine bool, read func(row, to int) error) (r Taken) {
	last, whole := l.At, false // the previous row: its offset, and whether it is whole
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

// LineEnd returns the byte that ends the lines of a header: a carriage return if the first line ends with that alone, else a line feed.
func LineEnd(data []byte) byte {
	i := bytes.IndexAny(data, "\r\n")
	if i >= 0 && data[i] == '\r' && !bytes.HasPrefix(data[i+1:], []byte("\n")) {
		return '\r'
	}
	return '\n'
}
