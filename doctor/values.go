package doctor

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
)

// The rules of values.
const (
	leastStill    = 250 * time.Millisecond // a stream that holds still for less is not stuck
	leastMoves    = 20                     // changes that a stream must have, to be one that moves
	leastRepeats  = 20                     // runs of equal values that make a habit
	wrapRange     = 0.9                    // of a turn: angles that wrap cover so much
	wrapStep      = 0.8                    // of a turn: a step so long is a wrap
	plateau       = 3                      // equal values at a limit that are cut off rather than a peak
	leastPlateaus = 2
	leastCut      = 6 // samples at a limit, in all plateaus
)

// stream looks at the values of one stream.
func (x *examiner) stream(s *dataset.Stream) {
	v, ok := valuesOf(s)
	if !ok {
		return
	}
	x.seen += v.rows * v.width
	stated := x.stale.wants(s.Name)
	t := v.scan(stated)
	if stated {
		x.stale.add(s.Name, &v, t)
	}
	x.notFinite(s, &v, t)
	x.stuck(s, &v, t)
	x.repeated(s, &v, t)
	turning := x.quaternions(s, &v, t)
	for c := range s.Columns {
		if !s.Columns[c].Integer && !turning[c] {
			x.wraps(s, &v, t, c)
		}
	}
	x.saturated(s, &v, t, turning)
	if s.Inexact > 0 {
		x.add(Inexact, s.Name, s.Inexact, fmt.Sprintf("%s too large for %v, and rounded", count(s.Inexact, "whole number is", "whole numbers are"), s.Values.DType()))
	}
}

// notFinite counts NaN and infinite values: those of columns that have numbers too, and columns that have none.
func (x *examiner) notFinite(s *dataset.Stream, v *values, t *tally) {
	if t.badRows == 0 {
		return
	}
	var some, never []string
	for c := range t.columns {
		switch n := t.columns[c].bad; {
		case n == v.rows:
			never = append(never, s.Columns[c].Name)
		case n > 0:
			some = append(some, s.Columns[c].Name)
		}
	}
	if len(some) > 0 {
		rows, n := t.bad, t.badRows
		if len(never) > 0 { // in every row
			rows, n = v.badRows(columnsOf(s, some))
		}
		at := x.at(s.Name, rows)
		f := x.add(NaN, s.Name, n, fmt.Sprintf("%s of %d with NaN or infinite values, in %s", count(n, "sample", "samples"), v.rows, names(some)))
		f.Columns, f.At, f.plot = some, at, x.series(s, v, columnsOf(s, some), at)
	}
	if len(never) > 0 {
		f := x.add(NaN, s.Name, v.rows, fmt.Sprintf("%s NaN or infinite in each of %s: %s", count(len(never), "column is", "columns are"),
			count(v.rows, "sample", "samples"), names(never)))
		f.Columns, f.At = never, x.at(s.Name, t.bad[:min(len(t.bad), 1)])
		if x.e.Frames == 0 { // messages have fields that nobody fills
			f.Severity = Warning
			f.WhatToDo = "Leave these columns out of the plan: the message has the fields, and nobody fills them."
		}
	}
}

// columnsOf returns the places of columns.
func columnsOf(s *dataset.Stream, names []string) (list []int) {
	for _, n := range names {
		list = append(list, s.Column(n))
	}
	return list
}

