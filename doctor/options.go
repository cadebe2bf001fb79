package doctor

import (
	"time"
)

// Options say what to look for. The zero value is the default.
type Options struct {
	// Path names what is examined, in the findings.
	Path string
	// MaxStep is the longest step of a clock that is no gap, of every clock; 0 is the greater of 20 ms and three medians, of clocks that have a rate.
	MaxStep time.Duration
	// Next is called after each episode that was read, unless nil.
	Next func()
}
