package viz

import (
	"cmp"
	"fmt"
	"image"
	stddraw "image/draw"
	"io"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The layout of a figure of voxels, in points.
const (
	leastVoxels = 3.3 * vg.Inch // the smallest height
	mostVoxels  = 5.9 * vg.Inch
	voxelHead   = 44 // above the views
	voxelFoot   = 8
	barWidth    = 11
	barRoom     = 62 // for the bar, its numbers and its label
	mapShare    = 0.34
)

// Room for the numbers and names around a view, in points.
var (
	aroundCubes = margins{left: 38, right: 24, bottom: 36, top: 18}
	aroundMap   = margins{left: 34, right: 4, bottom: 30, top: 20}
)

type margins struct{ left, right, bottom, top vg.Length }

func (m margins) crop(c draw.Canvas) draw.Canvas {
	return draw.Crop(c, m.left, -m.right, m.bottom, -m.top)
}

// shadow is the colour of the floor below a voxel.
var shadow = shade{232, 232, 232}

// missing is the colour of a voxel with a value that is not a number.
var missing = shade{150, 150, 150}

// voxelSheet is a figure of voxels.
type voxelSheet struct {
	*Voxels
	b     *blocks
	scale scale
	opt   Options
	dpi   float64
	page  draw.Canvas
	img   stddraw.Image

	lo, hi    [3]float64 // the box around the blocks, metres
	view      view       // scaled to one dot a metre
	left, low float64    // the left and lower ends of the drawing in that view
	wide, far float64    // the right and upper ends of the drawing
}

func newVoxelSheet(v *Voxels, b *blocks, opt Options) *voxelSheet {
	s := &voxelSheet{Voxels: v, b: b, opt: opt, scale: b.scale(v.Counts)}
	if s.Label == "" {
		s.Label = "height (m)"
		if v.Values != nil {
			s.Label = "value"
		}
	}
	s.dpi = float64(cmp.Or(opt.DPI, 120))
	s.lo, s.hi = b.corner(0, 0, 0), b.corner(b.n[0], b.n[1], b.n[2])
	s.view = newView()
	s.left, s.low, s.wide, s.far = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	cover := func(x, y, z float64) {
		h, v, _ := s.view.at([3]float64{x, y, z})
		s.left, s.low, s.wide, s.far = min(s.left, h), min(s.low, v), max(s.wide, h), max(s.far, v)
	}
	// The extent includes the floor, the upright axis, and the upper corner at the back of each block.
	for _, x := range [2]float64{s.lo[0], s.hi[0]} {
		cover(x, s.lo[1], s.lo[2])
		cover(x, s.hi[1], s.lo[2])
	}
	cover(s.lo[0], s.lo[1], s.hi[2])
	for _, at := range b.at {
		p := b.corner(int(at[0]), int(at[1])+1, int(at[2])+1)
		cover(p[0], p[1], p[2])
	}
	return s
}

func (s *voxelSheet) colour(v float64) shade {
	if !finite(v) {
		return missing
	}
	return mapped(s.scale.at(v))
}

func (s *voxelSheet) write(w io.Writer) error {
	// The page is as high as the views need, within limits.
	inner := width - 18 - barRoom
	cubes, above := inner*(1-mapShare), inner*mapShare
	high := func(m margins, w vg.Length, aspect float64) vg.Length {
		return vg.Length(aspect)*(w-m.left-m.right) + m.bottom + m.top
	}
	need := max(high(aroundCubes, cubes, (s.far-s.low)/(s.wide-s.left)), high(aroundMap, above, (s.hi[1]-s.lo[1])/(s.hi[0]-s.lo[0])))
	height := min(max(need+voxelHead+voxelFoot, leastVoxels), mostVoxels)

	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(int(s.dpi)))
	s.page, s.img = draw.New(c), c.Image()
	write(s.page, 12, s.page.Max.Y-19, style(13, true), s.opt.Title)
	write(s.page, 12, s.page.Max.Y-34, style(9, false), s.summary())
	body := draw.Crop(s.page, 8, -10, voxelFoot, -voxelHead)
	s.oblique(aroundCubes.crop(draw.Crop(body, 0, cubes-(body.Max.X-body.Min.X), 0, 0)))
	s.fromAbove(aroundMap.crop(draw.Crop(body, cubes, -barRoom, 0, 0)))
	s.bar(draw.Crop(body, inner+8, 0, 0, 0))

	return writePNG(w, s.img)
}

