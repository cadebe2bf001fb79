package benchmark

import (
	"fmt"
	"image/color"
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

// The layout, in points (1/72 inch).
const (
	barHeight = 15
	barGap    = 9
	peerGap   = 11
	headRoom  = 44
	suiteRoom = 24
	nameRoom  = 170 // minimum
	nameSize  = 9.5
	noteRoom  = 150
	roofWidth = 5 * vg.Inch
	roofRoom  = 4 * vg.Inch
)

// Colours that people without colour vision can distinguish (Okabe and Ito, 2008).
var (
	ink     = color.NRGBA{R: 30, G: 30, B: 30, A: 255}
	grey    = color.NRGBA{R: 120, G: 120, B: 120, A: 255}
	pale    = color.NRGBA{R: 228, G: 228, B: 228, A: 255}
	ourBlue = color.NRGBA{R: 0, G: 114, B: 178, A: 255}
	palette = []color.NRGBA{
		{R: 213, G: 94, B: 0, A: 255}, {R: 0, G: 158, B: 115, A: 255}, {R: 180, G: 90, B: 150, A: 255}, {R: 230, G: 159, B: 0, A: 255},
	}
	rooflimt = color.NRGBA{R: 90, G: 90, B: 90, A: 255}
)

func lettering(size vg.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: plot.DefaultTextHandler, YAlign: text.YCenter}
}

// picture is a report with limits, prepared for drawing.
type picture struct {
	*Report
	rows  []*Row // rows with a limit
	who   []string
	names vg.Length // width of the job names
}

// WritePNG draws the rows that have a limit. The left side shows how close each job and its peers are to the limit. The right side
// shows the rate over the bytes moved, under a roofline made from the limits.
func (r *Report) WritePNG(out io.Writer) error {
	p := &picture{Report: r, names: nameRoom}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Limit != nil {
			p.rows = append(p.rows, row)
			p.names = max(p.names, lettering(nameSize, false).Width(row.Job)+12)
			for _, peer := range row.Peers {
				if !slices.Contains(p.who, peer.Who) {
					p.who = append(p.who, peer.Who)
				}
			}
		}
	}
	if len(p.rows) == 0 {
		return &InputError{"the picture", "no job with a limit", "at least one"}
	}
	width := 12.5*vg.Inch + p.names - nameRoom
	height := max(p.barsHeight(), roofRoom+headRoom+20)
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(120))
	page := draw.New(img)
	p.head(draw.Crop(page, 14, -14, height-headRoom, 0))
	p.bars(draw.Crop(page, 14, -roofWidth-24, 8, -headRoom))
	roof := draw.Crop(page, width-roofWidth-10, -14, height-headRoom-roofRoom, -headRoom)
	p.roof(roof)
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(out)
	return err
}

// colour returns a peer's colour. Colours repeat after four peers.
func (p *picture) colour(peer Peer) color.Color {
	return palette[slices.Index(p.who, peer.Who)%len(palette)]
}

func (p *picture) head(c draw.Canvas) {
	title := lettering(13, true)
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y - 14}, fmt.Sprintf("%s on %s", p.Program, p.Device.Product))
	small := lettering(9, false)
	x, y := c.Min.X, c.Max.Y-31
	key := func(col color.Color, name string) {
		c.FillPolygon(col, square(x, y-4, x+10, y+4))
		x += 14
		c.FillText(small, vg.Point{X: x, Y: y}, name)
		x += small.Width(name) + 16
	}
	key(ourBlue, "ours")
	key(pale, "the limit: the least bytes, moved by a kernel that does nothing else")
	for i, who := range p.who {
		key(palette[i%len(palette)], who)
	}
}

func square(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
}

func (p *picture) barsHeight() vg.Length {
	h := vg.Length(headRoom + 34)
	suite := ""
	for _, row := range p.rows {
		if row.Suite != suite {
			suite = row.Suite
			h += suiteRoom
		}
		h += barHeight + barGap + vg.Length(len(row.Peers))*peerGap
	}
	return h
}

