package doctor

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/nth"
	"github.com/robocache/robocache/internal/text"
)

// The rules for values that jump.
const (
	farJump     = 10    // a jump exceeds the usual change (the third quartile) by this factor, a spike any other change
	spikeLong   = 3     // most samples of a spike
	fewJumps    = 0.01  // largest share of rows with jumps; more are the motion itself
	sampledRows = 60    // rows from which the usual change is computed
	unitSlack   = 4     // usual changes by which a converted value may differ
	leastJumpy  = 4 * 8 // least number of rows of a stream
)

// units are the factors between units that are mistaken for each other: radians and degrees, metres and millimetres.
var units = []struct {
	factor float64
	what   string
}{{180 / math.Pi, "degrees beside radians"}, {math.Pi / 180, "radians beside degrees"}, {1000, "thousandths of the unit"}, {0.001, "thousands of the unit"}}

// jumps adds findings about values that leave a motion and return at once, and about rows in another unit.
func (x *examiner) jumps(s *dataset.Stream, v *values, t *tally, not map[int]bool) {
	if v.rows < leastJumpy || x.work.role(s.Name).command || s.AllInteger() {
		return
	}
	usual, limits := floats(&x.work.usual, v.width), floats(&x.work.limits, v.width)
	any := false
	for c := range limits {
		k := &t.columns[c]
		if usual[c], limits[c] = 0, math.Inf(1); 2*k.equal > v.rows || !(k.max > k.min) || s.Columns[c].Integer || not[c] {
			continue
		}
		if usual[c] = v.usual(c, k.step); usual[c] > 0 && k.max-k.min > farJump*usual[c] {
			limits[c], any = farJump*usual[c], true
		}
	}
	if !any {
		return
	}
	most := v.rows / 4 * v.width // with more jumps, the stream is not judged
	found := v.jumps(x.work.jumps[:0], limits, most)
	x.work.jumps = found
	if len(found) == 0 || len(found) > most {
		return
	}
	slices.Sort(found)
	if !x.unitJump(s, v, found, usual) {
		x.spikes(s, v, t, found)
	}
}

// usual returns the third quartile of a column's changes. It returns 0 if the column changes at less than half the steps, or if the longest
// step is no jump. The latter is known early for most columns, when a quarter of the changes are at least a tenth of the longest.
func (v *values) usual(c int, longest float64) float64 {
	apart := max(1, (v.rows-1)/sampledRows)
	n := (v.rows - 2 + apart) / apart
	part := longest/farJump*(1+1e-6) + math.SmallestNonzeroFloat32 // the longest may be rounded to float32
	rest, zeros := n-n*3/4, 0                                      // a quarter of the changes
	if math.IsInf(longest, 1) {
		rest = v.rows
	}
	var room [2 * sampledRows]float64
	list := room[:0]
	if v.f32 != nil {
		list, zeros = changesOf(list, v.f32[c:], v.width, apart, part, rest)
	} else {
		list, zeros = changesOf(list, v.f64[c:], v.width, apart, part, rest)
	}
	if len(list) < leastJumpy/2 || zeros > len(list)/2 {
		return 0
	}
	return nth.Of(list, len(list)*3/4)
}

// changesOf appends the absolute finite changes of a column, at every apart-th row, and counts the zeros. It returns nil if rest changes
// are at least part.
func changesOf[T number](list []float64, data []T, width, apart int, part float64, rest int) (changes []float64, zeros int) {
	for i := width; i < len(data); i += apart * width {
		d := math.Abs(float64(data[i]) - float64(data[i-width]))
		if d >= part {
			if rest--; rest <= 0 {
				return nil, 0
			}
		}
		if d == 0 {
			zeros++
		}
		if d-d == 0 {
			list = append(list, d)
		}
	}
	return list, zeros
}

// jumps appends the indices of values with a step beyond the column's limit, in ascending order. It stops after the row in which
// the list exceeds most.
func (v *values) jumps(list []int, limits []float64, most int) []int {
	if v.f32 != nil {
		narrow := make([]float32, len(limits))
		for c := range narrow {
			narrow[c] = float32(limits[c])
		}
		return jumpsOf(list, v.f32, narrow, most)
	}
	return jumpsOf(list, v.f64, limits, most)
}

