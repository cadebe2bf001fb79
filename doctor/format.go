package doctor

import (
	"strconv"
	"time"
)

// span formats a length of time: "12.5 ms".
func span(ns int64) string {
	d := time.Duration(ns)
	abs := max(d, -d)
	switch {
	case abs >= time.Second:
		return short(d.Seconds()) + " s"
	case abs >= time.Millisecond:
		return short(float64(d)/1e6) + " ms"
	case abs >= time.Microsecond:
		return short(float64(d)/1e3) + " us"
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// short formats a number with four digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// planTime formats a length of time for a plan: "12.5ms".
func planTime(ns int64) string { return time.Duration(ns).String() }

// hertz formats a rate: "29.97 Hz".
func hertz(rate float64) string { return short(rate) + " Hz" }

// mostNames is the number of names in a sentence before it counts the others.
const mostNames = 4
