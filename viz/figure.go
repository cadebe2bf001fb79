package viz

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The layout, in points of 1/72 inch.
const (
	width       = 10 * vg.Inch
	panelHeight = 1.45 * vg.Inch
	headHeight  = 0.58 * vg.Inch
	footHeight  = 0.30 * vg.Inch
	detailShare = 0.38 // fraction of the width
	nameHeight  = 17
)

type sheet struct {
	panels   []panel
	opt      Options
	lo, hi   float64 // the time range on the left, in seconds
	dlo, dhi float64 // the time range of the detail
}

// figure chooses the time ranges.
func figure(panels []panel, opt Options) *sheet {
	s := &sheet{panels: panels, opt: opt, lo: math.Inf(1), hi: math.Inf(-1)}
	for _, p := range panels {
		for _, x := range [][]float64{p.recorded.x, p.resampled.x} {
			if lo, hi, ok := extent(x); ok {
				s.lo, s.hi = min(s.lo, lo), max(s.hi, hi)
			}
		}
	}
	switch {
	case s.lo > s.hi:
		s.lo, s.hi = 0, 1
	case s.lo == s.hi:
		s.lo, s.hi = s.lo-0.5, s.hi+0.5
	}
	for i := range panels {
		p := &panels[i]
		if lo, hi, ok := extent(p.recorded.x); ok {
			for _, end := range [][2]float64{{s.lo, lo}, {hi, s.hi}} {
				if end[1]-end[0] > p.limit {
					p.ends = append(p.ends, end)
				}
			}
		}
	}
	length := opt.Detail.Seconds()
	if length <= 0 {
		length = max((s.hi-s.lo)/40, 0.5)
	}
	length = min(length, s.hi-s.lo)
	s.dlo = s.detail(length)
	s.dhi = s.dlo + length
	return s
}

// detail returns the start of the detail: at the gap that lost the most samples, unless less than half of the detail would have
// samples in every panel.
func (s *sheet) detail(length float64) float64 {
	lo, hi, best := s.lo, s.hi, 0.0
	if l, h, ok := extent(s.panels[0].resampled.x); ok {
		lo, hi = l, h
	}
	starts := []float64{(lo + hi - length) / 2}
	for _, p := range s.panels {
		density := float64(len(p.recorded.x)) / (s.hi - s.lo)
		for _, g := range p.gaps {
			if lost := (min(g[1], hi) - max(g[0], lo)) * density; lost > best {
				starts, best = []float64{(g[0] + g[1] - length) / 2, g[0] - 0.75*length, g[1] - 0.25*length, starts[len(starts)-1]}, lost
			}
		}
	}
	for at := s.lo; at < s.hi; at += length {
		starts = append(starts, at)
	}
	at, least := s.lo, math.Inf(1)
	for _, start := range starts {
		start = min(max(start, s.lo), s.hi-length)
		missing := s.missing(start, start+length) / length
		if missing <= 0.5 {
			return start
		}
		if missing < least {
			at, least = start, missing
		}
	}
	return at
}

// missing returns for how many seconds between two times the panel with the fewest samples has none.
func (s *sheet) missing(from, to float64) (most float64) {
	for _, p := range s.panels {
		sum := 0.0
		for _, g := range slices.Concat(p.gaps, p.ends) {
			sum += max(min(g[1], to)-max(g[0], from), 0)
		}
		most = max(most, sum)
	}
	return most
}

func (s *sheet) write(w io.Writer) error {
	rows := len(s.panels)
	height := headHeight + footHeight + vg.Length(rows)*panelHeight
	page, img := newPage(height, s.opt.Title, s.opt)
	s.head(draw.Crop(page, 0, 0, height-headHeight, 0))

	body := draw.Crop(page, 8, -10, footHeight, -headHeight)
	split := body.Min.X + (body.Max.X-body.Min.X)*(1-detailShare)
	sides := []struct {
		at     draw.Canvas
		lo, hi float64
		detail bool
	}{
		{at: draw.Crop(body, 0, split-body.Max.X-7, 0, 0), lo: s.lo, hi: s.hi},
		{at: draw.Crop(body, split-body.Min.X+7, 0, 0, 0), lo: s.dlo, hi: s.dhi, detail: true},
	}
	for _, side := range sides {
		plots := make([][]*plot.Plot, rows)
		for i := range s.panels {
			plots[i] = []*plot.Plot{s.plot(&s.panels[i], side.lo, side.hi, side.detail)}
		}
		cells := plot.Align(plots, draw.Tiles{Rows: rows, Cols: 1, PadY: 4}, side.at)
		for i, row := range plots {
			row[0].Draw(cells[i][0])
			data := row[0].DataCanvas(cells[i][0])
			if !side.detail {
				s.names(data, &s.panels[i], page.Max.X-12)
			}
		}
		foot := style(9.5, false)
		foot.XAlign = text.XCenter
		write(page, (side.at.Min.X+side.at.Max.X)/2+12, 7, foot, "time since the first timestamp (s)")
	}
	return writePNG(w, indexed(img.Image()))
}

