package doctor

// mostLines is how many columns a picture has.
const mostLines = 4

// mostPlotted is the largest number of parts that a line is divided into. Each part is drawn as two points, the smallest and the
// largest value.
const mostPlotted = 300

// Plot is a picture for a finding: lines over an axis, and marks on it. It holds numbers only, so it does not keep the episode in
// memory.
type Plot struct {
	X, Y  string // axis labels with units: "s" and "step, ms"
	Lines []Line
	Marks []float64 // positions on the X axis where the fault is
}

// Line is a line in a [Plot]. X and Y have one value per point; if Y is NaN, the line has a gap.
type Line struct {
	Name string
	X, Y []float64
}

// drawing makes a Plot from the samples of the episode, which it keeps in memory.
type drawing func() *Plot

// correlationPlot draws the correlation of two streams over the lag between them.
func correlationPlot(curve []float64, step int64, lags int) *Plot {
	p := &Plot{X: "lag, ms", Y: "correlation"}
	l := Line{Name: "correlation"}
	for i, r := range curve {
		l.X, l.Y = append(l.X, float64(int64(i-lags)*step)/1e6), append(l.Y, r)
	}
	p.Lines = []Line{l}
	return p
}

// thin returns a line for n points: all of them, or if there are too many, the least and the greatest of each of mostPlotted parts.
func thin(name string, n int, x, y func(int) float64) Line {
	room := make([]float64, 2*max(min(n, 2*mostPlotted), 0))
	l := Line{Name: name, X: room[: 0 : len(room)/2], Y: room[len(room)/2:][:0]}
	add := func(i int) { l.X, l.Y = append(l.X, x(i)), append(l.Y, y(i)) }
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
