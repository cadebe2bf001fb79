package taps

import "math"

// Bits is the number of fractional bits in a whole weight.
const Bits = 22

// Axis has the taps for one axis: result pixel i sums the source pixels First[i] to First[i]+Count[i]-1, multiplied by
// Exact[i*Most:][:Count[i]]. The weights for one pixel sum to 1.
type Axis struct {
	First, Count []uint32
	Exact        []float64
	Most         int // the largest Count, or more
}

// Whole returns the weights with Bits fractional bits, rounded half up.
func (a *Axis) Whole() []int32 {
	out := make([]int32, len(a.Exact))
	for i, w := range a.Exact {
		out[i] = int32(0.5 + float64(w*(1<<Bits))) // the conversion keeps a compiler from joining it with the sum
	}
	return out
}

// Triangle returns the taps for a triangle filter that resizes an axis from size pixels to n pixels. The triangle is two source
// pixels wide. If antialias is set and the axis shrinks, it is two result pixels wide, so that every source pixel counts.
func Triangle(size, n int, antialias bool) *Axis {
	scale, reach := float64(size)/float64(n), 1.0
	if antialias {
		reach = max(scale, 1)
	}
	a := newAxis(n, int(math.Ceil(reach))*2+1)
	for i := range n {
		center := float64((float64(i) + 0.5) * scale)
		first, end := max(int(center-reach+0.5), 0), min(int(center+reach+0.5), size)
		exact, sum := a.Exact[i*a.Most:][:end-first], 0.0
		for k := range exact {
			exact[k] = max(1-math.Abs(float64((float64(first+k)-center+0.5)*(1/reach))), 0)
			sum += exact[k]
		}
		for k := range exact {
			exact[k] /= sum
		}
		a.First[i], a.Count[i] = uint32(first), uint32(end-first)
	}
	return a
}

// Nearest returns one tap for each result pixel: the source pixel at its centre.
func Nearest(size, n int) *Axis {
	a := newAxis(n, 1)
	for i := range n {
		a.First[i], a.Count[i], a.Exact[i] = uint32((2*i+1)*size/(2*n)), 1, 1
	}
	return a
}

func newAxis(n, most int) *Axis {
	return &Axis{First: make([]uint32, n), Count: make([]uint32, n), Exact: make([]float64, n*most), Most: most}
}
