package align

import (
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// job is the work of putting one episode on a plan's clock.
type job struct {
	plan    Plan
	snap    ops.Limit
	takes   []take
	notes   dataset.Notes // of the recording
	left    dataset.Notes // streams that are not taken
	clock   ops.Clock
	ticks   ops.Clock // for the operation
	span    clocks.Span
	whole   cover.Cover // of the recording
	targets *tensor.Tensor
	fuse    bool
	dtype   tensor.DType // of a Fuse; the operation chooses if it is 0
	before  *Preparer    // with the kinds from other recordings
}

// take is a selected stream with its settings.
type take struct {
	index    int             // in the plan
	stream   *dataset.Stream // with the output's name and the columns that are taken
	from     string          // its name in the recording
	how      Sampling
	own      bool // the kind is in the stream's plan, not in the defaults
	channels []ops.Channel
	edge     ops.Edge
	cover    cover.Cover // of its samples
	core     cover.Cover // without stray timestamps
	lo, hi   int         // the samples that are not stray
	strays   int         // samples that were left out
	jumps    dataset.Notes
	stats    dataset.Stats
	sorting  sorting
	empty    bool
	// onChange is set if the stream is published on change: it has whole numbers and under one message a second, or a single timestamp.
	onChange bool
}

// sorting counts samples that were recorded out of order.
type sorting struct {
	late int // recorded after a later sample
	lost int // left out, because the timestamp is no time
}

// single reports whether a stream has a single timestamp.
func (t *take) single() bool { return t.stats.Samples > 0 && t.stats.Samples-t.stats.Duplicates < 2 }

// kept returns the timestamps that are not stray.
func (t *take) kept() []int64 {
	ns := t.stream.Nanoseconds()
	if t.strays > 0 { // cut has removed the others
		return ns
	}
	return ns[t.lo:t.hi]
}

// cut removes the stray samples.
func (t *take) cut() (err error) {
	s := *t.stream
	t.strays = s.Len() - (t.hi - t.lo)
	if s.Times, err = s.Times.Slice(0, t.lo, t.hi); err != nil {
		return err
	}
	if s.Values, err = s.Values.Slice(0, t.lo, t.hi); err != nil {
		return err
	}
	t.stream, t.stats = &s, s.Stats()
	return nil
}

// resolved returns the sampling of the stream with its chosen edge.
func (t *take) resolved() Sampling {
	s := t.how
	s.Edge = t.edge.String()
	return s
}

// options returns the operation's options for a stream.
func (j *job) options(t *take) ops.ResampleOptions {
	return ops.ResampleOptions{
		Channels: t.channels, Window: t.how.Window, Edge: t.edge, Fill: t.how.Fill, Snap: j.snap,
		MaxGap: t.how.MaxGap, Tolerance: t.how.Tolerance, FillGaps: t.how.FillGaps, DType: t.how.DType,
	}
}

// mistake returns the error of a stream's key in the plan, with the line and column if the plan was read from a file.
func (j *job) mistake(stream int, key, got, want string) error {
	return j.plan.Mistake(j.plan.Key(stream, key), got, want)
}

// at adds to an error the line and column of a stream's key in the plan file, if there is one.
func (j *job) at(stream int, key string, err error) error {
	var s *StreamError
	if errors.As(err, &s) && s.key != "" {
		key = s.key
	}
	return j.plan.At(stream, key, err)
}

// nothing returns the error of a recording without a stream that can be put on a clock.
func (j *job) nothing() error {
	e := &clocks.NoStreamsError{}
	for _, t := range j.takes {
		n := dataset.Note{Code: dataset.CodeNoSamples, Subject: t.from}
		if t.single() {
			n.Code, n.Count = dataset.CodeTooFewTimes, t.stats.Samples
		} else if left := j.notes.LeftOut(t.from); left != nil {
			n = *left
		}
		e.Notes = append(e.Notes, n)
	}
	e.Notes = append(e.Notes, j.left...)
	return e
}
