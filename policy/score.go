package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Score compares the chunks from a [Runner] with the recorded actions of an episode. It computes the skill as [Policy.Evaluate]
// does, but at the caller's anchors, which need not be ticks of the clock.
type Score struct {
	config *Config
	live   *align.Live // the actions, which have all arrived
	window *Window
	tally  *tally
}

// NewScore returns a Score with the recorded actions of an episode. The caller closes it. A missing or empty stream is a
// *StreamError.
func NewScore(c *Config, e *dataset.Episode) (_ *Score, err error) {
	plan, err := c.plan(true)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(plan.Streams, func(s align.Stream) bool { return s.Name == c.Action.Name })
	if i < 0 {
		return nil, &StreamError{c.Action.Name, "none of that name in the plan", "the action"}
	}
	plan = plan.Pick(i)
	plan.Windows = map[string]align.Window{c.Action.Name: plan.Windows[c.Action.Name]}
	from := cmp.Or(plan.Streams[0].From, c.Action.Name)
	stream := e.Stream(from)
	if stream == nil || stream.Len() == 0 {
		return nil, &StreamError{from, "no samples in episode " + e.Name, "some, as the policy was trained with"}
	}
	values, err := tensor.Floats(stream.Values)
	if err != nil {
		return nil, err
	}
	times, width := stream.Nanoseconds(), len(stream.Columns)
	span := time.Second + time.Duration(slices.Max(times)-slices.Min(times)) // so that all samples are kept
	rate := float64(len(times)) / span.Seconds()
	s := &Score{config: c, window: c.newWindow(), tally: newTally(c)}
	s.live, err = align.NewLive(plan, []align.LiveStream{{Name: from, Columns: stream.Columns, DType: stream.Values.DType(), Hz: rate}}, span)
	if err != nil {
		return nil, err
	}
	for i, at := range times {
		if err := s.live.Push(from, at, values[i*width:(i+1)*width]); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if got := s.live.Parts()[0].Values.Dim(1); got != len(c.Targets) {
		return nil, errors.Join(&StreamError{from, fmt.Sprintf("%d columns", got), fmt.Sprintf("%d, as the policy was trained with", len(c.Targets))}, s.Close())
	}
	return s, nil
}

// Add compares the chunk [C,A] that was predicted at an anchor. It does not count if the episode has no action before the anchor.
func (s *Score) Add(ctx context.Context, anchor int64, chunk []float64) error {
	parts, err := s.live.Window(ctx, anchor)
	if err != nil {
		return err
	}
	values, err := tensor.Data[float32](parts[0].Values)
	if err != nil {
		return err
	}
	valid, err := tensor.Data[uint8](parts[0].Valid)
	if err != nil {
		return err
	}
	s.window.take(s.config, values, valid)
	if err := s.config.finite(s.window); err != nil {
		return err
	}
	if s.window.Known {
		s.tally.add(s.window, chunk)
	}
	return nil
}

// Evaluation returns the skill so far. episode is the number to put into it.
func (s *Score) Evaluation(episode int) Evaluation { return s.tally.done([]int{episode}) }

// Close releases the memory for the actions. A second Close does nothing.
func (s *Score) Close() error { return s.live.Close() }
