package printed

import (
	"strconv"
	"strings"
	"unicode"
)

// Text returns a text with its control characters written out, as Go does in a string.
func Text(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if !unicode.IsControl(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRune(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
