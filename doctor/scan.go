package doctor

import (
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// number is what values are scanned as.
type number interface{ float32 | float64 }

// tally is what one pass over a stream's values counts.
type tally struct {
	bad     []int // rows with a value that is not finite, the first MostTimes of them
	badRows int
	columns []columnTally
	runs    []run   // of equal rows, those of at least leastRun
	lengths [10]int // how many runs of equal rows are so long; the last is of all that are longer. The first and the last run are not counted
}

// run is rows from to to-1 that are equal.
type run struct{ from, to int }

// leastRun is how many equal rows there must be for a stream to be thought stuck.
const leastRun = 10

type columnTally struct {
	bad      int
	min, max float64 // of the finite values; +Inf and -Inf if there is none
	equal    int     // steps without a change
	step     float64 // the greatest change
}

// values are those of a stream, float32 or float64 in rows.
type values struct {
	rows, width int
	f32         []float32
	f64         []float64
}

// valuesOf returns a stream's values, without a copy where they are float32 or float64 in one piece.
func valuesOf(s *dataset.Stream) (v values, ok bool) {
	if s.Values == nil || s.Values.Rank() != 2 {
		return v, false
	}
	v.rows, v.width = s.Values.Dim(0), s.Values.Dim(1)
	var err error
	t := s.Values
	switch t.DType() {
	case tensor.F32, tensor.F64:
		if t, err = t.Contiguous(); err != nil {
			return v, false
		}
		if t.DType() == tensor.F32 {
			v.f32, err = tensor.Data[float32](t)
		} else {
			v.f64, err = tensor.Data[float64](t)
		}
	default:
		v.f64, err = tensor.Floats(t)
	}
	return v, err == nil && v.rows > 0 && v.width > 0
}

// at returns one value.
func (v *values) at(row, column int) float64 {
	if v.f32 != nil {
		return float64(v.f32[row*v.width+column])
	}
	return v.f64[row*v.width+column]
}

// column copies a column into a list, which it returns.
func (v *values) column(c int, into []float64) []float64 {
	into = slices.Grow(into[:0], v.rows)[:v.rows]
	for i := range into {
		into[i] = v.at(i, c)
	}
	return into
}

func (v *values) scan() *tally {
	if v.f32 != nil {
		return scan(v.f32, v.width)
	}
	return scan(v.f64, v.width)
}

// scan makes the pass. It is most of what looking at values costs, so it does little with each.
func scan[T number](data []T, width int) *tally {
	rows := len(data) / width
	t := &tally{columns: make([]columnTally, width)}
	low, high, up, down, equal := make([]T, width), make([]T, width), make([]T, width), make([]T, width), make([]int, width)
	for c := range width {
		low[c], high[c] = T(math.Inf(1)), T(math.Inf(-1))
	}
	begin := 0 // of the run of equal rows that lasts
	for i := range rows {
		row := data[i*width:][:width]
		finite, same := true, true
		if i == 0 {
			for c, x := range row {
				if x-x != 0 {
					finite = false
					t.columns[c].bad++
				} else {
					low[c], high[c] = x, x
				}
			}
		} else {
			before, low, high, up, down, equal := data[(i-1)*width:][:width], low[:width], high[:width], up[:width], down[:width], equal[:width]
			for c, x := range row {
				d := x - before[c]
				if d == 0 { // nothing that the value before was not
					equal[c]++
					continue
				}
				same = false
				if d > up[c] {
					if d-d == 0 {
						up[c] = d
					}
				} else if d < down[c] {
					if d-d == 0 {
						down[c] = d
					}
				}
				if x-x != 0 {
					finite = false
					t.columns[c].bad++
					continue
				}
				if x < low[c] {
					low[c] = x
				} else if x > high[c] {
					high[c] = x
				}
			}
		}
		if !finite {
			if t.badRows++; len(t.bad) < MostTimes {
				t.bad = append(t.bad, i)
			}
		}
		if !same {
			t.end(begin, i, begin > 0)
			begin = i
		}
	}
	t.end(begin, rows, false)
	for c := range t.columns {
		k := &t.columns[c]
		k.min, k.max, k.equal, k.step = float64(low[c]), float64(high[c]), equal[c], float64(max(up[c], -down[c]))
	}
	return t
}

// end takes a run of equal rows that is over.
func (t *tally) end(from, to int, inner bool) {
	if inner {
		t.lengths[min(to-from, len(t.lengths)-1)]++
	}
	if to-from >= leastRun {
		t.runs = append(t.runs, run{from, to})
	}
}
