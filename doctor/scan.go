package doctor

import (
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// number is the type of scanned values.
type number interface{ float32 | float64 }

// tally has the counts of one pass over a stream's values.
type tally struct {
	columns []columnTally
	runs    []run   // of at least leastRun equal rows
	lengths [10]int // number of runs by length; the last element is for all longer runs. The first and the last run of a stream do not count
	bad     []int   // rows with a value that is not finite
}

// run is a run of equal rows: from to to-1.
type run struct{ from, to int }

// leastRun is the least number of equal rows that may be a stuck stream.
const leastRun = 10

// columnTally has the counts of a column. If it has values that are not finite, step is +Inf and the sums are invalid.
type columnTally struct {
	min, max           float64 // of the finite values; +Inf and -Inf if the column has none
	step               float64 // the longest step
	equal              int     // steps without a change
	limit              int     // of these, steps at the least or the greatest value so far
	bad                int     // values that are not finite
	shift, sum, square float64 // sums of (value - shift) and of its square; shift is the first value
}

// values are the values [S,D] of a stream, as float32 or float64.
type values struct {
	rows, width int
	f32         []float32
	f64         []float64
}

// valuesOf returns a stream's values, without a copy if they are contiguous float32 or float64.
func valuesOf(s *dataset.Stream) (v values, ok bool) {
	if s.Values == nil || s.Values.Rank() != 2 {
		return v, false
	}
	v.rows, v.width = s.Values.Dim(0), s.Values.Dim(1)
	var err error
	switch s.Values.DType() {
	case tensor.F32:
		v.f32, err = tensor.Packed[float32](s.Values)
	case tensor.F64:
		v.f64, err = tensor.Packed[float64](s.Values)
	default:
		v.f64, err = tensor.Floats(s.Values)
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

// sameRow reports whether a row is equal to the row before it.
func (v *values) sameRow(i int) bool {
	if v.f32 != nil {
		return slices.Equal(v.f32[(i-1)*v.width:i*v.width], v.f32[i*v.width:(i+1)*v.width])
	}
	return slices.Equal(v.f64[(i-1)*v.width:i*v.width], v.f64[i*v.width:(i+1)*v.width])
}

// equalRows reports whether two rows are equal, where NaN equals NaN.
func (v *values) equalRows(a, b int) bool {
	for c := range v.width {
		if p, q := v.at(a, c), v.at(b, c); p != q && (p == p || q == q) {
			return false
		}
	}
	return true
}

// moving returns the mostLines columns that change most often.
func (v *values) moving(t *tally) []int {
	list := make([]int, v.width)
	for c := range list {
		list[c] = c
	}
	slices.SortStableFunc(list, func(a, b int) int { return t.columns[a].equal - t.columns[b].equal })
	return list[:min(len(list), mostLines)]
}

// scan fills a tally. Its buffers may come from another stream.
func (v *values) scan(t *tally) {
	*t = tally{columns: slices.Grow(t.columns[:0], v.width)[:v.width], runs: t.runs[:0]}
	if v.f32 != nil {
		scan(t, v.f32, v.width)
	} else {
		scan(t, v.f64, v.width)
	}
	var bad []int
	for c := range t.columns {
		if k := &t.columns[c]; k.sum-k.sum != 0 || math.IsInf(k.step, 1) {
			if k.step = math.Inf(1); v.finite(k, c) > 0 {
				bad = append(bad, c)
			}
		}
	}
	if len(bad) > 0 {
		t.bad = v.badRows(bad)
	}
	v.findRuns(t)
}

// block is the number of values that are scanned column by column, which fit in the L1 cache.
const block = 4096

func scan[T number](t *tally, data []T, width int) {
	for c := range t.columns {
		first := float64(data[c])
		t.columns[c] = columnTally{min: first, max: first, shift: first, equal: -1, limit: -1} // the first value is counted as equal to itself
	}
	last := data[:width]
	for len(data) > 0 {
		part := data[:min(len(data), max(8, block/width)*width)]
		data = data[len(part):]
		for c := range t.columns {
			look(&t.columns[c], part[c:], width, float64(last[c]))
		}
		last = part[len(part)-width:]
	}
}

// look counts the values of a column, which are apart elements apart in list; before is the value before the first. If a value is not
// finite, its step is not finite either.
func look[T number](k *columnTally, list []T, apart int, before float64) {
	const sign = 1 << 63
	low, high, shift, equal, limit := k.min, k.max, k.shift, k.equal, k.limit
	longest := math.Float64bits(k.step) // non-negative floats are ordered like their bits
	var sum, square float64
	for i := 0; i < len(list); i += apart {
		x := float64(list[i])
		step := math.Float64bits(x-before) &^ sign
		before = x
		if step == 0 {
			if equal++; x == low || x == high {
				limit++
			}
		}
		longest = max(longest, step)
		if x < low {
			low = x
		}
		if x > high {
			high = x
		}
		x -= shift
		sum, square = sum+x, square+x*x
	}
	k.min, k.max, k.equal, k.limit, k.sum, k.square = low, high, equal, limit, k.sum+sum, k.square+square
	k.step = math.Float64frombits(min(longest, math.Float64bits(math.Inf(1))))
}

// finite counts a column again that may have values that are not finite, and returns their number.
func (v *values) finite(k *columnTally, c int) int {
	k.min, k.max, k.equal, k.limit, k.bad = math.Inf(1), math.Inf(-1), 0, 0, 0
	before := math.NaN()
	for i := range v.rows {
		x := v.at(i, c)
		if x == before {
			if k.equal++; x == k.min || x == k.max {
				k.limit++
			}
		}
		if before = x; x-x != 0 {
			k.bad++
			continue
		}
		k.min, k.max = min(k.min, x), max(k.max, x)
	}
	return k.bad
}

// findRuns counts runs of equal rows. It compares whole rows only where the column that changes most often is equal.
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

// end counts a run of equal rows; inner is false for the first and the last run.
func (t *tally) end(from, to int, inner bool) {
	if inner {
		t.lengths[min(to-from, len(t.lengths)-1)]++
	}
	if to-from >= leastRun {
		t.runs = append(t.runs, run{from, to})
	}
}

// badRows returns the rows with a value that is not finite in some columns.
func (v *values) badRows(columns []int) (rows []int) {
	for i := range v.rows {
		if slices.ContainsFunc(columns, func(c int) bool { d := v.at(i, c); return d-d != 0 }) {
			rows = append(rows, i)
		}
	}
	return rows
}

// columnsOf returns the indices of columns by name.
func columnsOf(s *dataset.Stream, names []string) (list []int) {
	for _, n := range names {
		list = append(list, s.Column(n))
	}
	return list
}
