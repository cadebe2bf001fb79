package printed

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with its control characters, those that turn the direction of writing, and bytes that are no UTF-8 written out, as Go does in a
// string.
func Text(s string) string { return written(s, "") }

// Lines is Text of several lines: newlines and tabs stay. Text that is JSON remains JSON.
func Lines(s string) string { return written(s, "\n\t") }

func written(s, keep string) string {
	var b strings.Builder
	from := 0
	for at, c := range s {
		switch {
		case c >= ' ' && c <= '~' || strings.ContainsRune(keep, c):
			continue
		case c == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[at:]); size > 1 {
				continue
			}
			fmt.Fprintf(&b, `%s\x%02x`, s[from:at], s[at])
			from = at + 1
			continue
		case !unicode.IsControl(c) && !unicode.Is(unicode.Bidi_Control, c) && c != '\u2028' && c != '\u2029':
			continue
		}
		b.WriteString(s[from:at])
		switch i := strings.IndexRune("\a\b\f\n\r\t\v", c); {
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte("abfnrtv"[i])
		case c < ' ':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		from = at + utf8.RuneLen(c)
	}
	if from == 0 {
		return s
	}
	return b.String() + s[from:]
}
