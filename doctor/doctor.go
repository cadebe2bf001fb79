package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/robocache/robocache/dataset"
)

// room is how many bytes of episodes Examine has in memory, unless one alone has more.
const room = 32 << 20

// Options say what to look for. The zero value is the default.
type Options struct {
	// Path names what is examined, in the findings.
	Path string
	// MaxStep is the longest step of a clock that is no gap; 0 is the greater of 20 ms and three medians.
	MaxStep time.Duration
	// Next is called after each episode that was read, unless nil.
	Next func()
}

// Examine reads every episode of d and returns what it found. An episode that cannot be read is a finding, and no error: only the end of ctx is.
func Examine(ctx context.Context, d dataset.Dataset, opt Options) (*Report, error) {
	return nil, errors.New("not yet")
}

// Episode looks at one episode, whose number in its dataset is given, and of which info is what the dataset says of itself. The findings are in order, errors first.
func Episode(e *dataset.Episode, number int, info *dataset.Info, opt Options) []Finding {
	return nil
}
