package doctor

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
)

// The rules for saturation.
const (
	plateau       = 3 // least number of equal values at a limit that are cut off rather than a peak
	leastPlateaus = 2
	leastCut      = 6 // least number of samples in all plateaus
)

// saturated adds findings about values that are cut off at a limit. The column has several plateaus at exactly its least or greatest value,
// rarely repeats other values, and is steep where it meets the plateaus. Columns in not are skipped.
func (x *examiner) saturated(s *dataset.Stream, v *values, t *tally, not map[int]bool) {
	if x.work.role(s.Name).command || v.width == 1 && x.work.role(s.Name).bounded {
		return
	}
	var columns []string
	var where []int
	var at []dataset.Span
	total, limits := 0, ""
	for c := range s.Columns {
		k := &t.columns[c]
		if s.Columns[c].Integer || not[c] || k.limit < leastCut-leastPlateaus || 8*(k.equal-k.limit) > 3*k.limit || k.bad > 0 || k.max <= k.min ||
			4*k.equal > 3*v.rows || x.work.role(s.Columns[c].Name).bounded {
			continue
		}
		for _, limit := range []float64{k.min, k.max} {
			if limit == 0 {
				continue
			}
			n, runs := v.cut(c, limit, k)
			if n == 0 {
				continue
			}
			total += n
			if limits == "" {
				limits = fmt.Sprintf("%s at %.6g", s.Columns[c].Name, limit)
			}
			if len(where) == 0 || where[len(where)-1] != c {
				columns, where = append(columns, s.Columns[c].Name), append(where, c)
			}
			for _, r := range runs {
				if times := x.times[s.Name]; r.to <= len(times) {
					at = append(at, dataset.Span{From: times[r.from], To: times[r.to-1]})
				}
			}
		}
	}
	if total == 0 {
		return
	}
	why := fmt.Sprintf("%d of %d values lie at exactly the least or greatest value, in plateaus that are met steeply: %s", total, v.rows*len(columns), limits)
	if len(columns) > 1 {
		why += fmt.Sprintf(", and %d more", len(columns)-1)
	}
	f := x.add(Saturation, s.Name, total, why)
	f.cover(at...)
	f.Columns, f.draw = columns, x.series(s, v, where, f.At)
}

// cut returns the number of values of a column that are cut off at a limit, and the rows of each plateau; 0 if none are.
func (v *values) cut(c int, limit float64, k *columnTally) (n int, runs []run) {
	plateaus, elsewhere, steep := 0, 0, 0
	sum, moves := 0.0, 0
	for i := 0; i < v.rows; {
		value := v.at(i, c)
		j := i + 1
		for j < v.rows && v.at(j, c) == value {
			j++
		}
		if i > 0 {
			d := value - v.at(i-1, c)
			sum, moves = sum+max(d, -d), moves+1
		}
		switch {
		case value != limit:
			if value != k.min && value != k.max {
				elsewhere += j - i - 1
			}
		case j-i >= plateau:
			plateaus++
			n += j - i
			runs = append(runs, run{i, j})
		}
		i = j
	}
	if plateaus < leastPlateaus || n < leastCut || elsewhere*4 > n {
		return 0, nil
	}
	mean := sum / float64(max(moves, 1))
	for _, r := range runs {
		for k := r.from - 1; k >= max(r.from-2, 0); k-- { // the last step may be shortened by the limit
			if math.Abs(v.at(k, c)-v.at(k+1, c)) >= mean/4 {
				steep++
				break
			}
		}
	}
	if 3*steep < 2*plateaus || mean > (k.max-k.min)/2 { // a signal of two levels is a switch
		return 0, nil
	}
	return n, runs
}