// stuck looks for stretches in which nothing changes, in a stream that changes elsewhere, which begin or end in the middle of a motion: a robot that
// comes to rest slows down first, and starts again from where it stood.
func (x *examiner) stuck(s *dataset.Stream, v *values, t *tally) {
	if s.AllInteger() || isCommand(s.Name) {
		return
	}
	if len(t.runs) == 1 && t.runs[0] == (run{0, v.rows}) {
		if v.rows >= 2*leastRun {
			x.still = append(x.still, x.unmoved(s, v, t))
		}
		return
	}
	x.moved = append(x.moved, s.Name)
	if len(t.runs) == 0 {
		return
	}
	moves := 0
	for _, n := range t.lengths {
		moves += n
	}
	if moves < leastMoves {
		return
	}
	paces := v.paces()
	times := x.times[s.Name]
	var at []int64
	var worst run
	n, rows := 0, 0
	for _, r := range t.runs {
		if !x.e.Steps && (len(times) < v.rows || times[r.to-1]-times[r.from] < int64(leastStill)) {
			continue
		}
		if x.e.Steps && r.to-r.from < 2*leastRun || !v.abrupt(paces, r) {
			continue
		}
		n++
		rows += r.to - r.from
		if r.to-r.from > worst.to-worst.from {
			worst = r
		}
		if len(at) < MostTimes && r.from < len(times) {
			at = append(at, times[r.from])
		}
	}
	if n == 0 {
		return
	}
	longest := count(worst.to-worst.from, "sample", "samples")
	if len(times) >= v.rows && !x.e.Steps {
		longest += ", " + span(times[worst.to-1]-times[worst.from])
	}
	f := x.add(Stuck, s.Name, n, fmt.Sprintf("all %s hold the same values in %s, the longest of %s, and stop or start in the middle of a motion; %.3g %% of the samples",
		count(v.width, "column", "columns"), count(n, "stretch", "stretches"), longest, 100*float64(rows)/float64(v.rows)))
	f.At, f.plot = at, x.series(s, v, v.moving(t), at)
}

// unmoved is the finding of a stream that never changes, which is one only if it does in other episodes.
func (x *examiner) unmoved(s *dataset.Stream, v *values, t *tally) Finding {
	f := newFinding(Stuck, s.Name, 1, fmt.Sprintf("all %s hold the same values throughout, %s, though they change in other episodes",
		count(v.width, "column", "columns"), count(v.rows, "sample", "samples")))
	f.Path, f.Episode, f.At = x.opt.Path, x.n, x.at(s.Name, []int{0})
	f.plot = x.series(s, v, v.moving(t), nil)
	return *f
}

// pace is how a column changes from sample to sample.
type pace struct {
	typical float64 // the median of the changes, those of 0 apart; 0 of a column that does not change
	least   float64 // the smallest: what the column tells apart
	noise   bool    // a change is followed by one back, rather than by one that goes on
}

// paces looks at as many stretches of rows as tell.
func (v *values) paces() []pace {
	const most = 2000
	list := make([]pace, v.width)
	every := max(1, v.rows/most)
	steps := make([]float64, 0, most+1)
	for c := range list {
		steps = steps[:0]
		on, back := 0, 0
		for i := 1; i < v.rows; i += every {
			d := v.at(i, c) - v.at(i-1, c)
			if d == 0 || d-d != 0 {
				continue
			}
			steps = append(steps, math.Abs(d))
			if i+1 < v.rows {
				switch next := v.at(i+1, c) - v.at(i, c); {
				case next*d > 0:
					on++
				case next*d < 0:
					back++
				}
			}
		}
		if len(steps) > 0 {
			slices.Sort(steps)
			list[c] = pace{steps[len(steps)/2], steps[0], back > on}
		}
	}
	return list
}

// abrupt reports whether a run of equal rows is one of a stream that is stuck, and none of a robot that rests. That comes to rest before, and goes on
// from where it stood; what is stuck stops in the middle of a motion, and is elsewhere afterwards. What is noise is never at rest.
func (v *values) abrupt(paces []pace, r run) bool {
	first, last := r.from <= 1, r.to == v.rows
	var moving, before, after, noisy int
	for c, p := range paces {
		if p.typical == 0 {
			continue
		}
		moving++
		change := func(a, b int) float64 {
			if d := math.Abs(v.at(a, c) - v.at(b, c)); d > 1.5*p.least { // a robot at rest makes changes of the least that there is
				return d / p.typical
			}
			return 0
		}
		stop, start := 0.0, 0.0
		if !first {
			stop = change(r.from, r.from-1)
		}
		if !last {
			start = change(r.to, r.to-1)
		}
		if p.noise && p.typical > 3*p.least {
			noisy++
		}
		if stop >= 0.5 {
			before++
		}
		if start >= 3 {
			after++
		}
	}
	switch {
	case moving == 0 || first && last:
		return false
	case 2*noisy > moving:
		return true
	case first: // robots begin at rest
		return false
	case last:
		return 3*before >= 2*moving
	}
	return 2*after > moving
}

