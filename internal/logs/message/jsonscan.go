package message

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
)

// maxJSONDepth limits the nesting of values.
const maxJSONDepth = 100

// jsonScanner reads JSON from beginning to end. NaN, Infinity and -Infinity are numbers too, because Python writes them.
type jsonScanner struct {
	data []byte
	pos  int
}

func jsonError(at int, kind error, what, got, want string) error {
	return &dataset.FormatError{Format: "json", Offset: int64(at), Kind: kind, Msg: what, Got: got, Want: want}
}

// fail returns the error for unexpected text at the current position.
func (s *jsonScanner) fail(want string) error {
	if s.pos >= len(s.data) {
		return jsonError(len(s.data), dataset.ErrTruncated, "message", "its end", want)
	}
	got := s.data[s.pos:min(s.pos+12, len(s.data))]
	return jsonError(s.pos, dataset.ErrCorrupt, "message", quoted(got), want)
}

func quoted(b []byte) string {
	out, _ := json.Marshal(string(b)) // text never fails
	return string(out)
}

// next skips white space and returns the next byte, 0 at the end.
func (s *jsonScanner) next() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// text reads a string. It returns the bytes between the quotes, and whether they contain escapes.
func (s *jsonScanner) text() (b []byte, escaped bool, err error) {
	if s.next() != '"' {
		return nil, false, s.fail("a string")
	}
	from := s.pos + 1
	for at, quote := from, -1; ; {
		if quote < at {
			n := bytes.IndexByte(s.data[min(at, len(s.data)):], '"')
			if n < 0 {
				s.pos = len(s.data)
				return nil, false, s.fail("the end of a string")
			}
			quote = at + n
		}
		slash := bytes.IndexByte(s.data[at:quote], '\\')
		if slash < 0 {
			s.pos = quote + 1
			return s.data[from:quote], escaped, nil
		}
		escaped = true
		at += slash + 2
	}
}

// plain returns a string's text without escapes.
func plain(b []byte, escaped bool) []byte {
	if !escaped {
		return b
	}
	var text string
	quoted := append(append(append(make([]byte, 0, len(b)+2), '"'), b...), '"')
	if json.Unmarshal(quoted, &text) != nil {
		return b
	}
	return []byte(text)
}

// number reads a number, and reports whether it is written as an integer.
func (s *jsonScanner) number() (v float64, whole bool, err error) {
	rest := s.data[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("NaN")):
		s.pos += 3
		return math.NaN(), false, nil
	case bytes.HasPrefix(rest, []byte("Infinity")):
		s.pos += 8
		return math.Inf(1), false, nil
	case bytes.HasPrefix(rest, []byte("-Infinity")):
		s.pos += 9
		return math.Inf(-1), false, nil
	}
	if c := s.next(); c != '-' && (c < '0' || c > '9') {
		return 0, false, s.fail("a value")
	}
	v, n, whole := decimal.Prefix(rest)
	if n == 0 {
		return 0, false, s.fail("a number that float64 has room for")
	}
	s.pos += n
	return v, whole, nil
}

// word reads true, false or null.
func (s *jsonScanner) word(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.fail(word)
	}
	s.pos += len(word)
	return nil
}

// skip skips a value.
func (s *jsonScanner) skip(depth int) error {
	switch s.next() {
	case '{':
		return s.object(depth, func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.array(depth, func(int) error { return s.skip(depth + 1) })
	case '"':
		_, _, err := s.text()
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	_, _, err := s.number()
	return err
}

// object reads an object. use reads the value of each member.
func (s *jsonScanner) object(depth int, use func(key []byte) error) error {
	if depth > maxJSONDepth {
		return jsonError(s.pos, dataset.ErrTooLarge, "message", "more than 100 values in each other", "fewer")
	}
	s.pos++
	if s.next() == '}' {
		s.pos++
		return nil
	}
	for {
		b, escaped, err := s.text()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return s.fail("a colon")
		}
		s.pos++
		if err := use(plain(b, escaped)); err != nil {
			return err
		}
		if end, err := s.more('}'); end || err != nil {
			return err
		}
	}
}

// array reads an array. use reads each element.
func (s *jsonScanner) array(depth int, use func(i int) error) error {
	if depth > maxJSONDepth {
		return jsonError(s.pos, dataset.ErrTooLarge, "message", "more than 100 values in each other", "fewer")
	}
	s.pos++
	if s.next() == ']' {
		s.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := use(i); err != nil {
			return err
		}
		if end, err := s.more(']'); end || err != nil {
			return err
		}
	}
}

// more reads the end of an object or array, or a comma.
func (s *jsonScanner) more(end byte) (bool, error) {
	switch s.next() {
	case end:
		s.pos++
		return true, nil
	case ',':
		s.pos++
		return false, nil
	}
	return false, s.fail("a comma, or " + string(end))
}

// whole reads one value with read, and fails if anything follows it.
func (s *jsonScanner) whole(read func() error) error {
	if err := read(); err != nil {
		return err
	}
	if s.next(); s.pos < len(s.data) {
		return s.fail("the message's end")
	}
	return nil
}
