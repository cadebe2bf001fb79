package texttable

import (
	"bytes"
	"io"
)

const (
	readSize = 128 << 10 // bytes that are read at once
	maxLine  = 16 << 20  // of a line; longer ones are invalid
	maxQuote = 64 << 10  // bytes of a field in quotes after its first line

	maxQuoteLines = 100 // and over how many lines
)

// Lines steps through the lines of a text.
type Lines struct {
	r        io.Reader
	end      byte // of a line: a carriage return before a line feed belongs to it
	buf      []byte
	from, to int
	eof      bool
	at       int64 // of buf[from] in the text
	number   int   // of the line there, from 1
}

// Line is a line without its end. Its text is valid until the next line is read.
type Line struct {
	Text   []byte
	At     int64 // its byte in the text
	Number int   // from 1
	Bytes  int   // that it takes, with its end
	Ended  bool  // false for the last one of a text that does not end in a line's end
	Long   bool  // it is longer than a line may be, and Text is its beginning
}

// NewLines returns the lines in r, which end with end: a line feed or a carriage return.
func NewLines(r io.Reader, end byte) *Lines { return &Lines{r: r, end: end, number: 1} }

// fill reads on, and reports whether there was more.
func (l *Lines) fill() (bool, error) {
	if l.eof {
		return false, nil
	}
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	}
	if l.to == len(l.buf) {
		l.buf = append(l.buf, make([]byte, max(readSize, len(l.buf)))...)
	}
	n, err := io.ReadFull(l.r, l.buf[l.to:])
	l.to += n
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		l.eof, err = true, nil
	}
	return n > 0, err
}

// Next returns the next line, or io.EOF.
func (l *Lines) Next() (Line, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.from+seen:l.to], l.end); i >= 0 {
			return l.take(seen+i, 1, true), nil
		}
		seen = l.to - l.from
		if seen > maxLine {
			return l.skip()
		}
		more, err := l.fill()
		if err != nil {
			return Line{}, err
		}
		if !more {
			if seen == 0 {
				return Line{}, io.EOF
			}
			return l.take(seen, 0, false), nil
		}
	}
}

func (l *Lines) take(n, end int, ended bool) Line {
	line := Line{Text: l.buf[l.from : l.from+n], At: l.at, Number: l.number, Bytes: n + end, Ended: ended, Long: n > maxLine}
	if l.end == '\n' && ended {
		line.Text = bytes.TrimSuffix(line.Text, []byte{'\r'})
	}
	l.from, l.at, l.number = l.from+n+end, l.at+int64(n+end), l.number+1
	return line
}

// skip skips a line that is too long.
func (l *Lines) skip() (Line, error) {
	line := Line{Text: bytes.Clone(l.buf[l.from : l.from+64]), At: l.at, Number: l.number, Long: true}
	for {
		i := bytes.IndexByte(l.buf[l.from:l.to], l.end)
		n := i + 1
		if i < 0 {
			n = l.to - l.from
		}
		l.from, l.at, line.Bytes = l.from+n, l.at+int64(n), line.Bytes+n
		if i >= 0 {
			line.Ended = true
			l.number++
			return line, nil
		}
		more, err := l.fill()
		if err != nil || !more {
			return line, err
		}
	}
}

// Longer returns a line joined with the next one, or false if the result would be too long or there is no next line. The line must
// be the last one that was read. Longer may be called again with its result.
func (l *Lines) Longer(line Line, first int) (Line, bool, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(l.buf[l.from+from:l.to], l.end); i >= 0 {
			n := from + i + 1
			if line.Bytes+n > first+maxQuote {
				return line, false, nil
			}
			start := l.from - line.Bytes
			line.Text = l.buf[start : l.from+n-1]
			if l.end == '\n' {
				line.Text = bytes.TrimSuffix(line.Text, []byte{'\r'})
			}
			line.Bytes += n
			l.from, l.at, l.number = l.from+n, l.at+int64(n), l.number+1
			return line, true, nil
		}
		from = l.to - l.from
		if from > maxQuote || l.eof {
			return line, false, nil
		}
		l.from -= line.Bytes // so that filling keeps the line
		_, err := l.fill()
		l.from += line.Bytes
		if err != nil {
			return line, false, err
		}
	}
}

// Back undoes Longer: it returns the line first, and the rest is read again.
func (l *Lines) Back(long, first Line) Line {
	n := long.Bytes - first.Bytes
	l.from, l.at, l.number = l.from-n, l.at-int64(n), first.Number+1
	first.Text = l.buf[l.from-first.Bytes:][:len(first.Text)]
	return first
}
