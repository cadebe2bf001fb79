package suggest

import (
	"strconv"
	"time"
)

// hertz formats a rate with three digits, or as a whole number from 1000 on.
func hertz(rate float64) string {
	if rate >= 1000 {
		return strconv.FormatFloat(rate, 'f', 0, 64)
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// ticksLong returns the duration of n ticks, rounded down to milliseconds or less, so that a window of that length has n ticks.
func ticksLong(n int, rate float64) time.Duration {
	d := time.Duration(float64(n) / rate * 1e9)
	for _, unit := range []time.Duration{time.Second, 10 * time.Millisecond, time.Millisecond, time.Microsecond} {
		if t := d.Truncate(unit); t > 0 && float64(t)/1e9*rate > float64(n)-.5 && float64(t)/1e9*rate <= float64(n) {
			return t
		}
	}
	return d
}

// upTo returns a duration rounded up to two digits.
func upTo(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	if near := (d + unit/50) / unit * unit; near >= d-unit/50 && near <= d+unit/50 { // 99.9999 and 100.0001 ms are 100
		return near
	}
	return (d + unit - 1) / unit * unit
}
