package align

import (
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// job is an episode with a plan.
type job struct {
	plan    Plan
	snap    ops.Limit
	takes   []take
	notes   dataset.Notes // of the recording
	left    dataset.Notes // streams that are not taken
	clock   ops.Clock
	ticks   ops.Clock // to compute with
	span    clocks.Span
	whole   cover.Cover // of the recording
	targets *tensor.Tensor
	fuse    bool
	dtype   tensor.DType // of a Fuse; 0 leaves it to the operation
	before  *Preparer    // what it knows from other recordings
}

// take is a stream that is taken, and how.
type take struct {
	index    int             // in the plan
	stream   *dataset.Stream // with the output's name and the columns that are taken
	from     string          // its name in the recording
	how      Sampling
	own      bool // the stream's plan, not the defaults, asked for the kind
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
	// speaks when something changes: whole numbers, under one message a second of the recording, or what has a single timestamp
	onChange bool
}

// sorting is what became of samples that were recorded out of order.
type sorting struct {
	late int // behind a later one
	lost int // whose timestamp has no place on a clock
}

// single reports whether a stream has a single timestamp.
func (t *take) single() bool { return t.stats.Samples > 0 && t.stats.Samples-t.stats.Duplicates < 2 }

// kept are the timestamps that are not stray.
func (t *take) kept() []int64 {
	ns := t.stream.Nanoseconds()
	if t.strays > 0 { // the others are no longer there
		return ns
	}
	return ns[t.lo:t.hi]
}

// cut leaves out the stray samples.
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

// resolved is how the stream is sampled, with the edge that was chosen for it.
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

// mistake is a mistake in what the plan says of a stream, with its place if the plan was read from a file.
func (j *job) mistake(stream int, key, got, want string) error {
	return j.plan.Mistake(j.plan.Key(stream, key), got, want)
}

// at says where in a plan file a stream that cannot be taken is asked for.
func (j *job) at(stream int, key string, err error) error {
	var s *StreamError
	if errors.As(err, &s) && s.key != "" {
		key = s.key
	}
	return j.plan.At(stream, key, err)
}

// nothing is the error of a recording of which nothing can be put on a clock.
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
