package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// cause is a key to group findings: findings with equal keys may have one cause.
type cause struct {
	kind     Kind
	severity Severity
	path     string
	episode  int
	remedy   string
	fact     string // the sentence, if the cause is not a time
	alone    int    // the index plus 1 if the finding joins no other; else 0
}

// causeOf returns the key for the finding at index place in a list. Streams with a fault at the same time have one cause, because a
// recorder, a network or a power supply failed. Without times, or with faults throughout, the sentences must be equal. An error without
// times is always alone, because each file needs its own repair. Information is for the whole recording.
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
	case (timeless || f.throughout) && f.Severity != Information:
		c.fact = f.Why
	}
	return c
}

// grouped joins findings with one cause, in the order in which causes come first. The order of the list does not change the groups.
func grouped(list []Finding) (out []Finding) {
	place := -1
	for _, alike := range dataset.Grouped(list, func(f *Finding) cause { place++; return causeOf(f, place) }) {
		groups := events(alike, (*Finding).atOnce)
		for _, e := range groups {
			slices.Sort(e.members)
		}
		slices.SortFunc(groups, func(a, b event) int { return a.members[0] - b.members[0] })
		for _, e := range groups {
			group := make([]Finding, len(e.members))
			for k, i := range e.members {
				group[k] = alike[i]
			}
			out = append(out, union(group))
		}
	}
	return out
}

// event is a group of findings about different streams at the same time, by index.
type event struct {
	members []int
	times   []int // the members to compare with a finding: for each other member, one has the same time
	streams map[string]bool
}

// events groups findings with equal keys. Earlier findings choose theirs first, and each must agree with all others in its group. A finding
// with a stream of a group is another fault, and is not joined.
func events(alike []Finding, agree func(f, o *Finding) bool) (list []event) {
	order := make([]int, len(alike))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return compareTimes(&alike[i], &alike[j]) })
	over := 0 // events before this one ended before the finding begins
	for _, i := range order {
		f := &alike[i]
		for over < len(list) && alike[list[over].members[0]].endsBefore(f) {
			over++
		}
		at := over + slices.IndexFunc(list[over:], func(e event) bool {
			return !slices.ContainsFunc(f.Streams, func(s string) bool { return e.streams[s] }) &&
				!slices.ContainsFunc(e.times, func(k int) bool { return !agree(&alike[k], f) })
		})
		if at < over {
			at, list = len(list), append(list, event{streams: map[string]bool{}})
		}
		e := &list[at]
		e.members = append(e.members, i)
		for _, s := range f.Streams {
			e.streams[s] = true
		}
		if k := len(e.times); k == 0 || f.gap != nil || !slices.Equal(alike[e.times[k-1]].Places(), f.Places()) {
			e.times = append(e.times, i)
		}
	}
	return list
}

// compareTimes orders findings by their places. The sentence and the count decide between two findings about one stream.
func compareTimes(a, b *Finding) int {
	return cmp.Or(slices.CompareFunc(a.Places(), b.Places(), compareSpans), cmp.Compare(a.Why, b.Why), a.Count-b.Count)
}

// endsBefore reports whether the first place of a finding ends before that of the other begins; false for information.
func (f *Finding) endsBefore(o *Finding) bool {
	a, b := f.Places(), o.Places()
	return f.Severity != Information && len(a) > 0 && len(b) > 0 && a[0].To < b[0].From
}

// atOnce reports whether two findings are about the same time ranges. Each pair overlaps by half the longer one or more, and begins and
// ends within a tenth of it, or for gaps within the greater limit, because a slow stream notices a pause late. It is true if neither
// has a time, and for information.
func (f *Finding) atOnce(o *Finding) bool {
	limit := int64(0)
	if f.gap != nil && o.gap != nil {
		limit = max(f.gap.limit.To, o.gap.limit.To)
	}
	return f.Severity == Information || slices.EqualFunc(f.Places(), o.Places(), func(a, b dataset.Span) bool {
		longer, common := max(a.To-a.From, b.To-b.From), min(a.To, b.To)-max(a.From, b.From)
		return common >= longer/2 && max(a.From-b.From, b.From-a.From, a.To-b.To, b.To-a.To) <= max(longer/10, limit)
	})
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
		f.describeUnfilled(text.Join(event, mostNames, ", ", func(o *Finding) string {
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
	f.draw = nil
	drawn := slices.DeleteFunc(slices.Clone(event), func(o Finding) bool { return o.draw == nil })
	if len(drawn) > 0 {
		f.draw = func() *Plot { // the first picture, with lines from the others if their axes are the same
			p := drawn[0].draw()
			for i := 1; i < len(drawn) && len(p.Lines) < mostLines; i++ {
				if q := drawn[i].draw(); q.X == p.X && q.Y == p.Y {
					p.Lines = append(p.Lines, q.Lines...)
				}
			}
			return p
		}
	}
	return f
}

// describeGap sets Why and WhatToDo of a finding of the kind Gap.
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

// describeUnfilled sets Why of a finding about columns without any finite value.
func (f *Finding) describeUnfilled(columns string) {
	each := ""
	if len(f.Streams) > 1 {
		each = "their streams' "
	}
	f.Why = fmt.Sprintf("%s NaN or infinite in each of %s%s: %s", text.Count(len(f.Columns), "column is", "columns are"), each,
		text.Count(f.Count, "sample"), columns)
}
