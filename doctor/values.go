package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// The rules of values.
const (
	leastRepeats  = 20  // runs of equal values that make a habit
	wrapRange     = 0.9 // of a turn: angles that wrap cover so much
	wrapStep      = 0.8 // of a turn: a step so long is a wrap
	plateau       = 3   // equal values at a limit that are cut off rather than a peak
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
	t := &x.known.tally
	v.scan(t)
	x.stale.add(s.Name, &v, t)
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
	x.jumps(s, &v, t, turning)
	if n := s.Lossy(); n > 0 {
		x.add(Inexact, s.Name, n, fmt.Sprintf("%s too large for %v, and rounded", text.Count(n, "whole number is", "whole numbers are"), s.Values.DType()))
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
		f := x.add(NaN, s.Name, n, fmt.Sprintf("%s of %d with NaN or infinite values, in %s", text.Count(n, "sample", "samples"), v.rows, text.List(some, mostNames)))
		f.Columns, f.At, f.plot = some, at, x.series(s, v, columnsOf(s, some), at)
	}
	if len(never) > 0 {
		f := x.add(NaN, s.Name, v.rows, fmt.Sprintf("%s NaN or infinite in each of %s: %s", text.Count(len(never), "column is", "columns are"),
			text.Count(v.rows, "sample", "samples"), text.List(never, mostNames)))
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
	if s.AllInteger() || x.known.of(s.Name).command {
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
		f := x.add(AngleWrap, s.Name, n, fmt.Sprintf("%s jumps by a turn of %s, %s", s.Columns[c].Name, unit, text.Count(n, "time", "times")))
		f.Columns, f.At, f.plot = []string{s.Columns[c].Name}, x.at(s.Name, rows), x.series(s, v, []int{c}, x.at(s.Name, rows))
		f.WhatToDo = fmt.Sprintf("Give the column kind: angle%s in the plan, so that it is not interpolated through the turn; for a network, take its sine and cosine.", period)
		return
	}
}
