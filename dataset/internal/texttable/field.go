package texttable

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/decimal"
)

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func spaces(b []byte) int {
	n := 0
	for n < len(b) && isSpace(b[n]) {
		n++
	}
	return n
}

func blank(b []byte) bool { return spaces(b) == len(b) }

func quote(b []byte) string { return strconv.Quote(string(b[:min(len(b), 60)])) }

// Word returns the field at the beginning of b, without surrounding spaces and quotes, and n, the number of bytes up to the
// separator after it. If quotes do not end, ok is false and n is negative. If anything except a separator follows the quotes, ok is
// false.
func Word(b []byte, sep byte, quotes bool) (word []byte, n int, ok bool) {
	if quotes && len(b) > 0 && b[0] == '"' {
		for i := 1; i < len(b); i++ {
			if b[i] != '"' {
				continue
			}
			if i+1 < len(b) && b[i+1] == '"' {
				i++
				continue
			}
			word = bytes.TrimSpace(bytes.ReplaceAll(b[1:i], []byte(`""`), []byte(`"`)))
			n = i + 1
			for n < len(b) && isSpace(b[n]) && b[n] != sep {
				n++
			}
			return word, n, n == len(b) || b[n] == sep
		}
		return nil, -1, false
	}
	for n < len(b) && b[n] != sep && !(sep == ' ' && b[n] == '\t') {
		n++
	}
	return bytes.TrimRight(b[:n], " \t"), n, true
}

// Missing reports whether a field is empty or a word for a missing value.
func Missing(word []byte) bool {
	switch string(word) {
	case "", "null", "NULL", "None", "NA", "N/A", "#N/A", "<NA>":
		return true
	}
	return false
}

// Value returns the number of a field, and whether it is whole: a truth value is.
func Value(word []byte) (v float64, whole, ok bool) {
	if len(word) == 4 && strings.EqualFold(string(word), "true") {
		return 1, true, true
	}
	if len(word) == 5 && strings.EqualFold(string(word), "false") {
		return 0, true, true
	}
	return decimal.Float(word)
}

// field adds a field to the row. If it is invalid, it returns a description of valid fields.
func (p *parser) field(kind Kind, word []byte) (want string) {
	switch kind {
	case Skip:
		return ""
	case Time, Low:
		clock := p.Clock
		if kind == Low {
			clock = Clock{Exponent: -9}
		}
		ns, exact, ok := clock.Read(word)
		if !ok {
			return clock.want()
		}
		p.time += ns
		p.rounded = p.rounded || !exact
		return ""
	}
	if kind == gone || Missing(word) {
		p.table.Values, p.flags = append(p.table.Values, math.NaN()), append(p.flags, empty)
		return ""
	}
	v, whole, ok := Value(word)
	switch {
	case ok:
		p.put(v, whole, word)
	case kind == Unsure:
		p.text = append(p.text, len(p.flags))
		p.table.Values, p.flags = append(p.table.Values, math.NaN()), append(p.flags, empty)
	default:
		return "a number"
	}
	return ""
}

// Read returns the time of a field, ns, and whether it is exact.
func (c Clock) Read(word []byte) (ns int64, exact, ok bool) {
	if !c.ISO {
		return decimal.Nanoseconds(word, c.Exponent)
	}
	if len(word) < len("2006-01-02T15:04:05") || len(word) > 40 {
		return 0, false, false
	}
	text := string(word)
	if text[10] == ' ' {
		text = text[:10] + "T" + text[11:]
	}
	if !strings.ContainsAny(text[11:], "Zz+-") {
		text += "Z"
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1850 || at.Year() > 2100 { // within 2^62 ns of 1970
		return 0, false, false
	}
	point := strings.IndexByte(text, '.')
	digits := 0
	for point >= 0 && point+1+digits < len(text) && text[point+1+digits]-'0' <= 9 {
		digits++
	}
	return at.UnixNano(), digits <= 9, true
}

func (c Clock) want() string {
	if c.ISO {
		return "a time such as 2024-01-31T12:00:00.5Z"
	}
	return "a time in units of " + Unit(c.Exponent) + ", at most 2^62 ns from 0"
}

// Unit is the name of 10^exponent seconds.
func Unit(exponent int) string {
	return map[int]string{0: "s", -3: "ms", -6: "us", -9: "ns"}[exponent]
}
