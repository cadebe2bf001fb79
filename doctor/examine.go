package doctor

import (
	"cmp"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// examiner looks at one episode.
type examiner struct {
	e       *dataset.Episode
	n       int
	info    *dataset.Info
	opt     *Options
	times   map[string][]int64 // of the streams that have several
	clocked []*clock
	clockOf map[string]*clock
	list    []*Finding
	still   []Finding // streams that never change
	moved   []string  // streams that do
	seen    int       // values
	known   *known
	stale   *stale // of the dataset; nil if it states no statistics, or only the episode is examined
}

// add notes a finding. What its kind says of it may be said better by the caller.
func (x *examiner) add(kind Kind, stream string, count int, why string) *Finding {
	f := newFinding(kind, stream, count, why)
	x.list = append(x.list, f)
	return f
}

func newFinding(kind Kind, stream string, count int, why string) *Finding {
	a := advice[kind]
	return &Finding{Kind: kind, Severity: a.severity, Stream: stream, Count: count, Why: why, WhatToDo: a.what, Episode: Whole}
}

// findingOf returns the finding of a note.
func findingOf(kind Kind, n *dataset.Note) *Finding {
	f := newFinding(kind, n.Subject, max(n.Count, 1), n.String())
	f.Note = n
	return f
}

// examine looks at an episode.
func (x *examiner) examine() []Finding {
	x.times, x.clockOf = make(map[string][]int64, len(x.e.Streams)), make(map[string]*clock, len(x.e.Streams)+len(x.e.Media))
	x.clocked = x.clocks()
	if !x.e.Steps {
		for _, c := range x.clocked {
			x.clock(c)
		}
		x.covers()
	}
	for i := range x.e.Streams {
		x.stream(&x.e.Streams[i])
	}
	if !x.e.Steps {
		x.offsets()
	}
	x.noted()
	return x.found()
}

// found are the findings in order: errors first, then by kind, as they are listed, and by stream.
func (x *examiner) found() []Finding {
	list := make([]Finding, len(x.list))
	for i, f := range x.list {
		list[i] = x.placed(f)
	}
	sortFindings(list)
	return list
}

// placed returns a finding with where it was made.
func (x *examiner) placed(f *Finding) Finding {
	f.Path, f.Episode, f.zero = x.opt.Path, x.n, x.zero(f.Stream)
	if f.Path != "" && x.e.Attributes.Source != f.Path {
		f.Source = x.e.Attributes.Source
	}
	return *f
}

// zero is the time from which pictures of a stream count: the beginning of the episode, unless its own timestamps are in another unit.
func (x *examiner) zero(stream string) int64 {
	of := x.clockOf[stream]
	if of != nil && of.wrong {
		return of.times[0]
	}
	zero := int64(0)
	known := false
	for _, c := range x.clocked {
		if first := c.times[c.lo]; !c.wrong && (!known || first < zero) {
			zero, known = first, true
		}
	}
	return zero
}

// sortFindings sorts by episode, those of the dataset first; then errors first, then by kind.
func sortFindings(list []Finding) {
	if len(list) < 2 {
		return
	}
	place := map[Kind]int{}
	for i, k := range Kinds() {
		place[k] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(a.Episode-b.Episode, cmp.Compare(a.Severity, b.Severity), place[a.Kind]-place[b.Kind])
	})
}

// at are the times of rows of a stream.
func (x *examiner) at(stream string, rows []int) (at []int64) {
	times := x.times[stream]
	for _, i := range rows[:min(len(rows), MostTimes)] {
		if i < len(times) {
			at = append(at, times[i])
		}
	}
	return at
}
