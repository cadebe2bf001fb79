package doctor

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// cause is equal for findings that may have one cause.
type cause struct {
	kind     Kind
	severity Severity
	path     string
	episode  int
	remedy   string
	fact     string // the sentence, if the cause is not a time
	alone    int    // the place from 1, if the finding joins no other
}

// causeOf returns the cause of the finding at a place in a list. Streams with a fault at the same time have one cause, because a
// recorder, a network or a power supply failed. Without times, the sentences must be equal, and an error is always alone: each file
// needs its own repair. Information is for the whole recording.
func causeOf(f *Finding, place int) cause {
	c := cause{kind: f.Kind, severity: f.Severity, path: f.Path, episode: f.Episode, remedy: f.WhatToDo}
	timeless := len(f.Places()) == 0
	switch {
	case f.gap != nil:
		c.remedy = "" // it has the limit of each stream
	case timeless && f.Severity == Error:
		c.alone = place + 1
	case f.Note != nil:
		c.fact = f.Note.Reason()
	case timeless && f.Severity != Information:
		c.fact = f.Why
	}
	return c
}

// grouped joins findings with one cause, in the order in which causes come first.
func grouped(list []Finding) (out []Finding) {
	place := -1
	for _, alike := range dataset.Grouped(list, func(f *Finding) cause { place++; return causeOf(f, place) }) {
		var events [][]Finding
		for _, f := range alike {
			at := slices.IndexFunc(events, func(e []Finding) bool { return e[0].atOnce(&f) && !slices.ContainsFunc(e, f.sharesStream) })
			if at < 0 {
				at, events = len(events), append(events, nil)
			}
			events[at] = append(events[at], f)
		}
		for _, e := range events {
			out = append(out, union(e))
		}
	}
	return out
}

// atOnce reports whether two findings are about the same time ranges: each pair overlaps by half the longer one or more. It is
// true if neither has a time, and for information.
func (f *Finding) atOnce(o *Finding) bool {
	return f.Severity == Information || slices.EqualFunc(f.Places(), o.Places(), func(a, b dataset.Span) bool {
		common := min(a.To, b.To) - max(a.From, b.From)
		return common >= max(a.To-a.From, b.To-b.From)/2
	})
}

// sharesStream reports whether two findings are about one stream: these are two faults.
func (f *Finding) sharesStream(o Finding) bool {
	return slices.ContainsFunc(f.Streams, func(s string) bool { return slices.Contains(o.Streams, s) })
}

// union returns one finding for all streams in an event.
func union(event []Finding) Finding {
	f := event[0]
	if len(event) == 1 {
		return f
	}
	f.Streams, f.Columns, f.Count, f.At, f.ranges = nil, nil, 0, nil, nil
	for i := range event {
		o := &event[i]
		for _, c := range o.Columns {
			f.Columns = append(f.Columns, o.Subject()+"."+c)
		}
		f.Streams = append(f.Streams, o.Streams...)
		f.Count += o.Count
		f.At = append(f.At, o.At...)
		f.ranges = append(f.ranges, o.Places()...)
		if i > 0 && f.gap != nil {
			f.gap = f.gap.with(o.gap)
		}
	}
	slices.Sort(f.At)
	f.At, f.ranges = f.At[:min(len(f.At), MostTimes)], disjoint(f.ranges)
	switch {
	case f.gap != nil:
		f.describeGap()
	case f.Severity == Information:
		f.describeUnfilled(text.Join(event, 20, ", ", func(o *Finding) string {
			if len(o.Columns) == 1 {
				return o.Subject() + "." + o.Columns[0]
			}
			return fmt.Sprintf("%s (%d)", o.Subject(), len(o.Columns))
		}))
	case f.Note != nil:
		n := *f.Note
		n.Subject = f.Subject()
		f.Note, f.Why = &n, n.String()
	case slices.ContainsFunc(event, func(o Finding) bool { return o.Why != f.Why }):
		f.Why = text.Join(event, mostNames, "; ", func(o *Finding) string { return o.Subject() + ": " + o.Why })
	}
	if f.draw != nil {
		f.draw = func() *Plot { // the first one's, with lines from the others if their axes are the same
			p := event[0].draw()
			for i := 1; i < len(event) && len(p.Lines) < mostLines; i++ {
				if q := event[i].draw(); q.X == p.X && q.Y == p.Y {
					p.Lines = append(p.Lines, q.Lines...)
				}
			}
			return p
		}
	}
	return f
}

// describeGap sets the sentences of the kind Gap.
func (f *Finding) describeGap() {
	p, at := f.gap, ""
	if len(f.Streams) > 1 {
		at = "at the same time, "
	}
	f.Why = fmt.Sprintf("%s%s longer than %s, the longest %s, where the median is %s", at, text.Count(f.Count, "step is", "steps are"),
		between(p.limit), between(p.longest), between(p.median))
	if p.lost > 0 {
		f.Why += fmt.Sprintf("; some %s missing", text.Count(p.lost, "sample is", "samples are"))
	}
	f.Why += sharers(p.sharers)
	whole := func(ns int64) string { return planTime((ns + 1e6 - 1) / 1e6 * 1e6) }
	value := "max_gap: " + whole(p.limit.To)
	if p.limit.To >= p.longest.From { // no value is right for all streams
		value = "max_gap of each stream, from " + whole(p.limit.From) + " to " + whole(p.limit.To) + ","
	}
	f.WhatToDo = fmt.Sprintf("Set %s in the plan, so that values in a gap are not valid; look for dropped messages, a full disk or a busy network where it was recorded.", value)
}

// describeUnfilled sets the sentence about columns without any finite value.
func (f *Finding) describeUnfilled(columns string) {
	f.Why = fmt.Sprintf("%s NaN or infinite in each of %s: %s", text.Count(len(f.Columns), "column is", "columns are"),
		text.Count(f.Count, "sample", "samples"), columns)
}