// summary returns a text with the number and the size of the drawn voxels.
func (s *voxelSheet) summary() string {
	side := fmt.Sprintf("%.4g m", s.Size[0])
	if s.Size[1] != s.Size[0] || s.Size[2] != s.Size[0] {
		side = fmt.Sprintf("%.4g x %.4g x %.4g m", s.Size[0], s.Size[1], s.Size[2])
	}
	text := fmt.Sprintf("%d voxels of %s", s.Coords.Dim(0), side)
	if s.b.join > 1 {
		text += fmt.Sprintf(", drawn in blocks of %d x %d x %d", s.b.join, s.b.join, s.b.join)
	}
	return text
}

// pixel converts a length on the page to pixels.
func (s *voxelSheet) pixel(l vg.Length) float64 { return l.Points() * s.dpi / 72 }

// paste draws a picture on the page with its lower left corner at the given pixel.
func (s *voxelSheet) paste(img image.Image, x, y int) {
	top := s.img.Bounds().Dy() - y - img.Bounds().Dy()
	at := image.Rect(x, top, x+img.Bounds().Dx(), top+img.Bounds().Dy())
	stddraw.Draw(s.img, at, img, image.Point{}, stddraw.Over)
}

// oblique draws the cubes above a floor with a grid in metres.
func (s *voxelSheet) oblique(c draw.Canvas) {
	v := s.view
	w, h := s.pixel(c.Max.X-c.Min.X), s.pixel(c.Max.Y-c.Min.Y)
	scale := min(w/(s.wide-s.left), h/(s.far-s.low)) // pixels a metre
	x0 := s.pixel(c.Min.X) + (w-scale*(s.wide-s.left))/2
	y0 := s.pixel(c.Min.Y) + (h-scale*(s.far-s.low))/2
	v.scale, v.ox, v.oy = scale, x0-scale*s.left, y0-scale*s.low
	s.floor(&v, s.lo, s.hi)

	px, py := int(math.Floor(x0)), int(math.Floor(y0))
	dots := newCanvas(int(math.Ceil(scale*(s.wide-s.left)))+2, int(math.Ceil(scale*(s.far-s.low)))+2)
	v.scale, v.ox, v.oy = scale*oversample, (v.ox-float64(px))*oversample, (v.oy-float64(py))*oversample
	s.cubes(dots, &v)
	s.paste(dots.image(), px, py)
}

// cubes draws the three faces that the camera sees: at the top, at greater x and at smaller y.
func (s *voxelSheet) cubes(dots *canvas, v *view) {
	b := s.b
	edge := 0.0
	if side := v.scale * min(b.size[0], b.size[1], b.size[2]); side > 6*oversample {
		edge = 0.5 * oversample
	}
	dx, dy, dz := [3]float64{b.size[0]}, [3]float64{0, b.size[1]}, [3]float64{0, 0, b.size[2]}
	for i, at := range b.at {
		x, y, z := int(at[0]), int(at[1]), int(at[2])
		dots.face(v, b.corner(x, y, 0), dx, dy, shadow, [4]float64{1, 1, 1, 1}, 0, 2)
		col := s.colour(b.value[i])
		if !b.has(x, y, z+1) {
			dots.face(v, b.corner(x, y, z+1), dx, dy, col, b.light(x, y, z+1, [3]int{1, 0, 0}, [3]int{0, 1, 0}, 1), edge, 2)
		}
		if !b.has(x+1, y, z) {
			dots.face(v, b.corner(x+1, y, z), dy, dz, col, b.light(x+1, y, z, [3]int{0, 1, 0}, [3]int{0, 0, 1}, 0.84), edge, 2)
		}
		if !b.has(x, y-1, z) {
			dots.face(v, b.corner(x, y, z), dx, dz, col, b.light(x, y-1, z, [3]int{1, 0, 0}, [3]int{0, 0, 1}, 0.66), edge, 2)
		}
	}
}

