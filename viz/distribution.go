package viz

import (
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"

	words "github.com/robocache/robocache/internal/text"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Distribution has the statistics of one column.
type Distribution struct {
	Name                string
	Min, Max, Mean, Std float64   // NaN if no value is finite
	Quantiles           []float64 // ascending; may be nil
}

// Distributions is a stream in the picture by [WriteDistributionsPNG].
type Distributions struct {
	Stream  string
	Samples int
	Rows    []Distribution
}

const (
	distributionRow  = 19 // points
	distributionEnds = 52 // for the least and the greatest value

	mostOfStream      = 48  // rows for one stream
	mostDistributions = 100 // rows in a readable picture
	mostNotDrawn      = 160 // characters in a line with names
)

// WriteDistributionsPNG draws statistics, a row for each column, and writes a PNG image. A row has the range from the least to the
// greatest value, boxes between each two quantiles from outside to inside, the median, and the mean with one standard deviation on
// both sides. Each row has its own scale, and its numbers beside it. quantiles are the names of the quantiles for the legend. At most
// 48 columns of a stream and 100 columns are drawn. The title has the total number, and the others are named below.
func WriteDistributionsPNG(w io.Writer, streams []Distributions, quantiles []string, opt Options) error {
	all, rows := 0, 0
	var drawn []Distributions
	var others []string
	for _, s := range streams {
		n, of := min(len(s.Rows), mostOfStream, mostDistributions-rows), len(s.Rows)
		switch {
		case n == 0 && of > 0:
			others = append(others, fmt.Sprintf("%s (%s)", s.Stream, words.Count(of, "column")))
		case n < of:
			others = append(others, fmt.Sprintf("%s: %s to %s", s.Stream, s.Rows[n].Name, s.Rows[of-1].Name))
			s.Stream += fmt.Sprintf(" (%d of %d columns)", n, of)
		}
		if s.Rows = s.Rows[:n]; n > 0 {
			drawn = append(drawn, s)
		}
		all, rows = all+of, rows+n
	}
	if rows == 0 {
		return refused(ErrMissing, "streams", "no columns", "at least one")
	}
	title, below := opt.Title, []string(nil)
	if all > rows {
		title = fmt.Sprintf("%s (%d of %d columns)", title, rows, all)
		below = strings.Split(words.Wrap("not drawn: "+strings.Join(others, ", "), mostNotDrawn, 0), "\n")
	}
	height := headHeight + vg.Length(rows+len(drawn)+len(below))*distributionRow + 8
	page, img := newPage(height, title, opt)
	d := distributions{page: page, left: timelineName + distributionEnds, right: width - timelineNote - distributionEnds}
	d.legend(height-34, quantiles)
	y := height - headHeight
	for _, s := range drawn {
		y -= distributionRow
		write(d.page, 12, y+4, style(9.5, true), s.Stream+": "+words.Count(s.Samples, "row"))
		write(d.page, d.right+distributionEnds, y+4, style(8.5, true), "mean ± std")
		for i := range s.Rows {
			y -= distributionRow
			d.row(&s.Rows[i], y)
		}
	}
	for _, line := range below {
		y -= distributionRow
		write(d.page, 12, y+4, style(8.5, false), line)
	}
	return writePNG(w, indexed(img.Image()))
}

// distributions is a page with the scales of columns between left and right.
type distributions struct {
	page        draw.Canvas
	left, right vg.Length
}

func (d *distributions) legend(y vg.Length, quantiles []string) {
	median, n := "", len(quantiles)
	var boxes []string
	for i := range n / 2 {
		boxes = append(boxes, quantiles[i]+" to "+quantiles[n-1-i])
	}
	if n%2 == 1 {
		median = "tick: " + quantiles[n/2]
	}
	x, s := vg.Length(12), style(9, false)
	for _, part := range []struct {
		text   string
		colour color.Color
	}{
		{"line: least to greatest value", colours[4]}, {"boxes: " + strings.Join(boxes, ", "), colours[0]}, {median, ink}, {"dot: mean ± standard deviation", colours[1]},
	} {
		s.Color = part.colour
		write(d.page, x, y, s, part.text)
		x += s.Width(part.text) + 18
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
	write(d.page, at(r.Max)+6, y+8.5, ends, number(r.Max)) // above the deviation, which may reach further
	write(d.page, d.right+distributionEnds, y+6, small, number(r.Mean)+" ± "+number(r.Std))
	ends.XAlign = text.XRight
	write(d.page, at(r.Min)-6, y+8.5, ends, number(r.Min))
	middle, n := y+11, len(r.Quantiles)
	line := draw.LineStyle{Color: colours[4], Width: 0.8}
	d.page.StrokeLine2(line, at(r.Min), middle, at(r.Max), middle)
	for _, v := range []float64{r.Min, r.Max} {
		d.page.StrokeLine2(line, at(v), middle-3, at(v), middle+3)
	}
	blue := colours[0]
	blue.A = 70 // so that a box inside another is darker
	for i := range n / 2 {
		box(d.page, blue, at(r.Quantiles[i]), middle-4, at(r.Quantiles[n-1-i]), middle+4)
	}
	if n%2 == 1 {
		x := at(r.Quantiles[n/2])
		d.page.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.4}, x, middle-4, x, middle+4)
	}
	d.page.StrokeLine2(draw.LineStyle{Color: colours[1], Width: 1.2}, at(r.Mean-r.Std), y+4, at(r.Mean+r.Std), y+4)
	dot(d.page, vg.Point{X: at(r.Mean), Y: y + 4}, colours[1], 1.8)
}

// number formats a value with four digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
