package dataset

import (
	"context"
	"fmt"
	"time"
)

// SetBackError reports that the recorder's clock was set back during the recording: the log time of Subject jumps back in file
// order and continues from there. The recording then has several stretches, with overlapping times, so sorting by time would mix
// their samples. [Options.Stretch] selects one stretch. Another clock, such as the header time, may be in order.
type SetBackError struct {
	Subject   string        // topic with the first step back
	Message   int           // index of the topic's first message after the step
	From, To  int64         // log times of the messages before and after the step, nanoseconds
	Overlap   time.Duration // time that both stretches of the topic cover
	Stretches int           // number of stretches in the recording
	// Read reads one stretch, from 1, like Options.Stretch.
	Read func(ctx context.Context, stretch int) (*Episode, error)
}

func (e *SetBackError) Error() string {
	return fmt.Sprintf("%s: the log time goes back by %s at message %d, from %d to %d ns, so that two stretches overlap by %s: got all stretches, want stretch 1 to %d, or another clock",
		e.Subject, time.Duration(e.From-e.To), e.Message, e.From, e.To, e.Overlap, e.Stretches)
}

// Unwrap returns ErrUnsupported, because the file itself is intact.
func (e *SetBackError) Unwrap() error { return ErrUnsupported }
