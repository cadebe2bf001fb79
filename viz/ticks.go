package viz

import (
	"math"
	"strconv"
)

// niceStep returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least least.
func niceStep(least float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= least {
			return m * p
		}
	}
	return 10 * p
}

// label formats a tick with the digits that its step needs.
func label(v, step float64) string {
	if v == 0 || math.Abs(v) < step/2 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e6 || a < 1e-4 {
		digits := max(int(math.Floor(math.Log10(a)))-int(math.Floor(math.Log10(step)*(1-1e-12))), 0)
		return strconv.FormatFloat(v, 'e', min(digits, 15), 64)
	}
	return strconv.FormatFloat(v, 'f', max(int(math.Ceil(-math.Log10(step)-1e-9)), 0), 64)
}