func jumpsOf[T number](list []int, data, limits []T, most int) []int {
	for at := len(limits); at+len(limits) <= len(data) && len(list) <= most; at += len(limits) {
		for c, limit := range limits {
			if d := data[at+c] - data[at+c-len(limits)]; d > limit || -d > limit {
				list = append(list, at+c)
			}
		}
	}
	return list
}

// jump is a step of a column that is far longer than the usual change.
type jump struct {
	row int
	by  float64
}

// jumpAt returns the jump at an index of the values.
func (v *values) jumpAt(at int) jump {
	if v.f32 != nil {
		return jump{at / v.width, float64(v.f32[at] - v.f32[at-v.width])}
	}
	return jump{at / v.width, v.f64[at] - v.f64[at-v.width]}
}

// unitJump adds a finding about rows at which several columns change to another unit, together with all columns that jump there. It returns
// true if there are such rows.
func (x *examiner) unitJump(s *dataset.Stream, v *values, found []int, usual []float64) bool {
	var rows []int
	var columns []string
	what := ""
	for from := 0; from < len(found); {
		row, to := found[from]/v.width, from+1
		for to < len(found) && found[to] < (row+1)*v.width {
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
			rows = append(rows, row)
			if what == "" {
				what = u.what
				for _, at := range here {
					columns = append(columns, s.Columns[at-row*v.width].Name)
				}
			}
			break
		}
	}
	if len(rows) == 0 {
		return false
	}
	f := x.add(UnitJump, s.Name, len(rows), fmt.Sprintf("%s jump at once to what they are in another unit, %s: %s, %s", text.Count(len(columns), "column"),
		what, text.List(columns, mostNames), text.Count(len(rows), "time")))
	x.show(f, s, v, columnsOf(s, columns), rows)
	return true
}

// becomes reports whether all columns that jump at a row change by factor, up to their usual change, and two or more of them clearly.
func (v *values) becomes(here []int, usual []float64, factor float64) bool {
	clear := 0
	for _, at := range here {
		row, c := at/v.width, at%v.width
		now, before := v.at(row, c), v.at(row-1, c)
		if factor < 1 {
			now, before = before, now
		}
		off := math.Abs(now - max(factor, 1/factor)*before)
		if off > unitSlack*usual[c]*max(factor, 1/factor) {
			return false
		}
		if off < 0.2*math.Abs(now) {
			clear++
		}
	}
	return clear >= 2 && 2*clear >= len(here)
}

// spikes adds findings about values that jump away and return within spikeLong samples, by far more than any other step of their column.
func (x *examiner) spikes(s *dataset.Stream, v *values, t *tally, found []int) {
	var columns []string
	var where, rows []int
	least, most := math.Inf(1), 0.0
	if name := x.work.role(s.Name); name.bounded || name.impulsive {
		return
	}
	for i, at := range found { // by column, then by row
		found[i] = at%v.width*v.rows + at/v.width
	}
	slices.Sort(found)
	for len(found) > 0 {
		c, n := found[0]/v.rows, 1
		for n < len(found) && found[n]/v.rows == c {
			n++
		}
		places := found[:n]
		found = found[n:]
		if name := x.work.role(s.Columns[c].Name); name.bounded || name.impulsive {
			continue
		}
		of := make([]jump, 0, n)
		for _, at := range places {
			if j := v.jumpAt((at-c*v.rows)*v.width + c); !isTurn(j.by, &t.columns[c]) {
				of = append(of, j)
			}
		}
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
		text.Count(n, "value jumps", "values jump"), short(least), spikeLong, short(most), text.List(columns, mostNames)))
	x.show(f, s, v, where, rows)
}

// pairs returns the rows of jumps that a jump back follows, the rows of the steps of both, and the smallest of these jumps.
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

// isTurn reports whether a jump is an angle that wraps.
func isTurn(by float64, k *columnTally) bool {
	for _, turn := range []float64{math.Pi, 2 * math.Pi, 180, 360} {
		if math.Abs(by) >= wrapStep*turn && k.max-k.min <= 1.001*turn {
			return true
		}
	}
	return false
}
