package doctor

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/nth"
	"github.com/robocache/robocache/internal/text"
)

// The rules for streams that are stuck.
const (
	leastStill   = 250 * time.Millisecond // a shorter standstill is no fault
	longStill    = time.Second            // a standstill of this duration is a fault if the commands cover goodPart of their range meanwhile
	goodPart     = 0.1
	mostIgnored  = 2   // standstills; a robot with more ignores small commands
	leastMoves   = 20  // least number of changes of a moving stream
	mostRests    = 5   // most standstills of a lively stream
	movesPerRest = 200 // or one in this many changes
)

// stuck adds a finding about standstills that begin or end in the middle of a motion, in a stream that changes elsewhere. A robot that
// comes to rest slows down first, and starts again from the same place.
func (x *examiner) stuck(s *dataset.Stream, v *values, t *tally) {
	if s.AllInteger() || x.work.role(s.Name).command {
		return
	}
	if len(t.runs) == 1 && t.runs[0] == (run{0, v.rows}) {
		if v.rows >= 2*leastRun {
			x.still = append(x.still, x.constant(s, v, t))
		}
		return
	}
	x.moving = append(x.moving, s.Name)
	if len(t.runs) == 0 || !v.lively(t) {
		return
	}
	sizes := v.stepSizes()
	times := x.times[s.Name]
	var held []dataset.Span
	var worst run
	n, rows := 0, 0
	for _, r := range t.runs {
		if !x.isStuck(s, v, t, sizes, r) {
			continue
		}
		n++
		rows += r.to - r.from
		if r.to-r.from > worst.to-worst.from {
			worst = r
		}
		if r.to <= len(times) {
			held = append(held, dataset.Span{From: times[r.from], To: times[r.to-1]})
		}
	}
	if n == 0 {
		return
	}
	longest := text.Count(worst.to-worst.from, "sample")
	if len(times) >= v.rows && !x.e.Steps {
		longest += ", " + span(times[worst.to-1]-times[worst.from])
	}
	f := x.add(Stuck, s.Name, n, fmt.Sprintf("all %s hold the same values in %s, the longest of %s, in the middle of a motion; %.3g %% of the samples",
		text.Count(v.width, "column"), text.Count(n, "stretch", "stretches"), longest, 100*float64(rows)/float64(v.rows)))
	f.cover(held...)
	f.draw = x.series(s, v, v.moving(t), f.At)
}

// constant returns the finding about a stream that never changes. It counts only if the stream changes in other episodes.
func (x *examiner) constant(s *dataset.Stream, v *values, t *tally) Finding {
	f := newFinding(Stuck, s.Name, 1, fmt.Sprintf("all %s hold the same values throughout, %s, though they change in other episodes",
		text.Count(v.width, "column"), text.Count(v.rows, "sample")))
	f.whole(x.times[s.Name])
	f.throughout = false // it changes in other episodes
	f.draw = x.series(s, v, v.moving(t), nil)
	return x.placed(f)
}

// isStuck reports whether a run of equal rows is a fault.
func (x *examiner) isStuck(s *dataset.Stream, v *values, t *tally, sizes []stepSize, r run) bool {
	times := x.times[s.Name]
	if x.e.Steps || len(times) < v.rows {
		return r.to-r.from >= 2*leastRun && r.to < v.rows && !v.atRest(t, sizes, r) && v.abrupt(sizes, r)
	}
	from, to := times[r.from], times[r.to-1]
	switch {
	case to-from < int64(leastStill) || v.atRest(t, sizes, r):
		return false
	case r.from > 0 && len(t.runs) <= mostIgnored && x.ignored(s, from, to):
		return true
	}
	return v.abrupt(sizes, r) && (r.to < v.rows || x.othersMove(s.Name, from, to))
}

// lively reports whether a stream changes like a measurement: at half the steps or more outside standstills, and with few standstills. A
// stream that is set now and then, or rests often, is not stuck.
func (v *values) lively(t *tally) bool {
	moves, rest := 0, 0
	for _, n := range t.lengths {
		moves += n
	}
	for _, r := range t.runs {
		rest += r.to - r.from
	}
	return moves >= leastMoves && 2*moves >= v.rows-rest && len(t.runs) <= max(mostRests, moves/movesPerRest)
}

// atRest reports whether a run is 0, as contact sensors often are, or each column that moves is at its own limit.
func (v *values) atRest(t *tally, sizes []stepSize, r run) bool {
	zero, limit := true, true
	for c := range v.width {
		x := v.at(r.from, c)
		zero = zero && x == 0
		limit = limit && (sizes[c].typical == 0 || x == t.columns[c].min || x == t.columns[c].max)
	}
	return zero || limit
}

