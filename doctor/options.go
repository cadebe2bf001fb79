package doctor

import (
	"time"
)

// Options are the settings of an examination. The zero value is the default.
type Options struct {
	// Path is the path or URL of the dataset. Findings repeat it.
	Path string
	// MaxStep is the longest step that is not a gap, for every clock. If it is 0, a gap in a clock with a rate is a step longer
	// than 20 ms and longer than three times the median step.
	MaxStep time.Duration
	// Next is called after each episode; may be nil.
	Next func()
}
