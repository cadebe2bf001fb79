package policy

import (
	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Feed replays a recording to a [Runner]: it pushes the samples in the order of their times, as if they arrived from a robot.
// Actions at or after the anchor are held back, because the runner must predict them.
type Feed struct {
	streams []fed
	clock   ops.Clock
	snap    int64
}

type fed struct {
	name   string
	offset int64 // the plan's offset for its clock
	action bool
	times  []int64
	values []float64
	width  int
	next   int
}

// NewFeed returns a Feed with the streams that the policy takes from an episode. A missing or empty stream is a *StreamError.
func NewFeed(c *Config, e *dataset.Episode) (*Feed, error) {
	plan, err := c.plan(true)
	if err != nil {
		return nil, err
	}
	f := &Feed{}
	for i := range plan.Streams {
		in := &plan.Streams[i]
		from := in.Source()
		s := e.Stream(from)
		if s == nil || len(s.Nanoseconds()) == 0 {
			return nil, &StreamError{from, "no samples in episode " + e.Name, "some, as the policy was trained with"}
		}
		values, err := tensor.Floats(s.Values)
		if err != nil {
			return nil, err
		}
		f.streams = append(f.streams, fed{name: from, offset: int64(in.Offset), action: in.Name == c.Action.Name, times: s.Nanoseconds(), values: values, width: len(s.Columns)})
	}
	p, err := (&align.Preparer{Plan: plan}).Prepare(e)
	if err != nil {
		return nil, err
	}
	f.clock = p.Clock
	snap, _ := clocks.Snapping(plan.Snap, plan.Rate).Get()
	f.snap = int64(snap)
	return f, nil
}

// Span returns the times of the first and the last tick that training makes from the episode, in ns on the common clock.
func (f *Feed) Span() (first, last int64) {
	return f.clock.Start, f.clock.Tick(f.clock.Count - 1)
}

// Until pushes the samples up to an anchor that have not been pushed before. States later than the anchor by at most the plan's
// snap are included, because the plan counts them as simultaneous. Actions are pushed only if they are before the anchor.
func (f *Feed) Until(r *Runner, anchor int64) error {
	for i := range f.streams {
		s := &f.streams[i]
		for ; s.next < len(s.times); s.next++ {
			if at := s.times[s.next] + s.offset; at > anchor+f.snap || s.action && at >= anchor {
				break
			}
			if err := r.Push(s.name, s.times[s.next], s.values[s.next*s.width:(s.next+1)*s.width]); err != nil {
				return err
			}
		}
	}
	return nil
}
