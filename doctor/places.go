package doctor

import (
	"cmp"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// mostRanges is the most ranges of a finding. Places that lie nearer together than this part of their whole extent are one range.
const mostRanges = 1000

// Places returns the ranges of time with all occurrences, in ascending order and apart from each other. If these are more than 1000, neighbours are one
// range. An occurrence in a single sample has a range from its time to its time.
func (f *Finding) Places() []dataset.Span {
	if f.ranges == nil {
		for _, t := range f.At {
			f.ranges = append(f.ranges, dataset.Span{From: t, To: t})
		}
		f.ranges = joined(f.ranges)
	}
	return f.ranges
}

// mark sets the times and the ranges of a finding from rows in ascending order. Consecutive rows are one range.
func (f *Finding) mark(times []int64, rows []int) {
	for k, i := range rows {
		if i >= len(times) {
			break
		}
		t := times[i]
		if len(f.At) < MostTimes {
			f.At = append(f.At, t)
		}
		if k == 0 || i > rows[k-1]+1 {
			f.ranges = append(f.ranges, dataset.Span{From: t, To: t})
			continue
		}
		r := &f.ranges[len(f.ranges)-1]
		r.From, r.To = min(r.From, t), max(r.To, t)
	}
	f.ranges = joined(f.ranges)
}

// cover sets the times and the ranges of a finding from stretches of time.
func (f *Finding) cover(list ...dataset.Span) {
	f.ranges = joined(list)
	for _, s := range list[:min(len(list), MostTimes)] { // in ascending order now
		f.At = append(f.At, s.From)
	}
}

// whole marks all samples of a clock; At is the first.
func (f *Finding) whole(times []int64) {
	if len(times) > 0 {
		f.cover(dataset.Span{From: times[0], To: slices.Max(times)})
	}
}

// joined sorts ranges in place, and returns others: it joins those that overlap; of more than mostRanges also those that are near.
func joined(list []dataset.Span) (out []dataset.Span) {
	slices.SortFunc(list, func(a, b dataset.Span) int { return cmp.Compare(a.From, b.From) })
	near := int64(0)
	if n := len(list); n > mostRanges {
		near = (list[n-1].From - list[0].From) / mostRanges
	}
	for _, s := range list {
		if n := len(out); n > 0 && (s == out[n-1] || s.From-out[n-1].To < near) {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}
