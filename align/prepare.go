package align

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/ops"
)

// Prepare checks the plan against a recording and returns the input for [Fuse], without computing anything. Named streams without
// samples are included, empty. Errors are the same as in Fuse, except that any number of streams is allowed.
func (p *Preparer) Prepare(e *dataset.Episode) (*prepared.Recording, error) {
	j, err := newJob(e, p, true)
	if err != nil {
		return nil, err
	}
	if err := j.makeClock(); err != nil {
		return nil, err
	}
	out := &prepared.Recording{Clock: j.clock, Notes: j.left}
	for i := range j.takes {
		t := &j.takes[i]
		o := j.options(t)
		o.DType = 0
		out.Streams = append(out.Streams, prepared.Stream{Stream: *t.stream, From: t.from, Normalise: t.how.Normalise, DType: t.how.DType, Offset: t.how.Offset, Options: o,
			OnChange: t.onChange, Stray: t.strays})
	}
	return out, nil
}

// newJob checks the plan and chooses the streams of an episode. Its errors are those of [Fuse] or [Resample].
func newJob(e *dataset.Episode, p *Preparer, fuse bool) (*job, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.CheckEpisode(e); err != nil {
		return nil, err
	}
	plan := p.Plan
	j := &job{plan: plan, snap: clocks.Snapping(plan.Snap, plan.Rate), fuse: fuse, dtype: plan.Defaults.DType, before: p}
	return j, j.choose(e)
}

// prepare chooses streams, checks that they fit together, and makes the clock.
func prepare(e *dataset.Episode, plan Plan, fuse bool) (*job, error) {
	j, err := newJob(e, &Preparer{Plan: plan}, fuse)
	if err != nil {
		return nil, err
	}
	if err := j.fits(); err != nil {
		return nil, err
	}
	if err := j.makeClock(); err != nil {
		return j, err
	}
	return j, j.makeTargets()
}

// fits checks the streams together: timestamps have one dtype, and a Fuse has one dtype of values and at most ops.MaxStreams streams.
func (j *job) fits() error {
	if n := len(j.takes); j.fuse && n > ops.MaxStreams {
		return &clocks.ManyError{Got: n}
	}
	for _, t := range j.takes {
		switch d := t.how.DType; {
		case !j.fuse || d == 0 || d == j.dtype:
		case j.dtype == 0:
			j.dtype = d
		default:
			return j.mistake(t.index, "dtype", d.String(), fmt.Sprintf("%v, that of all streams of a Fuse", j.dtype))
		}
	}
	first := j.takes[0].stream
	for _, t := range j.takes[1:] {
		if got := t.stream.Times.DType(); got != first.Times.DType() {
			return &StreamError{Stream: t.from, Arg: "SrcTimes", Got: fmt.Sprintf("timestamps of %v", got), Want: fmt.Sprintf("%v, as in %s: streams with one clock dtype", first.Times.DType(), first.Name)}
		}
	}
	if x := j.plan.Targets; x != nil && (x.Rank() != 1 || x.DType() != first.Times.DType()) {
		return &PlanError{Key: "targets", Got: x.String(), Want: fmt.Sprintf("%v [T], as the timestamps of %s", first.Times.DType(), first.Name)}
	}
	return nil
}
