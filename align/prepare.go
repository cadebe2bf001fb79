package align

import (
	"fmt"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/ops"
)

// Prepared is what a plan makes of a recording before anything is computed: what [Fuse] would compute from.
type Prepared struct {
	Clock   ops.Clock // uniform, over the plan's range; the plan's own Targets if it has them
	Streams []PreparedStream
	Notes   dataset.Notes // of ClassLeftOut: streams that are not taken
}

// PreparedStream is a stream that is taken: its samples in order, without stray ones, of the columns that the plan takes.
type PreparedStream struct {
	dataset.Stream        // with the name that it has in the output
	From           string // its name in the recording
	How            Sampling
	Offset         time.Duration
	Options        ops.ResampleOptions
	OnChange       bool // whole numbers, under one message a second: its edge is Hold unless the plan says otherwise
	Stray          int  // samples that were left out, their timestamps lying far from all others
	Late, Timeless int  // samples that were sorted to where their timestamps belong, and that were left out since theirs is no time
}

// Prepare checks a plan against a recording and chooses what Fuse would take, without computing anything; a loader does that once for each episode. Named
// streams without samples are there, empty. Errors are those of [Fuse], but that there may be any number of streams.
func Prepare(e *dataset.Episode, plan Plan) (*Prepared, error) {
	return (&Preparer{Plan: plan}).Prepare(e)
}

// Prepare is [Prepare] by the plan.
func (p *Preparer) Prepare(e *dataset.Episode) (*Prepared, error) {
	j, err := prepared(e, p.Plan, true, p)
	if err != nil {
		return nil, err
	}
	if err := j.makeClock(); err != nil {
		return nil, err
	}
	out := &Prepared{Clock: j.clock, Notes: j.left}
	for i := range j.takes {
		t := &j.takes[i]
		o := j.options(t)
		o.DType = 0
		out.Streams = append(out.Streams, PreparedStream{Stream: *t.stream, From: t.from, How: t.resolved(), Offset: t.how.Offset, Options: o,
			OnChange: t.onChange, Stray: t.strays, Late: t.sorting.late, Timeless: t.sorting.lost})
	}
	return out, nil
}

// prepared checks the plan and chooses streams.
func prepared(e *dataset.Episode, plan Plan, fuse bool, before *Preparer) (*job, error) {
	if before == nil {
		before = &Preparer{Plan: plan}
	}
	if err := before.check(); err != nil {
		return nil, err
	}
	j := &job{plan: plan, snap: clocks.Snapping(plan.Snap, plan.Rate), fuse: fuse, dtype: plan.Defaults.DType, before: before}
	if name, repeated := columns.Repeated(e.Names()); repeated {
		return nil, &StreamError{Stream: name, Got: "two streams of this name", Want: "each name once"}
	}
	if e.Steps && plan.Targets == nil {
		return nil, &clocks.StepsError{Rate: plan.Rate}
	}
	return j, j.choose(e)
}

// prepare chooses streams, checks what is asked of them together, and makes the clock.
func prepare(e *dataset.Episode, plan Plan, fuse bool) (*job, error) {
	j, err := prepared(e, plan, fuse, nil)
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

// fits checks what is asked of the streams together: one clock's dtype, and of a Fuse not too many.
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
			return &StreamError{Stream: t.from, Arg: "SrcTimes", Got: fmt.Sprintf("timestamps of %v", got), Want: fmt.Sprintf("%v, as of %s: streams of one clock's dtype", first.Times.DType(), first.Name)}
		}
	}
	if x := j.plan.Targets; x != nil && (x.Rank() != 1 || x.DType() != first.Times.DType()) {
		return &PlanError{Key: "targets", Got: x.String(), Want: fmt.Sprintf("%v [T], as the timestamps of %s", first.Times.DType(), first.Name)}
	}
	return nil
}