// light returns the brightness at the corners of a face, along a and b from the first. Corners are darker if blocks stand around
// the free block in front of the face. x, y and z are that free block.
func (b *blocks) light(x, y, z int, da, db [3]int, full float64) [4]float64 {
	var out [4]float64
	at := func(i, j int) int {
		if b.has(x+i*da[0]+j*db[0], y+i*da[1]+j*db[1], z+i*da[2]+j*db[2]) {
			return 1
		}
		return 0
	}
	for k := range out {
		i, j := k%2*2-1, k/2*2-1
		beside, above := at(i, 0), at(0, j)
		around := beside + above + at(i, j)
		if beside+above == 2 {
			around = 3
		}
		out[k] = full * (1 - 0.14*float64(around))
	}
	return out
}

// floor draws the grid below the cubes, the axis labels, and the height at the left.
func (s *voxelSheet) floor(v *view, lo, hi [3]float64) {
	at := func(x, y, z float64) vg.Point {
		px, py, _ := v.at([3]float64{x, y, z})
		return vg.Point{X: vg.Length(px * 72 / s.dpi), Y: vg.Length(py * 72 / s.dpi)}
	}
	line := func(st draw.LineStyle, from, to vg.Point) { s.page.StrokeLine2(st, from.X, from.Y, to.X, to.Y) }
	thin, thick := draw.LineStyle{Color: gridColour, Width: 0.5}, draw.LineStyle{Color: ink, Width: 0.7}
	z := lo[2]
	n := func(a, b vg.Point) int { // as many marks as fit
		return int(min(max(math.Hypot((b.X-a.X).Points(), (b.Y-a.Y).Points())/30, 2), 10))
	}
	small := style(8, false)
	small.YAlign = text.YCenter
	mark := func(p, out vg.Point, label string, align text.XAlignment) {
		line(thick, p, vg.Point{X: p.X + 0.4*out.X, Y: p.Y + 0.4*out.Y})
		st := small
		st.XAlign = align
		write(s.page, p.X+out.X, p.Y+out.Y, st, label)
	}
	a, front, b := at(lo[0], lo[1], z), at(hi[0], lo[1], z), at(hi[0], hi[1], z)
	for _, t := range round(lo[0], hi[0], n(a, front)) {
		line(thin, at(t.value, lo[1], z), at(t.value, hi[1], z))
		mark(at(t.value, lo[1], z), vg.Point{X: -4, Y: -7}, t.label, text.XRight)
	}
	for _, t := range round(lo[1], hi[1], n(front, b)) {
		line(thin, at(lo[0], t.value, z), at(hi[0], t.value, z))
		mark(at(hi[0], t.value, z), vg.Point{X: 5, Y: -6}, t.label, text.XLeft)
	}
	top := at(lo[0], lo[1], hi[2])
	last := a.Y - 10
	for _, t := range round(lo[2], hi[2], n(a, top)/2+1) {
		if p := at(lo[0], lo[1], t.value); p.Y >= last+10 { // a flat cloud has no space for more
			mark(p, vg.Point{X: -6}, t.label, text.XRight)
			last = p.Y
		}
	}
	line(thick, a, front)
	line(thick, front, b)
	line(thick, a, top)
	name := style(9, false)
	name.XAlign = text.XCenter
	write(s.page, (a.X+front.X)/2-26, (a.Y+front.Y)/2-26, name, "x (m)")
	write(s.page, (b.X+front.X)/2+30, (b.Y+front.Y)/2-24, name, "y (m)")
	name.XAlign = text.XRight
	write(s.page, top.X+5, top.Y+7, name, "z (m)")
}

