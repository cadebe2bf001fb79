package align

import (
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// Prepared is what a plan makes of a recording before anything is computed: what [Fuse] would compute from.
type Prepared struct {
	Clock   ops.Clock // uniform, over the plan's range; the plan's own Targets if it has them
	Streams []PreparedStream
	LeftOut []LeftOut
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
	j, err := prepared(e, plan, true)
	if err != nil {
		return nil, err
	}
	if err := j.makeClock(); err != nil {
		return nil, err
	}
	p := &Prepared{Clock: j.clock, LeftOut: j.left}
	for i := range j.takes {
		t := &j.takes[i]
		o := j.options(t)
		o.DType = 0
		p.Streams = append(p.Streams, PreparedStream{Stream: *t.stream, From: t.from, How: t.resolved(), Offset: t.how.Offset, Options: o,
			OnChange: t.onChange, Stray: t.strays, Late: t.sorting.late, Timeless: t.sorting.lost})
	}
	return p, nil
}