// during returns the values of a stream and the range of its samples between two times; ok is false if there are too few.
func (x *examiner) during(s *dataset.Stream, from, to int64) (v values, lo, hi int, ok bool) {
	clock := x.times[s.Name]
	if v, ok = valuesOf(s); !ok || len(clock) != v.rows || s.AllInteger() {
		return v, 0, 0, false
	}
	lo, _ = slices.BinarySearch(clock, from)
	hi, _ = slices.BinarySearch(clock, to)
	return v, lo, hi, hi-lo > 2
}

// othersMove reports whether other streams in the episode change at most of their samples between two times: the commands, or any stream if
// there are no commands.
func (x *examiner) othersMove(name string, from, to int64) bool {
	commanded, any := false, false
	for i := range x.e.Streams {
		s := &x.e.Streams[i]
		v, lo, hi, ok := x.during(s, from, to)
		if s.Name == name || !ok {
			continue
		}
		changes := 0
		for i := lo + 1; i < hi; i++ {
			if !v.sameRow(i) {
				changes++
			}
		}
		moves := 2*changes > hi-lo
		if any = any || moves; x.work.role(s.Name).command {
			if commanded = true; moves {
				return true
			}
		}
	}
	return !commanded && any
}

// ignored reports whether the commands for a stream's columns cover goodPart of their range between two times. A command belongs to the
// column with the same name.
func (x *examiner) ignored(of *dataset.Stream, from, to int64) bool {
	if to-from < int64(longStill) {
		return false
	}
	for i := range x.e.Streams {
		s := &x.e.Streams[i]
		v, lo, hi, ok := x.during(s, from, to)
		if !ok || !x.work.role(s.Name).command {
			continue
		}
		for c := range v.width {
			if of.Column(s.Columns[c].Name) < 0 {
				continue
			}
			if all := v.reach(c, 0, v.rows); all > 0 && v.reach(c, lo, hi) >= goodPart*all {
				return true
			}
		}
	}
	return false
}

// reach returns the range of the values of a column in rows lo to hi-1; NaN if one is NaN.
func (v *values) reach(c, lo, hi int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for i := lo; i < hi; i++ {
		low, high = min(low, v.at(i, c)), max(high, v.at(i, c))
	}
	return high - low
}

// stepSize describes how a column changes from sample to sample.
type stepSize struct {
	typical float64 // median of the changes other than 0; 0 if the column does not change
	least   float64 // smallest change: the resolution of the column
	noise   bool    // changes alternate in sign more often than not
}

// stepSizes returns the step sizes of each column, from up to 2000 evenly spaced rows.
func (v *values) stepSizes() []stepSize {
	const most = 2000
	list := make([]stepSize, v.width)
	every := max(1, v.rows/most)
	steps := make([]float64, 0, most+1)
	for c := range list {
		var on, back int
		if v.f32 != nil {
			steps, on, back = stepsOf(steps[:0], v.f32[c:], v.width, every)
		} else {
			steps, on, back = stepsOf(steps[:0], v.f64[c:], v.width, every)
		}
		if len(steps) > 0 {
			list[c] = stepSize{nth.Of(steps, len(steps)/2), slices.Min(steps), back > on}
		}
	}
	return list
}

// stepsOf appends the absolute changes of a column, except zeros, at every every-th row. It counts the changes that the next one
// continues (on) or reverses (back).
func stepsOf[T number](list []float64, data []T, width, every int) (steps []float64, on, back int) {
	for i := width; i < len(data); i += every * width {
		x := float64(data[i])
		d := x - float64(data[i-width])
		if d == 0 || d-d != 0 {
			continue
		}
		list = append(list, math.Abs(d))
		if i+width < len(data) {
			switch next := float64(data[i+width]) - x; {
			case next*d > 0:
				on++
			case next*d < 0:
				back++
			}
		}
	}
	return list, on, back
}

// abrupt reports whether a run of equal rows begins or ends in the middle of a motion. A resting robot slows down before, and continues
// from the same place. A stuck stream stops during a motion, and is elsewhere afterwards. A noisy stream never rests.
func (v *values) abrupt(sizes []stepSize, r run) bool {
	first, last := r.from <= 1, r.to == v.rows
	var moving, before, after, noisy int
	for c, p := range sizes {
		if p.typical == 0 {
			continue
		}
		moving++
		change := func(a, b int) float64 {
			if d := math.Abs(v.at(a, c) - v.at(b, c)); d > 1.5*p.least { // a robot at rest changes by the resolution
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
