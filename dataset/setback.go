package dataset

import (
	"context"
	"fmt"
	"time"
)

// SetBackError is the error of a recording whose recorder's clock was set back while it recorded: in the order of the file the log time of Subject goes
// back and goes on from there. The recording is then of several stretches, and in the order of their times the samples of one would lie between those
// of another. [Options.Stretch] reads one stretch; a clock other than the log's may keep its order.
type SetBackError struct {
	Subject   string        // topic of the first step back
	Message   int           // number of the topic's first message after it, from 0
	From, To  int64         // log time of the message before the step and of the one after it, nanoseconds
	Overlap   time.Duration // time that both stretches of the topic cover
	Stretches int           // number of stretches of the recording
	// Read reads a stretch, from 1, as Options.Stretch does.
	Read func(ctx context.Context, stretch int) (*Episode, error)
}

func (e *SetBackError) Error() string {
	return fmt.Sprintf("%s: the log time goes back by %s at message %d, from %d to %d ns, so that two stretches overlap by %s: got all stretches, want stretch 1 to %d, or another clock",
		e.Subject, time.Duration(e.From-e.To), e.Message, e.From, e.To, e.Overlap, e.Stretches)
}

// Unwrap returns ErrUnsupported: the file is whole.
func (e *SetBackError) Unwrap() error { return ErrUnsupported }
