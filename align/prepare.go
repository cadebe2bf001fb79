package align

import (
	"sync"
	"time"

	"github.com/robocache/robocache/dataset"
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

// Preparer is Prepare for many recordings of one plan: it checks that once, and keeps what the kinds of a stream's columns are, which is the same
// for all that have the same columns. Its method may be called from any goroutine. What it returns shares Options.Channels, which are not to be written.
type Preparer struct {
	Plan Plan // does not change

	checked sync.Once
	wrong   error // what Check said

	mu      sync.Mutex
	streams []kinds // of each stream in the plan, or in the recording if the plan names none
}

func (p *Preparer) check() error {
	p.checked.Do(func() { p.wrong = p.Plan.Check() })
	return p.wrong
}

// kinds are the channels of a stream's columns.
type kinds struct {
	columns  []dataset.Column
	custom   dataset.Rotation
	channels []ops.Channel
}

// channels returns those of a stream, which depend on its place in the plan, its columns and the recordings' custom alone.
func (p *Preparer) channels(t *take, custom dataset.Rotation) ([]ops.Channel, error) {
	p.mu.Lock()
	for len(p.streams) <= t.index {
		p.streams = append(p.streams, kinds{})
	}
	known := p.streams[t.index]
	p.mu.Unlock()
	if known.channels != nil && known.custom == custom && dataset.SameColumns(known.columns, t.stream.Columns) {
		return known.channels, nil
	}
	list, err := channels(t.stream, &t.how, t.own, custom)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.streams[t.index] = kinds{t.stream.Columns, custom, list}
	p.mu.Unlock()
	return list, nil
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
