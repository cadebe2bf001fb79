package align

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/internal/precision"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// report returns a report with the clock, and with the losses and notes of the recording, but without streams.
func (j *job) report(e *dataset.Episode) Report {
	r := NewReport(j.targets, j.plan.Rate)
	if j.plan.Targets == nil {
		r.Clock.Range = j.plan.Range.Mode.String()
		r.Clock.BeginsWith, r.Clock.EndsWith = j.span.BeginsWith, j.span.EndsWith
	}
	if e.Dropouts != nil {
		r.Dropouts = &Dropouts{Count: len(e.Dropouts)}
		for _, d := range e.Dropouts {
			r.Dropouts.Seconds += float64(d.Duration) / 1e9
		}
	}
	r.LostBytes = e.Notes.LostBytes()
	taken := e.Notes.Of(dataset.ClassRemark)
	if len(j.plan.Streams) > 0 {
		var names []string
		for i := range j.plan.Streams {
			names = append(names, j.plan.Streams[i].Source())
		}
		taken = taken.About(names)
	}
	r.Notes = slices.Concat(j.left, e.Notes.Damage(), taken)
	j.strays(&r.Notes)
	r.Notes.Join(j.span.Notes)
	j.unused(&r.Notes)
	for _, t := range j.takes {
		if n := t.how.Normalise; n != "" && n != "none" {
			r.Notes.Add(dataset.Note{Code: dataset.CodeStatisticsNeeded, Subject: t.stream.Name, Detail: dataset.Detail{Got: n}})
		}
	}
	return r
}

// account adds a stream's counts to the report. lost adds the values that the output's dtype rounds.
func (r *Report) account(t *take, a *Aligned, targets *tensor.Tensor, snap ops.Limit, lost func(n *precision.Loss) error) error {
	line := StreamReport{
		Name: a.Name, Rows: 1, Columns: len(a.Columns), DType: a.Values.DType().String(),
		Inexact: a.Recorded.Inexact, Kinds: countKinds(a.Channels), Edge: t.edge.String(), BackSteps: t.sorting.late, Timeless: t.sorting.lost, Stray: t.strays,
	}
	r.Notes.Join(plausible.Sorted(a.Name, t.sorting.late, t.sorting.lost))
	line.Clock(t.stats)
	own, err := clocks.Shifted(targets, -t.how.Offset)
	if err == nil {
		err = line.Count(a.Recorded.Times, own, a.Valid)
	}
	if err == nil {
		line.Unfinite, err = plausible.Unfinite(a.Recorded.Values)
	}
	if err == nil && line.Targets > 0 && line.Valid == 0 {
		r.Notes.Add(dataset.Note{Code: dataset.CodeNeverValid, Subject: a.Name, Count: line.Targets})
	}
	r.Notes.Join(plausible.Units(a.Name, a.Recorded.Times, t.stats))
	r.Notes.Join(plausible.Degrees(a.Name, a.Recorded.Values, a.Channels))
	if err == nil {
		r.Notes.Join(plausible.Coarse(a.Name, a.Recorded, t.stats, own, snap))
		err = lost(&line.Loss)
	}
	r.Streams = append(r.Streams, line)
	return err
}

// unused adds a note for each option without effect: for a stream, if it has none there, and for the defaults, if they have none on any
// stream.
func (j *job) unused(notes *dataset.Notes) {
	var all []Aligned
	for i := range j.takes {
		t := &j.takes[i]
		a := Aligned{How: t.resolved(), Channels: t.channels, Recorded: t.stream}
		all = append(all, a)
		if t.index < len(j.plan.Streams) {
			notes.Join(j.plan.Streams[t.index].Unused(t.stream.Name, a))
		}
	}
	notes.Join(j.plan.Defaults.Unused("", all...))
}

// strays adds the notes about stray timestamps and clock jumps of the taken streams.
func (j *job) strays(notes *dataset.Notes) {
	for _, t := range j.takes {
		code := dataset.CodeStrayFollowed
		switch {
		case t.strays > 0:
			code = dataset.CodeStrayLeftOut
		case j.plan.Targets != nil:
			code = dataset.CodeStrayTaken
		}
		notes.Join(cover.Strays(t.stream.Name, t.cover, t.core, code, t.strays))
		notes.Join(t.jumps)
	}
}
