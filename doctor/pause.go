package doctor

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// pause has measurements about gaps in several clocks. Each span reaches from the least to the greatest value.
type pause struct {
	limit, longest, median dataset.Span
	lost                   int      // samples
	sharers                []string // other streams with the same clocks
}

// only returns a span with equal ends.
func only(ns int64) dataset.Span { return dataset.Span{From: ns, To: ns} }

// hull returns the smallest span that holds two others.
func hull(a, b dataset.Span) dataset.Span {
	return dataset.Span{From: min(a.From, b.From), To: max(a.To, b.To)}
}

// with returns the measurements of both.
func (p *pause) with(o *pause) *pause {
	return &pause{hull(p.limit, o.limit), hull(p.longest, o.longest), hull(p.median, o.median), p.lost + o.lost, slices.Concat(p.sharers, o.sharers)}
}

// between formats the durations in a span: "20 ms", or "20 ms to 151 ms".
func between(s dataset.Span) string {
	if s.From == s.To {
		return span(s.From)
	}
	return span(s.From) + " to " + span(s.To)
}

// sharers returns text for the end of a sentence that names streams with the same clock; empty if there is none.
func sharers(streams []string) string {
	switch n := len(streams); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (%s has the same clock)", streams[0])
	default:
		return fmt.Sprintf(" (%d other streams have the same clock)", n)
	}
}