// bars draws each job's share of the limit's speed. A full bar is the limit.
func (p *picture) bars(c draw.Canvas) {
	name, small, bold := lettering(nameSize, false), lettering(8.5, false), lettering(10.5, true)
	from, to := c.Min.X+p.names, c.Max.X-noteRoom
	at := func(share float64) vg.Length { return from + (to-from)*vg.Length(min(share, 1.15)) }
	y := c.Max.Y
	suite := ""
	for _, row := range p.rows {
		if row.Suite != suite {
			suite = row.Suite
			y -= suiteRoom
			c.FillText(bold, vg.Point{X: c.Min.X, Y: y + 9}, suite)
		}
		top := y
		y -= barHeight
		c.FillPolygon(pale, square(from, y, to, top))
		share := 1 / row.Ratio
		c.FillPolygon(ourBlue, square(from, y+2, at(share), top-2))
		// The spread of the samples, from the tenth to the ninetieth percentile.
		lo, hi := at(row.Limit.Median/row.Time.P90), at(row.Limit.Median/row.Time.P10)
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1}, lo, (y+top)/2, hi, (y+top)/2)
		right := name
		right.XAlign = text.XRight
		c.FillText(right, vg.Point{X: from - 8, Y: (y + top) / 2}, row.Job)
		label, where := small, from+4
		if share > 0.15 {
			label.Color = color.White
		} else {
			where = max(at(share), hi) + 4
		}
		digits := 0
		if share < 0.1 {
			digits = 1
		}
		c.FillText(label, vg.Point{X: where, Y: (y + top) / 2}, fmt.Sprintf("%.*f %%", digits, 100*share))
		c.FillText(small, vg.Point{X: max(to, at(share)) + 8, Y: (y + top) / 2}, fmt.Sprintf("%s us, limit %s", us(row.Time.Median), us(row.Limit.Median)))
		for _, peer := range row.Peers {
			y -= peerGap
			share := row.Limit.Median / peer.Time.Median
			c.FillPolygon(p.colour(peer), square(from, y+2, max(at(share), from+1), y+peerGap-1))
			c.FillText(small, vg.Point{X: max(to, at(share)) + 8, Y: y + peerGap/2}, fmt.Sprintf("%s us, %s times ours", us(peer.Time.Median), number(peer.Time.Median/row.Time.Median)))
		}
		y -= barGap
	}
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1}, to, y+barGap, to, c.Max.Y-suiteRoom+2)
	foot := small
	foot.XAlign, foot.Color = text.XCenter, grey
	for _, share := range []float64{0, 0.5, 1} {
		c.FillText(foot, vg.Point{X: at(share), Y: y - 2}, fmt.Sprintf("%.0f %%", 100*share))
	}
	c.FillText(foot, vg.Point{X: (from + to) / 2, Y: y - 15}, "share of the limit's speed")
}

// roof draws GB/s over bytes on logarithmic axes, and the roofline: the limits' best rate, and the slope that launch time imposes on
// small jobs.
func (p *picture) roof(c draw.Canvas) {
	out := plot.New()
	out.BackgroundColor = nil
	out.Title.Text = "rate over the least bytes of a call"
	out.Title.TextStyle = lettering(10.5, true)
	out.Title.TextStyle.XAlign = text.XCenter
	out.Title.Padding = 4
	out.X.Label.Text, out.Y.Label.Text = "bytes a call", "GB/s"
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = lettering(9, false).Font, lettering(8, false).Font
		a.Scale, a.Padding = plot.LogScale{}, 0
	}
	d := &roofline{picture: p}
	d.x0, d.x1, d.y0, d.y1 = math.Inf(1), 0, math.Inf(1), 0
	for _, row := range p.rows {
		bytes := float64(row.Read + row.Written)
		top := rate(row.Read+row.Written, row.Limit.Median)
		d.x0, d.x1 = min(d.x0, bytes), max(d.x1, bytes)
		d.y0, d.y1 = min(d.y0, top, row.GBs), max(d.y1, top, row.GBs)
		d.best = max(d.best, top)
		for _, peer := range row.Peers {
			d.y0 = min(d.y0, rate(row.Read+row.Written, peer.Time.Median))
		}
	}
	out.X.Min, out.X.Max = d.x0/2, d.x1*2
	out.Y.Min, out.Y.Max = d.y0/2, d.y1*2
	out.X.Tick.Marker, out.Y.Tick.Marker = decades{byteUnit}, decades{plainUnit}
	out.Add(d)
	out.Draw(draw.Crop(c, 0, 0, 16, 0))
	foot := lettering(8.5, false)
	foot.XAlign, foot.Color = text.XCenter, grey
	c.FillText(foot, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Min.Y + 6}, "strokes: limits; dots: ours; triangles: others")
}

