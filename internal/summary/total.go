package summary

import "math"

// Total is the statistics of rows that come in blocks, each block twice: once to Add, all of them, and then to Bin, in any order. It keeps 40 kB a
// column and no rows.
type Total struct {
	count      int
	sum        []float64 // of the values, with what rounding took of it in lost
	lost       []float64
	mean, m2   []float64 // of the blocks so far: the mean, and the sum of squared deviations from it
	lo, hi     []float64
	histograms []*histogram[float64]
	binned     int
}

// NewTotal returns the statistics of no rows of width columns.
func NewTotal(width int) *Total {
	t := &Total{lo: make([]float64, width), hi: make([]float64, width)}
	for _, list := range []*[]float64{&t.sum, &t.lost, &t.mean, &t.m2} {
		*list = make([]float64, width)
	}
	for c := range width {
		t.lo[c], t.hi[c] = math.Inf(1), math.Inf(-1)
	}
	return t
}

// Rows returns how many rows were added.
func (t *Total) Rows() int { return t.count }

// Add takes rows [n,width] of finite values.
func Add[T Float](t *Total, rows []T) {
	width := len(t.lo)
	n := len(rows) / width
	if n == 0 {
		return
	}
	for c := range width {
		var total, lost float64
		for i := c; i < len(rows); i += width {
			v := float64(rows[i])
			t.lo[c], t.hi[c] = min(t.lo[c], v), max(t.hi[c], v)
			total, lost = addTo(total, lost, v)
		}
		mean := (total + lost) / float64(n)
		var m2 float64
		for i := c; i < len(rows); i += width {
			d := float64(rows[i]) - mean
			m2 += float64(d * d)
		}
		// Chan, Golub, LeVeque (1979): the squared deviations of two sets together.
		d := mean - t.mean[c]
		share := float64(n) / float64(t.count+n)
		t.m2[c] += m2 + float64(float64(d*d)*float64(t.count)*share)
		t.sum[c], t.lost[c] = addTo(t.sum[c], t.lost[c], total)
		t.sum[c], t.lost[c] = addTo(t.sum[c], t.lost[c], lost)
		t.mean[c] = (t.sum[c] + t.lost[c]) / float64(t.count+n)
	}
	t.count += n
}

// addTo adds v to a sum and keeps what rounding takes of it (Neumaier 1974).
func addTo(sum, lost, v float64) (float64, float64) {
	s := sum + v
	if math.Abs(sum) >= math.Abs(v) {
		return s, lost + ((sum - s) + v)
	}
	return s, lost + ((v - s) + sum)
}

// Bin takes rows [n,width] that were added, for the quantiles. After the first Bin nothing is to be added.
func Bin[T Float](t *Total, rows []T) {
	width := len(t.lo)
	if t.histograms == nil {
		t.histograms = make([]*histogram[float64], width)
		for c := range t.histograms {
			t.histograms[c] = newHistogram(t.lo[c], t.hi[c])
		}
	}
	for c, h := range t.histograms {
		for i := c; i < len(rows); i += width {
			h.add(float64(rows[i]), 1)
		}
	}
	t.binned += len(rows) / width
}

// Columns returns the statistics, and false unless every row that was added was binned. One row is its own quantiles.
func (t *Total) Columns() ([]Column, bool) {
	if t.count == 0 || t.binned != t.count {
		return nil, false
	}
	out := make([]Column, len(t.lo))
	for c := range out {
		out[c] = Column{Min: t.lo[c], Max: t.hi[c], Mean: t.mean[c], Std: math.Sqrt(t.m2[c] / float64(t.count))}
		if t.lo[c] == t.hi[c] {
			out[c].Mean, out[c].Std = t.lo[c], 0
			for q := range out[c].Quantiles {
				out[c].Quantiles[q] = t.lo[c]
			}
			continue
		}
		out[c].Quantiles = t.histograms[c].quantiles()
	}
	return out, true
}

// Levels is how often each of the 256 values of a byte occurs: the pixels of one channel of images.
type Levels [256]uint64

// Merge adds the counts of others.
func (l *Levels) Merge(o *Levels) {
	for i, n := range o {
		l[i] += n
	}
}

// Column returns the statistics of values scaled to 0..1, v/255, exact in float64: LeRobot adds the pixels of an episode in float32, which differs
// from the third digit on where there are millions. Minimum and maximum are rounded to float32 as LeRobot's are, and quantiles are by its bins. There
// must be a value.
func (l *Levels) Column() Column {
	lo, hi := -1, 0
	var n, sum float64 // whole numbers, exact below 2^53: 10^13 pixels
	for v, k := range l {
		if k == 0 {
			continue
		}
		if lo < 0 {
			lo = v
		}
		hi = v
		n += float64(k)
		sum += float64(float64(k) * float64(v))
	}
	mean, squares := sum/n, 0.0
	for v, k := range l {
		d := float64(v) - mean
		squares += float64(float64(k) * d * d)
	}
	c := Column{
		Min: float64(float32(lo) / 255), Max: float64(float32(hi) / 255), Mean: mean / 255, Std: math.Sqrt(squares/n) / 255,
	}
	if n == 1 {
		for i := range c.Quantiles {
			c.Quantiles[i] = c.Mean
		}
		return c
	}
	h := newHistogram(float32(lo), float32(hi))
	for v, k := range l {
		if k > 0 {
			h.add(float32(v), k)
		}
	}
	c.Quantiles = h.quantiles()
	for i := range c.Quantiles {
		c.Quantiles[i] /= 255
	}
	return c
}
