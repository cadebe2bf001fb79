package doctor

import (
	"time"
)

// Options are the options of an examination. The zero value is the default.
type Options struct {
	// Path is the path or URL of the dataset, which findings repeat.
	Path string
	// MaxStep is the longest step that is no gap, for every clock. If it is 0, clocks with a rate have gaps from the greater of 20 ms and three medians.
	MaxStep time.Duration
	// Next is called after each episode; may be nil.
	Next func()
}
