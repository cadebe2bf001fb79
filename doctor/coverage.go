package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// leastCover is the part of a recording that a stream with a rate covers at least; less is a finding.
const leastCover = 0.5

// leastLong is the duration of a recording from which coverage is judged.
const leastLong = 5 * time.Second

// coverage compares the time ranges of the clocks in an episode. It adds findings about streams without a common range, because they cannot
// be put on one clock, and about streams that cover little of the recording.
func (x *examiner) coverage() {
	var groups [][]*clock // overlapping clocks, in order of time
	var until int64
	var list []*clock
	for _, c := range x.clocked {
		if !c.wrong && c.hi-c.lo >= leastSteps {
			c.first, c.last = slices.Min(c.times[c.lo:c.hi]), slices.Max(c.times[c.lo:c.hi])
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *clock) int { return cmp.Compare(a.first, b.first) })
	for _, c := range list {
		if len(groups) == 0 || c.first > until {
			groups, until = append(groups, nil), c.last
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
		until = max(until, c.last)
	}
	if len(groups) == 0 {
		return
	}
	most := groups[0] // the reference: the group of most streams
	for _, g := range groups[1:] {
		if c := cmp.Or(cmp.Compare(streamCount(g), streamCount(most)), cmp.Compare(sampleCount(g), sampleCount(most))); c > 0 {
			most = g
		}
	}
	for _, g := range groups {
		if &g[0] != &most[0] {
			x.noOverlap(g, most)
		}
	}
	from, to := rangeOf(most)
	for _, c := range most {
		if part := float64(c.last - c.first); c.steady && to-from >= int64(leastLong) && part < leastCover*float64(to-from) {
			f := x.add(ShortCover, c.stream, 1, fmt.Sprintf("it has samples for %s of the %s that are recorded: its first comes %s after the beginning, its last %s before the end%s",
				span(c.last-c.first), span(to-from), span(c.first-from), span(to-c.last), c.sharers()))
			f.cover(append(dataset.Gaps([]int64{from, c.first}, 0), dataset.Gaps([]int64{c.last, to}, 0)...)...)
			f.At = []int64{c.first}
		}
	}
}

// noOverlap adds a finding about the clocks in g, which have no time in common with the others. A topic without a rate is no fault if its
// samples lie a little before or after the others.
func (x *examiner) noOverlap(g, others []*clock) {
	from, to := rangeOf(g)
	first, last := rangeOf(others)
	away, where := from-last, "after"
	if from < first {
		away, where = first-to, "before"
	}
	if !slices.ContainsFunc(g, func(c *clock) bool { return c.steady }) && away < max(to-from, last-first) {
		return
	}
	c, other := g[0], others[0]
	f := x.add(NoOverlap, c.stream, streamCount(g), fmt.Sprintf("it has no moment in common with %s: all its samples, over %s, lie %s or more %s that one's %s%s",
		other.stream, span(to-from), span(away), where, span(last-first), c.sharers()))
	f.cover(dataset.Span{From: from, To: to})
}

func streamCount(group []*clock) (n int) {
	for _, c := range group {
		n += 1 + len(c.others)
	}
	return n
}

func sampleCount(group []*clock) (n int) {
	for _, c := range group {
		n += len(c.times)
	}
	return n
}

// rangeOf returns the first and the last time of a group.
func rangeOf(group []*clock) (from, to int64) {
	from, to = group[0].first, group[0].last
	for _, c := range group {
		from, to = min(from, c.first), max(to, c.last)
	}
	return from, to
}
