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
	shift    float64 // the first finite value, from which the sums are taken so that they lose nothing
	sum      float64
	square   float64
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
	t := &tally{columns: make([]columnTally, v.width)}
	last := make([]float64, v.width)
	for c := range t.columns {
		t.columns[c].min, t.columns[c].max = math.Inf(1), math.Inf(-1)
		for i := 0; i < v.rows; i++ {
			if x := v.at(i, c); x-x == 0 {
				t.columns[c].shift = x
				break
			}
		}
		last[c] = math.NaN() // the first value is not as one before it
	}
	for lo := 0; lo < v.rows; {
		hi := min(v.rows, lo+max(8, block/v.width)) // so many lie in a processor's nearest cache
		for c := range t.columns {
			if v.f32 != nil {
				last[c] = look(&t.columns[c], v.f32[lo*v.width+c:hi*v.width], v.width, last[c])
			} else {
				last[c] = look(&t.columns[c], v.f64[lo*v.width+c:hi*v.width], v.width, last[c])
			}
		}
		lo = hi
	}
	v.findBad(t)
	v.findRuns(t)
	return t
}

// block is how many values are looked at by column at a time.
const block = 4096

// look takes values of a column, which lie so far apart, and returns the last. It is most of what examining costs, so it does little with each.
func look[T number](k *columnTally, list []T, apart int, before float64) float64 {
	low, high, equal, limit := k.min, k.max, 0, 0
	shift, sum, square := k.shift, k.sum, k.square
	for i := 0; i < len(list); i += apart {
		x := float64(list[i])
		if x == before {
			equal++
			if x == low || x == high {
				limit++
			}
		} else {
			if x < low {
				low = x
			}
			if x > high {
				high = x
			}
			before = x
		}
		d := x - shift
		sum += d
		square += d * d
	}
	k.min, k.max, k.equal, k.limit, k.sum, k.square = low, high, k.equal+equal, k.limit+limit, sum, square
	return before
}

// findBad finds values that are not finite, which the sums tell of, and takes them out of what was counted.
func (v *values) findBad(t *tally) {
	var columns []int
	for c := range t.columns {
		if s := t.columns[c].sum; s-s != 0 || math.IsInf(t.columns[c].square, 0) {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return
	}
	for _, c := range columns {
		k := &t.columns[c]
		k.min, k.max, k.sum, k.square = math.Inf(1), math.Inf(-1), 0, 0
		for i := range v.rows {
			x := v.at(i, c)
			if x-x != 0 {
				k.bad++
				continue
			}
			k.min, k.max = min(k.min, x), max(k.max, x)
			k.sum += x - k.shift
			k.square += (x - k.shift) * (x - k.shift)
		}
	}
	t.bad, t.badRows = v.badRows(columns)
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
