package viz

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Distribution has the statistics of one column.
type Distribution struct {
	Name                string
	Min, Max, Mean, Std float64   // NaN if no value is finite
	Quantiles           []float64 // ascending; may be nil
}

// Distributions is a stream in the picture by [WriteDistributionsPNG].
type Distributions struct {
	Title string
	Rows  []Distribution
}

const (
	distributionRow  = 19 // points
	distributionEnds = 52 // for the least and the greatest value
)

// WriteDistributionsPNG draws statistics, a row for each column, and writes a PNG image. A row has the range from the least to the
// greatest value, boxes between each two quantiles from outside to inside, the median, and the mean with one standard deviation on
// both sides. Each row has its own scale, and its numbers beside it. quantiles are the names of the quantiles for the legend. Of more
// than 250 columns the first 250 are drawn, and the title has the total number.
func WriteDistributionsPNG(w io.Writer, streams []Distributions, quantiles []string, opt Options) error {
	all, rows := 0, 0
	for i, s := range streams {
		all += len(s.Rows)
		streams[i].Rows = s.Rows[:min(len(s.Rows), maxTimelines-rows)]
		rows += len(streams[i].Rows)
	}
	if rows == 0 {
		return &Error{Panel: -1, Arg: "streams", Got: "no columns", Want: "at least one", Err: ErrMissing}
	}
	title := opt.Title
	if all > rows {
		title = fmt.Sprintf("%s (the first %d of %d columns)", title, rows, all)
	}
	height := headHeight + vg.Length(rows+len(streams))*distributionRow + 8
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(cmp.Or(opt.DPI, 120)))
	d := distributions{page: draw.New(img), left: timelineName + distributionEnds, right: width - timelineNote - distributionEnds}
	write(d.page, 12, height-17, style(13, true), title)
	d.legend(height-34, quantiles)
	y := height - headHeight
	for _, s := range streams {
		y -= distributionRow
		write(d.page, 12, y+4, style(9.5, true), s.Title)
		write(d.page, d.right+distributionEnds, y+4, style(8.5, true), "mean ± std")
		for i := range s.Rows {
			y -= distributionRow
			d.row(&s.Rows[i], y)
		}
	}
	return writePNG(w, indexed(img.Image()))
}

// distributions is a page with the scales of columns between left and right.
type distributions struct {
	page        draw.Canvas
	left, right vg.Length
}

func (d *distributions) legend(y vg.Length, quantiles []string) {
	n := len(quantiles)
	names := []string{"least to greatest value", "mean ± standard deviation"}
	marks := []func(x vg.Length){func(x vg.Length) { d.span(x, x+18, y+3, 3) }, func(x vg.Length) { d.mean(x, x+9, x+18, y+3) }}
	for i := range n / 2 {
		names = append(names, quantiles[i]+" to "+quantiles[n-1-i])
		marks = append(marks, func(x vg.Length) {
			for range i + 1 {
				d.box(x, x+18, y+3)
			}
		})
	}
	if n%2 == 1 {
		names, marks = append(names, quantiles[n/2]), append(marks, func(x vg.Length) { d.median(x+9, y+3) })
	}
	x, small := vg.Length(12), style(9, false)
	for i, name := range names {
		marks[i](x)
		write(d.page, x+23, y, small, name)
		x += 23 + small.Width(name) + 18
	}
}

func (d *distributions) row(r *Distribution, y vg.Length) {
	small, ends := style(8.5, false), style(7.5, false)
	write(d.page, 12, y+6, small, shortened(r.Name, 34))
	if !finite(r.Min) || !finite(r.Max) {
		write(d.page, d.left, y+6, small, "no finite values")
		return
	}
	lo, hi := min(r.Min, r.Mean-r.Std), max(r.Max, r.Mean+r.Std)
	at := func(v float64) vg.Length {
		if hi == lo {
			return (d.left + d.right) / 2
		}
		return d.left + (d.right-d.left)*vg.Length((v-lo)/(hi-lo))
	}
	write(d.page, d.right+6, y+6, ends, number(r.Max))
	write(d.page, d.right+distributionEnds, y+6, small, number(r.Mean)+" ± "+number(r.Std))
	ends.XAlign = text.XRight
	write(d.page, d.left-6, y+6, ends, number(r.Min))
	middle, n := y+11, len(r.Quantiles)
	d.span(at(r.Min), at(r.Max), middle, 3)
	for i := range n / 2 {
		d.box(at(r.Quantiles[i]), at(r.Quantiles[n-1-i]), middle)
	}
	if n%2 == 1 {
		d.median(at(r.Quantiles[n/2]), middle)
	}
	d.mean(at(r.Mean-r.Std), at(r.Mean), at(r.Mean+r.Std), y+4)
}

// number formats a value with four digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// span draws a line with ends.
func (d *distributions) span(from, to, y, half vg.Length) {
	line := draw.LineStyle{Color: colours[4], Width: 0.8}
	d.page.StrokeLine2(line, from, y, to, y)
	for _, x := range []vg.Length{from, to} {
		d.page.StrokeLine2(line, x, y-half, x, y+half)
	}
}

// box draws the box between two quantiles. The colour is translucent, so that a box inside another is darker.
func (d *distributions) box(from, to, y vg.Length) {
	col := colours[0]
	col.A = 70
	box(d.page, col, from, y-4, to, y+4)
}

func (d *distributions) median(x, y vg.Length) {
	d.page.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, x, y-4, x, y+4)
}

func (d *distributions) mean(from, x, to, y vg.Length) {
	d.page.StrokeLine2(draw.LineStyle{Color: colours[1], Width: 1.2}, from, y, to, y)
	dot(d.page, vg.Point{X: x, Y: y}, colours[1], 1.8)
}