// head writes the title and the legend of the marks.
func (s *sheet) head(c draw.Canvas) {
	x, y := c.Min.X+12, c.Max.Y-34
	small := style(9, false)
	grey := colours[len(colours)-1]
	draws := []struct {
		name string
		mark func(x vg.Length)
	}{
		{"recorded sample", func(x vg.Length) { ring(c, vg.Point{X: x + 9, Y: y + 3}, grey, 2.2) }},
		{cmp.Or(s.opt.Curve, "resampled"), func(x vg.Length) { c.StrokeLine2(draw.LineStyle{Color: grey, Width: 1.4}, x, y+3, x+18, y+3) }},
		{"no samples", func(x vg.Length) { box(c, gapColour, x+1, y-1, x+17, y+8) }},
		{fmt.Sprintf("the stretch on the right, %.2f to %.2f s", s.dlo, s.dhi), func(x vg.Length) { box(c, detailColour, x+1, y-1, x+17, y+8) }},
	}
	for _, d := range draws {
		d.mark(x)
		x += 22
		write(c, x, y, small, d.name)
		x += small.Width(d.name) + 20
	}
}

// names writes the panel's title and its curves' names above it. A name that is too long loses its middle.
func (s *sheet) names(c draw.Canvas, p *panel, right vg.Length) {
	x, y := c.Min.X, c.Max.Y+5
	bold, small := style(9.5, true), style(8.5, false)
	title := fitted(p.Title, bold, (right-x)/3)
	write(c, x, y, bold, title)
	x += bold.Width(title) + 12
	for i, j := range p.show {
		name := fitted(p.name(j), small, (right-x)/vg.Length(len(p.show)-i)-25)
		c.StrokeLine2(draw.LineStyle{Color: colours[i], Width: 2}, x, y+3, x+12, y+3)
		x += 15
		write(c, x, y, small, name)
		x += small.Width(name) + 10
	}
	if rest := len(p.recorded.y) - len(p.show); rest > 0 {
		note := fmt.Sprintf("(%d more not drawn)", rest)
		if x+small.Width(note) <= right {
			write(c, x, y, small, note)
		}
	}
}

// fitted returns text with at most a width, shortened if it is longer.
func fitted(txt string, s text.Style, width vg.Length) string {
	fits := txt
	for n := len([]rune(txt)) - 1; n > 6 && s.Width(fits) > width; n-- {
		fits = shortened(txt, n)
	}
	return fits
}

// plot returns one panel's axes and curves between two times.
func (s *sheet) plot(p *panel, lo, hi float64, detail bool) *plot.Plot {
	out := newPlot(7)
	out.X.Min, out.X.Max = lo, hi
	out.Y.Min, out.Y.Max = p.yRange(lo, hi)
	if !detail && p.Unit != "" {
		out.Y.Label.Text = p.Unit
		out.Y.Label.TextStyle.Font = style(9, false).Font
	}
	d := &drawing{panel: p, lo: lo, hi: hi, detail: detail}
	if !detail {
		d.mark = [2]float64{s.dlo, s.dhi}
	}
	out.Add(d)
	return out
}

// yRange returns the range of the drawn values between two times, with a margin.
func (p *panel) yRange(lo, hi float64) (float64, float64) {
	min1, max1 := math.Inf(1), math.Inf(-1)
	for _, s := range []*series{&p.recorded, &p.resampled} {
		for _, j := range p.show {
			for i, x := range s.x {
				if v := s.y[j][i]; x >= lo && x <= hi && finite(v) {
					min1, max1 = min(min1, v), max(max1, v)
				}
			}
		}
	}
	switch {
	case min1 > max1:
		return 0, 1
	case max1-min1 <= 1e-6*math.Abs(max1):
		pad := max(math.Abs(max1)*0.1, 0.5)
		return min1 - pad, max1 + pad
	}
	pad := (max1 - min1) * 0.07
	return min1 - pad, max1 + pad
}

// newPage returns an empty picture of a height, with its title.
func newPage(height vg.Length, title string, opt Options) (draw.Canvas, *vgimg.Canvas) {
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(cmp.Or(opt.DPI, 120)))
	page := draw.New(img)
	write(page, 12, height-17, style(13, true), title)
	return page, img
}

// newPlot returns an empty plot with room for names above it. Its time axis has about n ticks.
func newPlot(n int) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.Title.TextStyle, p.Title.Padding = " ", style(nameHeight-8, false), 3
	p.X.Tick.Label, p.Y.Tick.Label = tickStyle(p.X.Tick.Label), tickStyle(p.Y.Tick.Label)
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{n}, ticks{4}
	return p
}

func style(size vg.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: plot.DefaultTextHandler}
}

func tickStyle(s text.Style) text.Style {
	s.Font = style(8, false).Font
	return s
}

func write(c draw.Canvas, x, y vg.Length, s text.Style, txt string) {
	if txt != "" {
		c.FillText(s, vg.Point{X: x, Y: y}, txt)
	}
}
