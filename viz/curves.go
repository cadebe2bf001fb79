package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/robocache/robocache/dataset"
)

// strokes are the line styles in [WriteCurvesPNG]. The first, for the reference, is broad and dark.
var strokes = []draw.LineStyle{
	{Color: ink, Width: 1.8},
	{Color: colours[1], Width: 1.3},
	{Color: color.NRGBA{R: 130, G: 130, B: 130, A: 255}, Width: 0.8, Dashes: []vg.Length{3, 2}},
	{Color: colours[0], Width: 0.8},
}

// WriteCurvesPNG draws columns of up to 4 streams with the same columns, and writes a PNG image. Each column in show has a panel,
// with a curve for each stream on one axis: seconds since the first timestamp of all streams. The first stream is drawn as the
// reference for the others, and the legend has the streams' names. A curve is interrupted at values that are not finite and at
// steps longer than [dataset.GapLimit].
func WriteCurvesPNG(w io.Writer, streams []dataset.Stream, show []int, opt Options) error {
	if n := len(streams); n == 0 || n > len(strokes) {
		return refused(ErrOption, "streams", fmt.Sprint(n), fmt.Sprintf("1 to %d", len(strokes)))
	}
	c := curves{lo: math.Inf(1), hi: math.Inf(-1)}
	first, some := int64(math.MaxInt64), false
	for i := range streams {
		for _, at := range streams[i].Nanoseconds() {
			first, some = min(first, at), true
		}
	}
	if !some {
		return refused(ErrMissing, "streams", "no samples", "at least one")
	}
	names := streams[0].Columns
	for i := range streams {
		s := &streams[i]
		if !dataset.SameColumns(s.Columns, names) {
			return refused(ErrShape, "streams", fmt.Sprintf("other columns of %s", s.Name), "those of "+streams[0].Name)
		}
		y, err := columns(s.Values)
		if err != nil {
			return refused(err, "streams", err.Error(), "host tensors")
		}
		one := series{y: y}
		for _, at := range s.Nanoseconds() {
			one.x = append(one.x, float64(uint64(at)-uint64(first))/1e9)
		}
		if lo, hi, ok := extent(one.x); ok {
			c.lo, c.hi = min(c.lo, lo), max(c.hi, hi)
		}
		c.names, c.series = append(c.names, s.Name), append(c.series, one)
		c.limits = append(c.limits, dataset.GapLimit(dataset.StatsOf(s.Nanoseconds()).Median).Seconds())
	}
	if c.lo == c.hi {
		c.lo, c.hi = c.lo-0.5, c.hi+0.5
	}
	if len(show) == 0 || len(show) > maxTimelines {
		return refused(ErrOption, "show", fmt.Sprintf("%d columns", len(show)), fmt.Sprintf("1 to %d", maxTimelines))
	}
	for _, j := range show {
		if j < 0 || j >= len(names) {
			return refused(ErrOption, "show", fmt.Sprint(j), fmt.Sprintf("indices of %d columns", len(names)))
		}
	}
	return c.write(w, names, show, opt)
}

// curves are the streams on one clock.
type curves struct {
	names  []string
	series []series
	limits []float64 // steps longer than these, in seconds, interrupt a curve
	lo, hi float64
}

func (c *curves) write(w io.Writer, names []dataset.Column, show []int, opt Options) error {
	height := headHeight + footHeight + vg.Length(len(show))*panelHeight
	page, img := newPage(height, opt.Title, opt)
	x, y, small := vg.Length(12), height-34, style(9, false)
	for i, name := range c.names {
		page.StrokeLine2(strokes[i], x, y+3, x+20, y+3)
		write(page, x+25, y, small, name)
		x += 25 + small.Width(name) + 22
	}
	plots := make([][]*plot.Plot, len(show))
	for i, j := range show {
		plots[i] = []*plot.Plot{c.plot(j)}
	}
	body := draw.Crop(page, 8, -14, footHeight, -headHeight)
	cells := plot.Align(plots, draw.Tiles{Rows: len(show), Cols: 1, PadY: 4}, body)
	for i, row := range plots {
		row[0].Draw(cells[i][0])
		data := row[0].DataCanvas(cells[i][0])
		write(data, data.Min.X, data.Max.Y+5, style(9.5, true), names[show[i]].Name)
	}
	foot := style(9.5, false)
	foot.XAlign = text.XCenter
	write(page, width/2, 7, foot, "time since the first timestamp (s)")
	return writePNG(w, indexed(img.Image()))
}

// plot returns the axes and curves of column j.
func (c *curves) plot(j int) *plot.Plot {
	p := newPlot(12)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range c.series {
		if from, to, ok := extent(s.y[j]); ok {
			lo, hi = min(lo, from), max(hi, to)
		}
	}
	if lo > hi {
		lo, hi = 0, 0
	}
	pad := cmp.Or(max((hi-lo)*0.07, 1e-6*math.Abs(hi)), 0.5)
	p.Add(&curvesOf{c, j})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = c.lo, c.hi, lo-pad, hi+pad
	return p
}

// curvesOf is the content of a panel as a plot.Plotter.
type curvesOf struct {
	*curves
	column int
}

// Plot draws the grid, then the curves. The first curve is drawn last.
func (c *curvesOf) Plot(to draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&to)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		to.StrokeLine2(draw.LineStyle{Color: gridColour, Width: 0.5}, to.Min.X, ty(t.Value), to.Max.X, ty(t.Value))
	}
	bins := max(int((to.Max.X-to.Min.X).Points()*1.2), 1)
	for i := len(c.series) - 1; i >= 0; i-- {
		s := &c.series[i]
		var run []vg.Point
		flush := func() {
			if len(run) > 1 {
				to.StrokeLines(strokes[i], run)
			}
			run = nil
		}
		before, y := math.Inf(-1), s.y[c.column]
		limit := max(c.limits[i], 2*(c.hi-c.lo)/float64(bins)) // thin also makes steps longer
		for _, k := range thin(s.x, y, 0, len(s.x), bins) {
			if s.x[k]-before > limit || !finite(y[k]) {
				flush()
			}
			if before = s.x[k]; finite(y[k]) {
				run = append(run, vg.Point{X: tx(s.x[k]), Y: ty(y[k])})
			}
		}
		flush()
	}
}
