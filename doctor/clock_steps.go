package doctor

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// backSteps adds a finding if timestamps are earlier than the previous sample's.
func (x *examiner) backSteps(c *clock) {
	if c.stats.BackSteps == 0 {
		return
	}
	var rows []int
	longest := int64(0)
	for i := c.lo + 1; i < c.hi; i++ {
		if d := c.times[i] - c.times[i-1]; d < 0 {
			longest, rows = max(longest, -d), append(rows, i)
		}
	}
	f := x.add(BackStep, c.stream, c.stats.BackSteps, fmt.Sprintf("%s before the timestamp that precedes it, by up to %s%s",
		text.Count(c.stats.BackSteps, "timestamp lies", "timestamps lie"), span(longest), c.sharers()))
	f.mark(c.times, rows)
	f.draw = x.steps(c, f.At)
}

// duplicates adds a finding if timestamps equal the previous sample's.
func (x *examiner) duplicates(c *clock) {
	n := c.stats.Duplicates
	if n == 0 {
		return
	}
	var rows []int
	same := 0
	for i := c.lo + 1; i < c.hi; i++ {
		if c.times[i] != c.times[i-1] {
			continue
		}
		if c.values != nil && c.values.equalRows(i-1, i) {
			same++
		}
		rows = append(rows, i)
	}
	if same == 0 && (!c.steady || n > len(c.times)/5) { // elements of one message, or messages that arrived together
		return
	}
	why := text.Count(n, "timestamp repeats", "timestamps repeat") + " the one before"
	switch {
	case c.values == nil:
	case same == n:
		why += ", with the same values: the sample was written twice"
	case same == 0:
		why += ", with other values: two samples share a timestamp"
	default:
		why += fmt.Sprintf(", %d of them with the same values", same)
	}
	f := x.add(Duplicate, c.stream, n, why+c.sharers())
	f.mark(c.times, rows)
	f.draw = x.steps(c, f.At)
}

// gaps adds a finding if steps are far longer than the others.
func (x *examiner) gaps(c *clock) {
	times, even := c.times[c.lo:c.hi], c.steady
	if c.stats.BackSteps > 0 { // the step forward after a step back is no gap
		times = slices.Clone(times)
		for i := 1; i < len(times); i++ {
			times[i] = max(times[i], times[i-1])
		}
		st := dataset.StatsOf(times)
		even = steady(&st)
	}
	gaps, limit := gapsOf(times, c.stats, even, x.work.role(c.stream).command)
	if x.opt.MaxStep > 0 {
		limit = int64(x.opt.MaxStep)
		gaps = dataset.Gaps(times, limit)
	}
	if len(gaps) == 0 {
		return
	}
	longest, lost := int64(0), int64(0)
	for _, g := range gaps {
		d := g.To - g.From
		longest = max(longest, d)
		lost += d/max(c.stats.Median, 1) - 1
	}
	f := x.add(Gap, c.stream, len(gaps), "")
	f.cover(gaps...)
	f.draw = x.steps(c, f.At)
	f.gap = &pause{limit: only(limit), longest: only(longest), median: only(c.stats.Median), lost: int(lost), sharers: c.others}
	f.describeGap()
}

// jitter adds a finding if a clock has a rate and its steps scatter.
func (x *examiner) jitter(c *clock) {
	if c.hi-c.lo < leastJitter || x.work.role(c.stream).command || float64(c.stats.Jitter) <= wideJitter*float64(c.stats.Median) || !c.steady && !c.keepsTime() {
		return
	}
	f := x.add(Jitter, c.stream, c.hi-c.lo, fmt.Sprintf("one step in twenty is %s or more away from the median of %s%s", span(c.stats.Jitter), span(c.stats.Median), c.sharers()))
	f.whole(c.times[c.lo:c.hi])
	draw, most := x.steps(c, nil), float64(c.stats.Median+3*c.stats.Jitter)/1e6
	f.draw = func() *Plot { // a single gap would flatten the jitter
		p := draw()
		for i, y := range p.Lines[0].Y {
			p.Lines[0].Y[i] = min(y, most)
		}
		p.Y = "step, ms (outliers cut off)"
		return p
	}
}

// coarse adds a finding if timestamps are rounded to a large part of their step.
func (x *examiner) coarse(c *clock) {
	times, median := c.times[c.lo:c.hi], c.stats.Median
	if !c.steady || len(times) < 4*leastSteps || c.stats.BackSteps > 0 {
		return
	}
	unit, off := int64(0), 0
	for i := 1; i < len(times); i++ {
		d := times[i] - times[i-1]
		if d != median {
			off++
		}
		for a, b := unit, d; ; a, b = b, a%b {
			if b == 0 {
				unit = a
				break
			}
		}
		if float64(unit) < tooCoarse*float64(median) {
			return
		}
	}
	if float64(off) < unevenShare*float64(len(times)) {
		return
	}
	f := x.add(CoarseClock, c.stream, len(times), fmt.Sprintf("the timestamps are whole multiples of %s, where a step takes %s: rounding moves each by up to %.0f %% of a step%s",
		span(unit), span(median), 50*float64(unit)/float64(median), c.sharers()))
	f.whole(times)
	f.draw = x.steps(c, nil)
	f.WhatToDo = fmt.Sprintf("Take another clock of the recording if it has one (--clock); else set snap: %s in the plan to resample at its own rate.", planTime(unit/2))
}