// moving returns columns that change most often, at most as many as are drawn.
func (v *values) moving(t *tally) []int {
	list := make([]int, v.width)
	for c := range list {
		list[c] = c
	}
	slices.SortStableFunc(list, func(a, b int) int { return t.columns[a].equal - t.columns[b].equal })
	return list[:min(len(list), mostLines)]
}

// repeated looks for streams in which each row comes several times: samples that were written faster than they were measured.
func (x *examiner) repeated(s *dataset.Stream, v *values, t *tally) {
	if s.AllInteger() || isCommand(s.Name) {
		return
	}
	all, several, rows := 0, 0, 0
	for n, k := range t.lengths {
		all += k
		if n > 1 && n < len(t.lengths)-1 {
			several += k
			rows += n * k
		}
	}
	if several < leastRepeats || float64(t.lengths[1]) > 0.02*float64(all) || float64(several) < 0.9*float64(all) {
		return
	}
	each := float64(rows) / float64(several)
	why := fmt.Sprintf("each value comes %s times in a row: %d changes in %d samples", short(math.Round(each*100)/100), all+1, v.rows)
	if c := x.clockOf[s.Name]; !x.e.Steps && c != nil {
		rate := c.stats.Rate
		why += fmt.Sprintf("; it is recorded at %s and measured at about %s", hertz(rate), hertz(rate/each))
	}
	f := x.add(Repeated, s.Name, v.rows-all-2, why)
	f.At = x.at(s.Name, []int{0})
	f.WhatToDo = "Resample at the rate at which it is measured, or keep the first of each: linear interpolation makes steps of it, and velocities come out as 0 and twice the truth. A publisher that is faster than its sensor does this."
	f.plot = x.series(s, v, v.moving(t), nil)
}

// wraps looks for angles that jump by a turn.
func (x *examiner) wraps(s *dataset.Stream, v *values, t *tally, c int) {
	k := &t.columns[c]
	for _, turn := range []float64{2 * math.Pi, 360} {
		if k.max-k.min < wrapRange*turn {
			continue
		}
		if !(k.min >= -turn/2*1.001 && k.max <= turn/2*1.001 || k.min >= -turn*0.001 && k.max <= turn*1.001) {
			continue
		}
		var rows []int
		n, jumps := 0, 0
		var small float64
		for i := 1; i < v.rows; i++ {
			switch d := math.Abs(v.at(i, c) - v.at(i-1, c)); {
			case d >= wrapStep*turn:
				if n++; len(rows) < MostTimes {
					rows = append(rows, i)
				}
			case d > turn/4:
				jumps++ // no angle that turns as it should
			default:
				small += d
			}
		}
		if n == 0 || jumps > n/4 || small < turn/100 {
			return
		}
		unit := "2 pi"
		period := ""
		if turn == 360 {
			unit, period = "360", ", period: 360"
		}
		f := x.add(AngleWrap, s.Name, n, fmt.Sprintf("%s jumps by a turn of %s, %s", s.Columns[c].Name, unit, count(n, "time", "times")))
		f.Columns, f.At, f.plot = []string{s.Columns[c].Name}, x.at(s.Name, rows), x.series(s, v, []int{c}, x.at(s.Name, rows))
		f.WhatToDo = fmt.Sprintf("Give the column kind: angle%s in the plan, so that it is not interpolated through the turn; for a network, take its sine and cosine.", period)
		return
	}
}
