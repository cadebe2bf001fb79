package align

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
)

// beside returns the timestamps of recorded streams that the plan does not take, if they are sorted. They are evidence about stray times.
func (j *job) beside(e *dataset.Episode) (list []clocks.Source) {
	for i := range e.Streams {
		s := &e.Streams[i]
		if slices.ContainsFunc(j.takes, func(t take) bool { return t.from == s.Name }) {
			continue
		}
		if _, core, lo, hi, err := cover.Core(s); err == nil {
			list = append(list, clocks.Source{Cover: core, Stray: cover.MostlyOneStep(s.Nanoseconds()[lo:hi])})
		}
	}
	return list
}

// witness reports whether a stream other than t has samples around the time at, ns.
func (j *job) witness(t *take, beside []clocks.Source, at int64) bool {
	within := func(c cover.Cover) bool { return c.First <= at && at <= c.Last }
	return slices.ContainsFunc(beside, func(s clocks.Source) bool { return within(s.Cover) }) ||
		slices.ContainsFunc(j.takes, func(o take) bool { return !o.empty && o.from != t.from && within(o.core) })
}

// vouched puts timestamps back into a stream's core if another stream has samples around them, because they are then within the recording.
func (j *job) vouched(t *take, beside []clocks.Source) {
	if t.lo > 0 && j.witness(t, beside, t.cover.First) {
		t.lo, t.core.First = 0, t.cover.First
	}
	if n := t.stream.Len(); t.hi < n && j.witness(t, beside, t.cover.Last) {
		t.hi, t.core.Last = n, t.cover.Last
	}
}

// jump returns a note if a stream's clock may have been set during the recording: one step is a thousand times as long as all others
// together, and no other stream has samples on one side of it.
func (j *job) jump(t *take, beside []clocks.Source) (notes dataset.Notes) {
	at, step, others, found := cover.Jump(t.kept())
	if !found || j.witness(t, beside, t.core.First) && j.witness(t, beside, t.core.Last) {
		return nil
	}
	return dataset.Notes{{Code: dataset.CodeClockJump, Subject: t.stream.Name, Row: dataset.At(at - 1),
		Detail: dataset.Detail{Got: cover.Seconds(step), Want: cover.Seconds(others)}}}
}
