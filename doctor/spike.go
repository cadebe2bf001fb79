package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/nth"
)

// The rules of values that jump.
const (
	farJump     = 10    // times the usual change, which three in four steps do not exceed, is a jump; and a spike is so many times any other change
	spikeLong   = 3     // samples, after which what does not come back is elsewhere
	fewJumps    = 0.01  // of the rows may have a jump; what jumps more often moves so
	sampledRows = 60    // from which the usual change is known
	unitSlack   = 4     // usual changes, by which a value may miss what it would be in another unit
	leastJumpy  = 4 * 8 // rows, of which one knows what is usual
)

// units are the factors between those that are taken for each other: radians and degrees, metres and millimetres.
var units = []struct {
	factor float64
	what   string
}{{180 / math.Pi, "degrees beside radians"}, {math.Pi / 180, "radians beside degrees"}, {1000, "thousandths of the unit"}, {0.001, "thousands of the unit"}}

// jump is a step of a column far beyond what it does otherwise.
type jump struct {
	row, column int
	by          float64
}

// jumps looks for values that leave a motion and come back at once, and for stretches in another unit.
func (x *examiner) jumps(s *dataset.Stream, v *values, t *tally, not map[int]bool) {
	if v.rows < leastJumpy || x.known.of(s.Name).command || s.AllInteger() {
		return
	}
	var usual []float64 // changes of the columns that may jump
	found := x.known.jumps[:0]
	most := v.rows / 4 * v.width // of what jumps so often, nothing can be said
	defer func() { x.known.jumps = found }()
	for c := range t.columns {
		k := &t.columns[c]
		if 2*k.equal > v.rows || !(k.max > k.min) || s.Columns[c].Integer || not[c] || !v.mayJump(c, k.step) {
			continue
		}
		change := v.usual(c)
		if !(change > 0 && k.max-k.min > farJump*change) {
			continue
		}
		if usual == nil {
			usual = make([]float64, v.width)
		}
		usual[c] = change
		if found = v.jumpsOf(found, c, farJump*change); len(found) > most {
			return
		}
	}
	if len(found) > 0 && !x.unitJump(s, v, found, usual) {
		x.spikes(s, v, t, found)
	}
}

// sampled returns from how many rows the usual change is known, and how far apart they are.
func (v *values) sampled() (n, apart int) {
	apart = max(1, (v.rows-1)/sampledRows)
	return (v.rows - 2 + apart) / apart, apart
}

// mayJump reports whether the longest step of a column may be a jump: whether fewer than a quarter of the changes that say what is usual are a tenth of
// it. Most columns are through after a few.
func (v *values) mayJump(c int, longest float64) bool {
	if math.IsInf(longest, 1) {
		return true
	}
	n, apart := v.sampled()
	part := longest/farJump*(1+1e-6) + math.SmallestNonzeroFloat32 // changes may be taken in float32
	rest := n - n*3/4
	for i := 1; i < v.rows && rest > 0; i += apart {
		if math.Abs(v.at(i, c)-v.at(i-1, c)) >= part {
			rest--
		}
	}
	return rest > 0
}

// usual returns the change of a column that three in four steps do not exceed; 0 if it does not change at every other step.
func (v *values) usual(c int) float64 {
	_, apart := v.sampled()
	var room [2 * sampledRows]float64
	list := room[:0]
	for i := 1; i < v.rows; i += apart {
		if d := math.Abs(v.at(i, c) - v.at(i-1, c)); d-d == 0 {
			list = append(list, d)
		}
	}
	if len(list) < leastJumpy/2 || nth.Of(list, len(list)/2) == 0 {
		return 0
	}
	return nth.Of(list, len(list)*3/4)
}

// jumpsOf appends the steps of a column that are beyond a limit.
func (v *values) jumpsOf(list []jump, c int, limit float64) []jump {
	if v.f32 != nil {
		return appendJumps(list, v.f32, v.width, c, float32(limit))
	}
	return appendJumps(list, v.f64, v.width, c, limit)
}

func appendJumps[T number](list []jump, data []T, width, c int, limit T) []jump {
	for i := width + c; i < len(data); i += width {
		if d := data[i] - data[i-width]; d > limit || -d > limit {
			list = append(list, jump{i / width, c, float64(d)})
		}
	}
	return list
}

