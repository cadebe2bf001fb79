package clockname

import (
	"fmt"
	"slices"
	"strings"
)

// Units are the units' names, as exponents of 10 of seconds.
var Units = map[string]int{
	"s": 0, "sec": 0, "secs": 0, "second": 0, "seconds": 0,
	"ms": -3, "msec": -3, "msecs": -3, "millis": -3, "millisecond": -3, "milliseconds": -3,
	"us": -6, "usec": -6, "usecs": -6, "micros": -6, "microsecond": -6, "microseconds": -6, "µs": -6, "μs": -6,
	"ns": -9, "nsec": -9, "nsecs": -9, "nanosec": -9, "nanosecs": -9, "nanos": -9, "nanosecond": -9, "nanoseconds": -9,
}

// clockNames are names of clocks, in lower case and without separators.
var clockNames = []string{"timestamp", "timestamps", "time", "times", "t", "stamp", "ts", "datetime", "epoch", "unixtime", "rostime", "simtime",
	"systemtime", "elapsed", "elapsedtime", "stepstart"}

var joiner = strings.NewReplacer(" ", "", "_", "", "-", "")

// Of reports whether a name is a clock's, and returns its unit if the name has one.
func Of(name, unit string) (exponent int, known, ok bool) {
	if strings.EqualFold(unit, "utc") {
		unit = ""
	}
	exponent, known = Units[strings.ToLower(unit)]
	if unit != "" && !known {
		return 0, false, false // time [m]
	}
	bare := joiner.Replace(strings.ToLower(name))
	if slices.Contains(clockNames, bare) {
		return exponent, known, true
	}
	if e, ok := Units[bare]; ok && len(bare) > 2 && !known {
		return e, true, true // seconds
	}
	for _, c := range clockNames {
		if word, ok := strings.CutPrefix(bare, c); ok && !known {
			if e, ok := Units[word]; ok {
				return e, true, true
			}
		}
	}
	return 0, false, false
}

// Judge returns the unit of timestamps, an exponent of 10 of seconds, by how large they and their steps are, and why it is taken.
func Judge(times []float64) (exponent int, why string) {
	var stepsUp []float64
	for i := 1; i < len(times); i++ {
		if d := times[i] - times[i-1]; d > 0 {
			stepsUp = append(stepsUp, d)
		}
	}
	slices.Sort(stepsUp)
	step := 0.0
	if len(stepsUp) > 0 {
		step = stepsUp[len(stepsUp)/2]
	}
	units := []struct {
		exponent int
		seconds  float64
	}{{0, 1}, {-3, 1e-3}, {-6, 1e-6}, {-9, 1e-9}}
	const (
		from2000  = 946_684_800 // seconds
		until2100 = 4_102_444_800
		apart     = 100
	)
	for _, u := range units {
		if len(times) > 0 && times[0]*u.seconds > from2000 && times[0]*u.seconds < until2100 && step*u.seconds <= apart {
			return u.exponent, "in it the first is a date from 2000 to 2100"
		}
	}
	for _, u := range units {
		if step*u.seconds <= 1 {
			return u.exponent, fmt.Sprintf("in it steps are %.3g s", step*u.seconds)
		}
	}
	return -9, fmt.Sprintf("in it steps are %.3g s", step*1e-9)
}
