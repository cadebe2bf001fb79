package viz

import (
	"bufio"
	"cmp"
	"fmt"
	"image/png"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// WriteLossPNG draws the losses of training from a step on, one a step, and their running mean over a fiftieth of them, and writes them as a PNG image.
// Losses that are not finite are left out; with none to draw it is an *Error.
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
		return &Error{Panel: -1, Arg: "losses", Got: fmt.Sprintf("%d, none of them finite", len(losses)), Want: "at least one", Err: ErrMissing}
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = opt.Title, "step", "loss"
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{8}, ticks{6}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColour, gridColour
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	faint := colours[0]
	faint.A = 90
	dots.GlyphStyle = draw.GlyphStyle{Color: faint, Radius: 1, Shape: draw.CircleGlyph{}}
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: colours[1], Width: 1.5}
	p.Add(grid, dots, line)
	p.Y.Min = min(p.Y.Min, 0)
	p.Legend.Add("each step", dots)
	p.Legend.Add("running mean", line)
	p.Legend.Top = true
	img := vgimg.NewWith(vgimg.UseWH(7*vg.Inch, 4*vg.Inch), vgimg.UseDPI(cmp.Or(opt.DPI, 120)))
	p.Draw(draw.New(img))
	buf := bufio.NewWriter(w)
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(buf, img.Image()); err != nil {
		return err
	}
	return buf.Flush()
}