// fromAbove draws the highest block of each column.
func (s *voxelSheet) fromAbove(c draw.Canvas) {
	b, lo, hi := s.b, s.lo, s.hi
	w, h := s.pixel(c.Max.X-c.Min.X), s.pixel(c.Max.Y-c.Min.Y)
	scale := min(w/(hi[0]-lo[0]), h/(hi[1]-lo[1])) // pixels a metre
	nx, ny := max(int(scale*(hi[0]-lo[0])+0.5), 1), max(int(scale*(hi[1]-lo[1])+0.5), 1)
	px, py := int(s.pixel(c.Min.X)+(w-float64(nx))/2), int(s.pixel(c.Min.Y)+(h-float64(ny))/2)

	dots := newCanvas(nx, ny)
	over := view{right: [3]float64{1}, up: [3]float64{0, 1}, toward: [3]float64{0, 0, 1}, scale: scale * oversample}
	over.ox, over.oy = -over.scale*lo[0], -over.scale*lo[1]
	for i, at := range b.at {
		x, y, z := int(at[0]), int(at[1]), int(at[2])
		dots.face(&over, b.corner(x, y, z), [3]float64{b.size[0]}, [3]float64{0, b.size[1]}, s.colour(b.value[i]), [4]float64{1, 1, 1, 1}, 0, 2)
	}

	point := func(x, y float64) vg.Point {
		return vg.Point{X: vg.Length((float64(px) + scale*(x-lo[0])) * 72 / s.dpi), Y: vg.Length((float64(py) + scale*(y-lo[1])) * 72 / s.dpi)}
	}
	thin, thick := draw.LineStyle{Color: gridColour, Width: 0.5}, draw.LineStyle{Color: ink, Width: 0.7}
	from, to := point(lo[0], lo[1]), point(hi[0], hi[1])
	small := style(8, false)
	middle, beside := small, small
	middle.XAlign = text.XCenter
	beside.XAlign, beside.YAlign = text.XRight, text.YCenter
	marks := func(l vg.Length, room float64) int { return int(min(max(l.Points()/room, 1), 10)) }
	for _, t := range round(lo[0], hi[0], marks(to.X-from.X, 26)) {
		p := point(t.value, lo[1])
		s.page.StrokeLine2(thin, p.X, from.Y, p.X, to.Y)
		s.page.StrokeLine2(thick, p.X, from.Y, p.X, from.Y-3)
		write(s.page, p.X, from.Y-12, middle, t.label)
	}
	for _, t := range round(lo[1], hi[1], marks(to.Y-from.Y, 26)) {
		p := point(lo[0], t.value)
		s.page.StrokeLine2(thin, from.X, p.Y, to.X, p.Y)
		s.page.StrokeLine2(thick, from.X, p.Y, from.X-3, p.Y)
		write(s.page, from.X-5, p.Y, beside, t.label)
	}
	s.paste(dots.image(), px, py)
	frame := []vg.Point{from, {X: to.X, Y: from.Y}, to, {X: from.X, Y: to.Y}, from}
	s.page.StrokeLines(thick, frame)
	name := style(9, false)
	name.XAlign = text.XCenter
	write(s.page, (from.X+to.X)/2, from.Y-24, name, "x (m)")
	write(s.page, (from.X+to.X)/2, to.Y+6, name, "from above")
	name.Rotation = math.Pi / 2
	write(s.page, from.X-26, (from.Y+to.Y)/2, name, "y (m)")
}

// bar draws the colours with their values.
func (s *voxelSheet) bar(c draw.Canvas) {
	height := c.Max.Y - c.Min.Y
	lo, hi := c.Min.Y+0.2*height, c.Min.Y+0.8*height
	x, n := c.Min.X, int(s.pixel(hi-lo))
	img := image.NewRGBA(image.Rect(0, 0, int(s.pixel(barWidth)), n))
	for i := range n {
		col := mapped((float64(i) + 0.5) / float64(n)).rgba()
		for k := range img.Rect.Dx() {
			img.SetRGBA(k, n-1-i, col)
		}
	}
	s.paste(img, int(s.pixel(x)), int(s.pixel(lo)))
	thick := draw.LineStyle{Color: ink, Width: 0.7}
	s.page.StrokeLines(thick, []vg.Point{{X: x, Y: lo}, {X: x + barWidth, Y: lo}, {X: x + barWidth, Y: hi}, {X: x, Y: hi}, {X: x, Y: lo}})
	small := style(8, false)
	small.YAlign = text.YCenter
	for _, t := range s.scale.ticks(7) {
		y := lo + vg.Length(s.scale.at(t.value))*(hi-lo)
		s.page.StrokeLine2(thick, x+barWidth, y, x+barWidth+3, y)
		write(s.page, x+barWidth+5, y, small, t.label)
	}
	if s.scale.over {
		write(s.page, x, hi+6, small, "and above")
	}
	if s.scale.below {
		write(s.page, x, lo-7, small, "and below")
	}
	name := style(9, false)
	name.XAlign, name.Rotation = text.XCenter, math.Pi/2
	write(s.page, x+barRoom-10, (lo+hi)/2, name, s.Label)
}
