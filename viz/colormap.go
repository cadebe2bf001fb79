package viz

import (
	"image/color"
	"math"
)

// viridis at sixteenths of its length: dark to light in equal steps for the eye, with and without colour vision (Smith and
// van der Walt, 2015).
var viridis = [...][3]uint8{
	{68, 1, 84}, {72, 24, 106}, {71, 45, 123}, {66, 64, 134}, {59, 82, 139}, {51, 99, 141}, {44, 114, 142}, {38, 130, 142},
	{33, 145, 140}, {31, 160, 136}, {40, 174, 128}, {63, 188, 115}, {94, 201, 98}, {132, 212, 75}, {173, 220, 48}, {216, 226, 25}, {253, 231, 37},
}

// shade is a colour with channels from 0 to 255, before rounding.
type shade [3]float64

// mapped returns the colour at a position on the map, 0 to 1.
func mapped(at float64) shade {
	at = min(max(at, 0), 1) * float64(len(viridis)-1)
	i := min(int(at), len(viridis)-2)
	f := at - float64(i)
	var c shade
	for k := range c {
		a, b := float64(viridis[i][k]), float64(viridis[i+1][k])
		c[k] = a + float64(f*(b-a))
	}
	return c
}

func (c shade) times(f float64) shade {
	return shade{float64(c[0] * f), float64(c[1] * f), float64(c[2] * f)}
}

func (c shade) rgba() color.RGBA {
	q := func(v float64) uint8 { return uint8(min(max(math.Floor(v+0.5), 0), 255)) }
	return color.RGBA{R: q(c[0]), G: q(c[1]), B: q(c[2]), A: 255}
}

// scale maps values to positions on the colour map.
type scale struct {
	lo, hi      float64
	log         bool
	below, over bool // values beyond the ends have the ends' colours
}

// scaleOf fits the colour map to values. It leaves out the outermost hundredth at an end if that stretches the rest by more than
// a fifth. Positive counts that span more than a factor 30 are scaled by their logarithms.
func scaleOf(sorted []float64, counts bool) scale {
	n := len(sorted)
	if n == 0 {
		return scale{lo: 0, hi: 1}
	}
	s := scale{lo: sorted[0], hi: sorted[n-1]}
	s.log = counts && s.lo > 0 && s.hi > 30*s.lo
	if s.log {
		return s
	}
	lo, hi := sorted[n/100], sorted[n-1-n/100]
	if whole, core := s.hi-s.lo, hi-lo; core > 0 && whole > 1.2*core {
		s.below, s.over = lo > s.lo, hi < s.hi
		s.lo, s.hi = lo, hi
	}
	if s.hi-s.lo <= 1e-9*max(math.Abs(s.lo), math.Abs(s.hi)) {
		pad := max(0.5, 0.01*math.Abs(s.hi))
		s.lo, s.hi = s.lo-pad, s.hi+pad
	}
	return s
}

// at returns the position of a value on the map.
func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v - s.lo) / (s.hi - s.lo)
}

// tick is a mark on an axis: its value and its label.
type tick struct {
	value float64
	label string
}

// ticks marks round values.
func (s scale) ticks(n int) []tick {
	if !s.log {
		return round(s.lo, s.hi, n)
	}
	var out []tick
	for p := math.Pow(10, math.Floor(math.Log10(s.lo))); p <= s.hi; p *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * p; v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				out = append(out, tick{v, label(v, v)})
			}
		}
	}
	for len(out) > n+2 {
		thinned := out[:0:0]
		for i := 0; i < len(out); i += 2 {
			thinned = append(thinned, out[i])
		}
		out = thinned
	}
	return out
}

// round marks round numbers between lo and hi, about n of them.
func round(lo, hi float64, n int) []tick {
	var out []tick
	for _, t := range (ticks{n}).Ticks(lo, hi) {
		out = append(out, tick{t.Value, t.Label})
	}
	return out
}
