package viz

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	lossColumns = 600 // columns in a picture: if there are more than twice as many losses, each column shows its smallest and greatest
	lossDecade  = 8   // if the running mean falls by a greater factor, the axis is logarithmic
)

// WriteLossPNG draws training losses and writes a PNG image. losses[0] is the loss at step first. A second curve is their running
// mean over a fiftieth of the steps, if these are two or more; a third the losses in Options.HeldOut. If there are more steps than pixels, the range of neighbouring losses is drawn instead of
// each loss. The axis is logarithmic if the mean falls by more than a factor 8. Losses that are not finite are left out; if
// none is left, the error is an *Error.
func WriteLossPNG(w io.Writer, first int, losses []float32, opt Options) error {
	var points, mean plotter.XYs
	span := max(len(losses)/50, 1)
	sum, n := 0.0, 0
	good := func(v float32) bool { return finite(float64(v)) }
	for i, v := range losses {
		if good(v) {
			points = append(points, plotter.XY{X: float64(first + i), Y: float64(v)})
			sum, n = sum+float64(v), n+1
		}
		if old := i - span; old >= 0 && good(losses[old]) {
			sum, n = sum-float64(losses[old]), n-1
		}
		if n > 0 {
			mean = append(mean, plotter.XY{X: float64(first + i), Y: sum / float64(n)})
		}
	}
	if len(points) == 0 {
		return refused(ErrMissing, "losses", fmt.Sprintf("%d, none of them finite", len(losses)), "at least one")
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = opt.Title, "step", cmp.Or(opt.Unit, "loss")
	p.Title.TextStyle.Font, p.Title.Padding = style(12, true).Font, 8
	p.X.Label.TextStyle.Font, p.Y.Label.TextStyle.Font = style(9.5, false).Font, style(9.5, false).Font
	p.X.Tick.Label, p.Y.Tick.Label = tickStyle(p.X.Tick.Label), tickStyle(p.Y.Tick.Label)
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{8}, ticks{6}
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: colours[1], Width: 1.5}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColour, gridColour
	p.Add(grid)
	if err := addLosses(p, points); err != nil {
		return err
	}
	if span > 1 { // else it would hide the losses
		p.Add(line)
		p.Legend.Add("running mean of "+fmt.Sprint(span), line)
	}
	p.Legend.TextStyle.Font = style(9, false).Font
	p.Legend.Top, p.Legend.XOffs, p.Legend.YOffs, p.Legend.Padding = true, -8, -6, 2
	var held plotter.XYs
	for _, step := range slices.Sorted(maps.Keys(opt.HeldOut)) {
		if v := opt.HeldOut[step]; finite(v) {
			held = append(held, plotter.XY{X: float64(step), Y: v})
		}
	}
	if len(held) > 0 {
		line, dots, err := plotter.NewLinePoints(held)
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: colours[2], Width: 1.5}
		dots.GlyphStyle = draw.GlyphStyle{Color: colours[2], Radius: 2.5, Shape: draw.CircleGlyph{}}
		p.Add(line, dots)
		p.Legend.Add("held-out episodes", line, dots)
	}
	lossAxes(p, slices.Concat(points[:1], held, points[1:]), mean)
	img := vgimg.NewWith(vgimg.UseWH(7*vg.Inch, 4*vg.Inch), vgimg.UseDPI(cmp.Or(opt.DPI, 120)))
	p.Draw(draw.Crop(draw.New(img), 6, -12, 6, -8))
	return writePNG(w, indexed(img.Image()))
}

// addLosses draws each loss. If there are many, it draws the range in each column.
func addLosses(p *plot.Plot, points plotter.XYs) error {
	faint := colours[0]
	faint.A = 90
	if len(points) <= 2*lossColumns {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: faint, Radius: 1.2, Shape: draw.CircleGlyph{}}
		p.Add(dots)
		p.Legend.Add("each step", dots)
		return nil
	}
	each := (len(points) + lossColumns - 1) / lossColumns
	var upper, lower plotter.XYs
	for i := 0; i < len(points); i += each {
		some := points[i:min(i+each, len(points))]
		_, _, lo, hi := plotter.XYRange(some)
		lower, upper = append(lower, plotter.XY{X: some[0].X, Y: lo}), append(upper, plotter.XY{X: some[0].X, Y: hi})
	}
	slices.Reverse(lower)
	band, err := plotter.NewPolygon(append(upper, lower...))
	if err != nil {
		return err
	}
	band.Color, band.LineStyle = faint, draw.LineStyle{Color: faint, Width: 0.4}
	p.Add(band)
	p.Legend.Add(fmt.Sprintf("least to greatest of %d steps", each), band)
	return nil
}

// lossAxes sets the axes so that they contain all losses, with a margin.
func lossAxes(p *plot.Plot, points, mean plotter.XYs) {
	_, _, lo, hi := plotter.XYRange(points)
	_, _, least, most := plotter.XYRange(mean)
	from, to := points[0].X, points[len(points)-1].X
	margin := max((to-from)*0.015, 0.5)
	p.X.Min, p.X.Max = from-margin, to+margin
	if lo > 0 && most > lossDecade*least {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
		p.Y.Min, p.Y.Max = lo/1.15, hi*1.15
		return
	}
	pad := cmp.Or(max((hi-min(lo, 0))*0.05, 1e-6*math.Abs(hi)), 0.5)
	p.Y.Min, p.Y.Max = min(lo-pad, 0), hi+pad
}

// decades marks 1, 2 and 5 times powers of ten.
type decades struct{}

// Ticks returns these marks between two positive values.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= lo && v <= hi {
				out = append(out, plot.Tick{Value: v, Label: fmt.Sprintf("%.3g", v)})
			}
		}
	}
	return out
}
