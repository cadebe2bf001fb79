package decimal

import (
	"strconv"
	"strings"
)

// ParseFloat is like strconv.ParseFloat, but rejects digit separators and hexadecimal floats, which exist only in Go source.
func ParseFloat(s string, bits int) (float64, error) {
	if strings.ContainsAny(s, "_xX") {
		return 0, &strconv.NumError{Func: "ParseFloat", Num: s, Err: strconv.ErrSyntax}
	}
	return strconv.ParseFloat(s, bits)
}