// unitJump tells rows at which several columns, all that jump there, become what they would be in another unit.
func (x *examiner) unitJump(s *dataset.Stream, v *values, found []jump, usual []float64) bool {
	if found[0].column == found[len(found)-1].column {
		return false
	}
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b jump) int { return a.row - b.row })
	var rows []int
	var columns []string
	what := ""
	for from := 0; from < len(found); {
		to := from + 1
		for to < len(found) && found[to].row == found[from].row {
			to++
		}
		here := found[from:to]
		from = to
		if len(here) < 2 {
			continue
		}
		for _, u := range units {
			if !v.becomes(here, usual, u.factor) {
				continue
			}
			rows = append(rows, here[0].row)
			if what == "" {
				what = u.what
				for _, j := range here {
					columns = append(columns, s.Columns[j.column].Name)
				}
			}
			break
		}
	}
	if len(rows) == 0 {
		return false
	}
	f := x.add(UnitJump, s.Name, len(rows), fmt.Sprintf("%s jump at once to what they are in another unit, %s: %s, %s", count(len(columns), "column", "columns"),
		what, names(columns), count(len(rows), "time", "times")))
	f.Columns, f.At, f.plot = columns, x.at(s.Name, rows), x.series(s, v, columnsOf(s, columns), x.at(s.Name, rows))
	return true
}

// becomes reports whether columns that jump at a row are all there so many times what they were, but for their motion, and two or more clearly.
func (v *values) becomes(here []jump, usual []float64, factor float64) bool {
	clear := 0
	for _, j := range here {
		now, before := v.at(j.row, j.column), v.at(j.row-1, j.column)
		if factor < 1 {
			now, before = before, now
		}
		off := math.Abs(now - max(factor, 1/factor)*before)
		if off > unitSlack*usual[j.column]*max(factor, 1/factor) {
			return false
		}
		if off < 0.2*math.Abs(now) {
			clear++
		}
	}
	return clear >= 2 && 2*clear >= len(here)
}

// spikes tells values that jump away and come back within few samples, by far more than any other step of their column.
func (x *examiner) spikes(s *dataset.Stream, v *values, t *tally, found []jump) {
	var columns []string
	var where, rows []int
	least, most := math.Inf(1), 0.0
	if name := x.known.of(s.Name); name.rests || name.strikes {
		return
	}
	for len(found) > 0 {
		c, n := found[0].column, 1
		for n < len(found) && found[n].column == c {
			n++
		}
		of := found[:n]
		found = found[n:]
		if name := x.known.of(s.Columns[c].Name); name.rests || name.strikes {
			continue
		}
		of = slices.DeleteFunc(of, func(j jump) bool { return isTurn(j.by, &t.columns[c]) })
		begins, jumped, by := v.pairs(of, c)
		if len(begins) == 0 || len(of) > max(4, int(fewJumps*float64(v.rows))) {
			continue
		}
		other := 0.0
		for i := 1; i < v.rows; i++ {
			if d := math.Abs(v.at(i, c) - v.at(i-1, c)); d > other && d-d == 0 && !jumped[i] {
				other = d
			}
		}
		if by < farJump*other {
			continue
		}
		columns, where, rows = append(columns, s.Columns[c].Name), append(where, c), append(rows, begins...)
		least, most = min(least, by), max(most, other)
	}
	if len(rows) == 0 {
		return
	}
	n := len(rows)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	f := x.add(Spike, s.Name, n, fmt.Sprintf("%s away by %s or more and back within %d samples, where no other step is longer than %s: %s",
		count(n, "value jumps", "values jump"), short(least), spikeLong, short(most), names(columns)))
	f.Columns, f.At, f.plot = columns, x.at(s.Name, rows), x.series(s, v, where, x.at(s.Name, rows))
}

// pairs returns where jumps begin that are followed by one back to about where it was, the rows of the steps of both, and the least of them.
func (v *values) pairs(of []jump, c int) (begins []int, steps map[int]bool, least float64) {
	least = math.Inf(1)
	for k := 0; k+1 < len(of); k++ {
		a, b := of[k], of[k+1]
		back := math.Abs(v.at(b.row, c) - v.at(a.row-1, c))
		size := min(math.Abs(a.by), math.Abs(b.by))
		if b.row-a.row > spikeLong || a.by > 0 == (b.by > 0) || !(farJump*back <= size) {
			continue
		}
		if begins = append(begins, a.row); steps == nil {
			steps = map[int]bool{}
		}
		for i := a.row; i <= b.row; i++ {
			steps[i] = true
		}
		least = min(least, size)
		k++
	}
	return begins, steps, least
}

// isTurn reports whether a jump is that of an angle which goes around.
func isTurn(by float64, k *columnTally) bool {
	for _, turn := range []float64{math.Pi, 2 * math.Pi, 180, 360} {
		if math.Abs(by) >= wrapStep*turn && k.max-k.min <= 1.001*turn {
			return true
		}
	}
	return false
}
