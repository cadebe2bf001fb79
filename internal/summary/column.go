package summary

import "math"

// Quantiles are computed for every column. QuantileNames are LeRobot's names for them.
var (
	Quantiles     = [...]float64{0.01, 0.10, 0.50, 0.90, 0.99}
	QuantileNames = [...]string{"q01", "q10", "q50", "q90", "q99"}
)

// Column holds the statistics for one column.
type Column struct {
	Min, Max, Mean float64
	Std            float64 // population standard deviation: square root of the mean square minus the squared mean
	Quantiles      [len(Quantiles)]float64
}

// Float lists the types in which statistics are computed.
type Float interface{ ~float32 | ~float64 }

// Block returns the statistics for each column in rows [n,width], n at least 1. Values must be finite. Sums are computed in T in the
// order of numpy's mean along the first axis: row after row, or pairwise for a single column. So long float32 columns have the same
// rounding errors as LeRobot's statistics. A single row is its own mean and quantiles, with deviation 0.
func Block[T Float](rows []T, width int) []Column {
	n := len(rows) / width
	out := make([]Column, width)
	h := &histogram[T]{}
	columns := make([]T, min(together, width)*n)
	var squares []T
	if width == 1 {
		squares = make([]T, n)
	}
	for first := 0; first < width; first += together {
		some := min(together, width-first)
		var of [together]moments[T]
		for c := range some {
			of[c].lo, of[c].hi = rows[first+c], rows[first+c]
		}
		for i, at := 0, first; i < n; i, at = i+1, at+width {
			for c, v := range rows[at : at+some] {
				columns[c*n+i] = v
				of[c&(together-1)].add(v)
			}
		}
		for c := range some {
			column := columns[c*n : c*n+n]
			if width == 1 {
				for i, v := range column {
					squares[i] = v * v
				}
				of[c].sum, of[c].squares = pairwise(column), pairwise(squares)
			}
			out[first+c] = ofBlock(column, &of[c], h)
		}
	}
	return out
}

// together is how many neighbouring columns are processed together: a power of 2.
const together = 8

// moments holds a column's extremes, and the sums of its values and of their squares, added in order.
type moments[T Float] struct{ lo, hi, sum, squares T }

func (m *moments[T]) add(v T) {
	if v < m.lo {
		m.lo = v
	}
	if v > m.hi {
		m.hi = v
	}
	m.sum += v
	m.squares += T(v * v) // the conversion prevents a fused multiply-add
}

// ofBlock returns the statistics for values, and fills h with their counts.
func ofBlock[T Float](values []T, of *moments[T], h *histogram[T]) Column {
	lo, hi := of.lo, of.hi
	if lo == 0 || hi == 0 { // either zero may be present, and -0 is less
		lo, hi = extremes(values)
	}
	c := Column{Min: float64(lo), Max: float64(hi)}
	if len(values) == 1 {
		c.Mean = c.Min
		for i := range c.Quantiles {
			c.Quantiles[i] = c.Mean
		}
		return c
	}
	n := float64(len(values))
	mean := T(float64(of.sum) / n)
	meanSquare := T(float64(of.squares) / n)
	variance := meanSquare - T(mean*mean)
	c.Mean = float64(mean)
	c.Std = float64(T(math.Sqrt(float64(max(0, variance)))))
	h.reset(lo, hi)
	h.fill(values)
	c.Quantiles = h.quantiles()
	return c
}

func extremes[T Float](values []T) (lo, hi T) {
	lo, hi = values[0], values[0]
	for _, v := range values[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// pairwise adds in T, in the order in which numpy adds contiguous values.
func pairwise[T Float](values []T) T {
	var s T
	const buffer = 8192 // numpy's buffer size
	for i := 0; i < len(values); i += buffer {
		s += pairwiseSum(values[i:min(i+buffer, len(values))])
	}
	return s
}

// pairwiseSum adds in numpy's order for contiguous values: eight running sums in blocks up to 128, and larger blocks by halves.
func pairwiseSum[T Float](a []T) T {
	n := len(a)
	switch {
	case n < 8:
		var s T
		for _, v := range a {
			s += v
		}
		return s
	case n <= 128:
		var r [8]T
		copy(r[:], a)
		i := 8
		for ; i+8 <= n; i += 8 {
			for k := range r {
				r[k] += a[i+k]
			}
		}
		s := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			s += a[i]
		}
		return s
	}
	half := n / 2
	half -= half % 8
	return pairwiseSum(a[:half]) + pairwiseSum(a[half:])
}
