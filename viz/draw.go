package viz

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var (
	ink          = color.NRGBA{R: 30, G: 30, B: 30, A: 255}
	gapColour    = color.NRGBA{R: 230, G: 159, B: 0, A: 90}
	detailColour = color.NRGBA{R: 86, G: 180, B: 233, A: 50}
	gridColour   = color.NRGBA{R: 225, G: 225, B: 225, A: 255}
	// Blue, vermilion, green and purple by Okabe and Ito, and grey for marks without a feature.
	colours = []color.NRGBA{
		{R: 0, G: 114, B: 178, A: 255}, {R: 213, G: 94, B: 0, A: 255}, {R: 0, G: 158, B: 115, A: 255},
		{R: 180, G: 90, B: 150, A: 255}, {R: 90, G: 90, B: 90, A: 255},
	}
)

// drawing is the content of a panel between two times, as a plot.Plotter.
type drawing struct {
	*panel
	lo, hi float64
	detail bool
	mark   [2]float64 // the time range of the detail
}

// Plot draws shades below, then the grid, the recorded samples and the resampled curves.
func (d *drawing) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	shade := func(from, to float64, col color.Color) {
		if to > d.lo && from < d.hi {
			box(c, col, tx(max(from, d.lo)), c.Min.Y, tx(min(to, d.hi)), c.Max.Y)
		}
	}
	if d.mark[0] < d.mark[1] {
		shade(d.mark[0], d.mark[1], detailColour)
	}
	for _, g := range d.gaps {
		shade(g[0], g[1], gapColour)
	}
	for _, g := range d.ends {
		shade(g[0], g[1], gapColour)
	}
	grid := draw.LineStyle{Color: gridColour, Width: 0.5}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" {
			c.StrokeLine2(grid, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
		}
	}
	at := func(x, y float64) vg.Point { return vg.Point{X: tx(x), Y: ty(y)} }
	bins := max(int((c.Max.X-c.Min.X).Points()*1.2), 1)
	for i, j := range d.show {
		d.samples(c, at, &d.recorded, j, colours[i], bins)
	}
	for i, j := range d.show {
		d.curve(c, at, j, colours[i], bins)
	}
}

// samples draws the recorded samples of feature j as rings. Dense rings are smaller.
func (d *drawing) samples(c draw.Canvas, at func(x, y float64) vg.Point, s *series, j int, col color.NRGBA, bins int) {
	lo, hi := d.within(s.x)
	r := vg.Length(2.2)
	if hi-lo > bins/4 {
		r = 1
	}
	col.A = 150
	for _, i := range thin(s.x, s.y[j], lo, hi, bins) {
		if pt := at(s.x[i], s.y[j][i]); finite(s.y[j][i]) && c.Contains(pt) {
			ring(c, pt, col, r)
		}
	}
}

// curve draws the resampled feature j. It is interrupted at values that are not finite.
func (d *drawing) curve(c draw.Canvas, at func(x, y float64) vg.Point, j int, col color.NRGBA, bins int) {
	s := &d.resampled
	lo, hi := d.within(s.x)
	lo, hi = max(lo-1, 0), min(hi+1, len(s.x))
	line := draw.LineStyle{Color: col, Width: 1.1}
	var run []vg.Point
	flush := func() {
		if len(run) > 1 {
			c.StrokeLines(line, c.ClipLinesXY(run)...)
		}
		run = run[:0]
	}
	dots := d.detail && hi-lo <= bins/3
	for _, i := range thin(s.x, s.y[j], lo, hi, bins) {
		if !finite(s.y[j][i]) || !finite(s.x[i]) {
			flush()
			continue
		}
		pt := at(s.x[i], s.y[j][i])
		if d.held(j) && len(run) > 0 {
			run = append(run, vg.Point{X: pt.X, Y: run[len(run)-1].Y})
		}
		run = append(run, pt)
		if dots && c.Contains(pt) {
			dot(c, pt, col, 1.5)
		}
	}
	flush()
}

// within returns the range of indices from..to-1 with times in [lo, hi].
func (d *drawing) within(x []float64) (int, int) {
	from, to := len(x), 0
	for i, v := range x {
		if v >= d.lo && v <= d.hi {
			from, to = min(from, i), i+1
		}
	}
	return min(from, to), to
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func box(c draw.Canvas, col color.Color, x0, y0, x1, y1 vg.Length) {
	if x1-x0 < 0.6 {
		x1 = x0 + 0.6 // thin, but visible
	}
	c.FillPolygon(col, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

func ring(c draw.Canvas, at vg.Point, col color.Color, r vg.Length) {
	c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: r, Shape: draw.RingGlyph{}}, at)
}

func dot(c draw.Canvas, at vg.Point, col color.Color, r vg.Length) {
	c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: r, Shape: draw.CircleGlyph{}}, at)
}

// ticks marks round numbers, about n of them.
type ticks struct{ n int }

// Ticks returns multiples of 1, 2 or 5 times a power of ten. It returns at least two if the range permits.
func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for n := t.n; n <= 4*t.n && len(out) < 2; n *= 2 {
		step := niceStep((hi - lo) / float64(n))
		out = out[:0]
		for i := math.Ceil(lo / step); i*step <= hi && len(out) < 4*n; i++ {
			out = append(out, plot.Tick{Value: i * step, Label: label(i*step, step)})
		}
	}
	return out
}
