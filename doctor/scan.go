package doctor

import (
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// number is what values are scanned as.
type number interface{ float32 | float64 }

// tally is what a pass over a stream's values counts.
type tally struct {
	columns []columnTally
	runs    []run   // of equal rows, those of at least leastRun
	lengths [10]int // how many runs of equal rows are so long; the last is of all that are longer. The first and the last run are not counted
	bad     []int   // rows with a value that is not finite, the first MostTimes of them
	badRows int
}

// run is rows from to to-1 that are equal.
type run struct{ from, to int }

// leastRun is how many equal rows there must be for a stream to be thought stuck.
const leastRun = 10

type columnTally struct {
	min, max float64 // of the finite values; +Inf and -Inf if there is none
	equal    int     // steps without a change
	limit    int     // of these, steps at what was the least or the greatest value until then
	bad      int     // values that are not finite
	// The sums of the values less shift, the first of them, and of their squares, if they were asked for; NaN of a column that has values that are not finite.
	shift, sum, square float64
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

// scan makes the pass. The sums are made if they are asked for.
func (v *values) scan(sums bool) *tally {
	t := &tally{columns: make([]columnTally, v.width)}
	if v.f32 != nil {
		scan(t, v.f32, v.width, sums)
	} else {
		scan(t, v.f64, v.width, sums)
	}
	var bad []int
	for c := range t.columns {
		if k := &t.columns[c]; k.bad > 0 { // an infinite value after another was not counted
			k.bad = 0
			for i := range v.rows {
				if x := v.at(i, c); x-x != 0 {
					k.bad++
				}
			}
			bad = append(bad, c)
		}
	}
	if len(bad) > 0 {
		t.bad, t.badRows = v.badRows(bad)
	}
	v.findRuns(t)
	return t
}

// block is how many values are looked at by column at a time: as many as lie in a processor's nearest cache.
const block = 4096

func scan[T number](t *tally, data []T, width int, sums bool) {
	before, limits := make([]T, width), make([][2]T, width)
	for c := range width {
		if x := float64(data[c]); x-x == 0 {
			t.columns[c].shift = x // so that the sums lose nothing
		}
		before[c], limits[c] = T(math.NaN()), [2]T{T(math.Inf(1)), T(math.Inf(-1))} // nothing is as the value before the first
	}
	for len(data) > 0 {
		part := data[:min(len(data), max(8, block/width)*width)]
		data = data[len(part):]
		for c := range t.columns {
			k := &t.columns[c]
			before[c], limits[c][0], limits[c][1] = look(k, part[c:], width, before[c], limits[c][0], limits[c][1])
			if sums {
				total(k, part[c:], width)
			}
		}
	}
	for c := range t.columns {
		t.columns[c].min, t.columns[c].max = float64(limits[c][0]), float64(limits[c][1])
	}
}

// look takes values of a column, which lie so far apart, after another, and returns the last, and the least and greatest until then. It is most of what
// examining costs, so it does little with each.
func look[T number](k *columnTally, list []T, apart int, before, low, high T) (last, least, most T) {
	equal, limit := 0, 0
	for i := 0; i < len(list); i += apart {
		x := list[i]
		switch {
		case x == before:
			equal++
			if x == low || x == high {
				limit++
			}
			continue
		case x >= low && x <= high:
		case x-x != 0:
			k.bad++
		default:
			if x < low {
				low = x
			}
			if x > high {
				high = x
			}
		}
		before = x
	}
	k.equal, k.limit = k.equal+equal, k.limit+limit
	return before, low, high
}

// total adds values of a column to its sums, two at a time.
func total[T number](k *columnTally, list []T, apart int) {
	shift := k.shift
	var s0, s1, q0, q1 float64
	i := 0
	for ; i+apart < len(list); i += 2 * apart {
		a, b := float64(list[i])-shift, float64(list[i+apart])-shift
		s0, q0 = s0+a, q0+a*a
		s1, q1 = s1+b, q1+b*b
	}
	if i < len(list) {
		a := float64(list[i]) - shift
		s0, q0 = s0+a, q0+a*a
	}
	k.sum, k.square = k.sum+s0+s1, k.square+q0+q1
}

// findRuns finds rows that are equal to the one before, among those where the column that changes most does not.
func (v *values) findRuns(t *tally) {
	liveliest := 0
	for c := range t.columns {
		if t.columns[c].equal < t.columns[liveliest].equal {
			liveliest = c
		}
	}
	if t.columns[liveliest].equal == 0 {
		t.lengths[1] = max(v.rows-2, 0)
		return
	}
	begin := 0
	for i := 1; i < v.rows; i++ {
		if v.at(i, liveliest) == v.at(i-1, liveliest) && v.sameRow(i) {
			continue
		}
		t.end(begin, i, begin > 0)
		begin = i
	}
	t.end(begin, v.rows, false)
}

// sameRow reports whether a row is that before it.
func (v *values) sameRow(i int) bool {
	if v.f32 != nil {
		return slices.Equal(v.f32[(i-1)*v.width:i*v.width], v.f32[i*v.width:(i+1)*v.width])
	}
	return slices.Equal(v.f64[(i-1)*v.width:i*v.width], v.f64[i*v.width:(i+1)*v.width])
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

// badRows returns the rows with a value that is not finite in some columns, the first MostTimes of them, and how many there are.
func (v *values) badRows(columns []int) (rows []int, n int) {
	for i := range v.rows {
		if slices.ContainsFunc(columns, func(c int) bool { d := v.at(i, c); return d-d != 0 }) {
			if n++; len(rows) < MostTimes {
				rows = append(rows, i)
			}
		}
	}
	return rows, n
}
