package doctor

import (
	"github.com/robocache/robocache/dataset"
)

// mostLines is how many columns a picture has.
const mostLines = 4

// mostPlotted is how many points a line of a picture has: two for each of so many stretches, the least and the greatest value.
const mostPlotted = 300

// plot is what the page draws of a finding.
type plot struct {
	x, y  string // what the axes are
	lines []line
	marks []float64 // along x
}

type line struct {
	name string
	x, y []float64 // NaN is a gap
}

// drawing makes a picture, if it is wanted.
type drawing func() *plot

// series draws columns of a stream, and marks times.
func (x *examiner) series(s *dataset.Stream, v *values, columns []int, marks []int64) drawing {
	times := x.times[s.Name]
	steps := x.e.Steps || len(times) < v.rows
	return func() *plot {
		p := &plot{x: "s", y: s.Name}
		zero := x.zero(s.Name)
		at := func(i int) float64 { return float64(times[i]-zero) / 1e9 }
		if steps {
			p.x, at = "sample", func(i int) float64 { return float64(i) }
		}
		for _, c := range columns[:min(len(columns), mostLines)] {
			p.lines = append(p.lines, thin(s.Columns[c].Name, v.rows, at, func(i int) float64 { return v.at(i, c) }))
		}
		for _, t := range marks {
			if len(times) > 0 {
				p.marks = append(p.marks, float64(t-zero)/1e9)
			}
		}
		return p
	}
}

// steps draws the steps of a clock.
func (x *examiner) steps(c *clock, marks []int64) drawing {
	return func() *plot {
		p := &plot{x: "s", y: "step, ms"}
		zero := x.zero(c.stream)
		p.lines = []line{thin(c.stream, c.hi-c.lo-1, func(i int) float64 { return float64(c.times[c.lo+i]-zero) / 1e9 },
			func(i int) float64 { return float64(c.times[c.lo+i+1]-c.times[c.lo+i]) / 1e6 })}
		for _, t := range marks {
			p.marks = append(p.marks, float64(t-zero)/1e9)
		}
		return p
	}
}

func correlationPlot(curve []float64, step int64, lags int) *plot {
	p := &plot{x: "lag, ms", y: "correlation"}
	l := line{name: "correlation"}
	for i, r := range curve {
		l.x, l.y = append(l.x, float64(int64(i-lags)*step)/1e6), append(l.y, r)
	}
	p.lines = []line{l}
	return p
}

// thin makes a line of n points: all of them, or of each of mostPlotted stretches the least and the greatest.
func thin(name string, n int, x, y func(int) float64) line {
	room := make([]float64, 2*max(min(n, 2*mostPlotted), 0))
	l := line{name: name, x: room[: 0 : len(room)/2], y: room[len(room)/2:][:0]}
	add := func(i int) { l.x, l.y = append(l.x, x(i)), append(l.y, y(i)) }
	if n <= 2*mostPlotted {
		for i := range n {
			add(i)
		}
		return l
	}
	for k := range mostPlotted {
		lo, hi := k*n/mostPlotted, (k+1)*n/mostPlotted
		least, most := lo, lo
		low, high := y(lo), y(lo)
		for i := lo + 1; i < hi; i++ {
			v := y(i)
			if v < low || low != low {
				least, low = i, v
			}
			if v > high || high != high {
				most, high = i, v
			}
		}
		add(min(least, most))
		if least != most {
			add(max(least, most))
		}
	}
	return l
}
