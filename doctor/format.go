package doctor

import (
	"strconv"
	"time"
)

// span writes a length of time for a person: "12.5 ms".
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

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// planTime writes a length of time as a plan takes it.
func planTime(ns int64) string { return time.Duration(ns).String() }

func hertz(rate float64) string { return short(rate) + " Hz" }

// mostNames is how many names a sentence has before it counts the others.
const mostNames = 4
