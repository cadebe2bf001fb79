package decimal

import (
	"strconv"
	"strings"
)

// ParseFloat is strconv.ParseFloat without what only Go source has.
func ParseFloat(s string, bits int) (float64, error) {
	if strings.ContainsAny(s, "_xX") {
		return 0, &strconv.NumError{Func: "ParseFloat", Num: s, Err: strconv.ErrSyntax}
	}
	return strconv.ParseFloat(s, bits)
}
