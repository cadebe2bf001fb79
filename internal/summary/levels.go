package summary

import "math"

// Levels counts each of the 256 byte values, for one channel of image pixels.
type Levels [256]uint64

// Merge adds the counts from o.
func (l *Levels) Merge(o *Levels) {
	for i, n := range o {
		l[i] += n
	}
}

// Column returns the statistics for values scaled to 0..1 (v/255), exact in float64. LeRobot adds an episode's pixels in float32, which
// differs from the third digit on for millions of pixels. Like LeRobot's, minimum and maximum are rounded to float32, and quantiles use
// its bins. There must be at least one value.
func (l *Levels) Column() Column {
	lo, hi := -1, 0
	var n, sum float64 // integers, exact below 2^53, which is 10^13 pixels
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