// roofline draws the contents of the right side as a plot.Plotter.
type roofline struct {
	*picture
	x0, x1, y0, y1 float64
	best           float64 // the highest rate that a limit reaches
}

// Plot draws the grid, the roof, and for each job a line from its limit down to its rate.
func (d *roofline) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	at := func(x, y float64) vg.Point { return vg.Point{X: tx(x), Y: ty(y)} }
	grid := draw.LineStyle{Color: pale, Width: 0.5}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(grid, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(grid, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
	}
	line := draw.LineStyle{Color: grey, Width: 1.2, Dashes: []vg.Length{4, 3}}
	small := lettering(8, false)
	small.Color = grey
	c.StrokeLines(line, c.ClipLinesXY([]vg.Point{at(p.X.Min, d.best), at(p.X.Max, d.best)})...)
	right := small
	right.XAlign = text.XRight
	c.FillText(right, vg.Point{X: c.Max.X - 4, Y: ty(d.best) + 7}, fmt.Sprintf("%.0f GB/s, the best of the limits", d.best))
	if d.Empty != nil {
		c.FillText(small, vg.Point{X: c.Min.X + 5, Y: c.Min.Y + 8}, "the slope: an empty kernel's time for each call")
		launch := func(x float64) float64 { return x / d.Empty.Median / 1e3 }
		c.StrokeLines(line, c.ClipLinesXY([]vg.Point{at(p.X.Min, launch(p.X.Min)), at(p.X.Max, launch(p.X.Max))})...)
	}
	for _, row := range d.rows {
		bytes := row.Read + row.Written
		x := float64(bytes)
		if x == 0 {
			continue
		}
		top := at(x, rate(bytes, row.Limit.Median))
		ours := at(x, row.GBs)
		c.StrokeLine2(draw.LineStyle{Color: rooflimt, Width: 0.8}, top.X, top.Y, ours.X, ours.Y)
		c.DrawGlyph(draw.GlyphStyle{Color: rooflimt, Radius: 5, Shape: bar{}}, top)
		c.DrawGlyph(draw.GlyphStyle{Color: ourBlue, Radius: 3, Shape: draw.CircleGlyph{}}, ours)
		for _, peer := range row.Peers {
			c.DrawGlyph(draw.GlyphStyle{Color: d.colour(peer), Radius: 2.6, Shape: draw.TriangleGlyph{}}, at(x, rate(bytes, peer.Time.Median)))
		}
	}
}

// bar is a marker: a short horizontal line for a limit.
type bar struct{}

// DrawGlyph draws the line.
func (bar) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: s.Color, Width: 1.6}, at.X-s.Radius, at.Y, at.X+s.Radius, at.Y)
}

// decades places ticks at powers of ten.
type decades struct{ label func(float64) string }

// Ticks returns the powers of ten, and also 2 and 5 times each if there are few.
func (d decades) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	few := math.Log10(hi/lo) < 2.2
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < lo || v > hi || m > 1 && !few {
				continue
			}
			out = append(out, plot.Tick{Value: v, Label: d.label(v)})
		}
	}
	return out
}

func plainUnit(v float64) string { return fmt.Sprintf("%g", v) }

func byteUnit(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.size {
			return fmt.Sprintf("%g %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%g B", v)
}
