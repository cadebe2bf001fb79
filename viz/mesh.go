package viz

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/robocache/robocache/surface"
)

// Mesh is triangles with a viewpoint. There must be at least one triangle.
type Mesh struct {
	*surface.Surface
	// Toward is the direction from the mesh to the viewer, and Up is upward in the picture. If they are parallel or zero, the
	// view is that of voxels, in which z is up.
	Toward, Up [3]float64
}

// clay is the colour of a mesh without colours.
var clay = shade{214, 206, 192}

// WriteMeshPNG draws a shaded mesh and writes a PNG image. Triangles that face away from the viewer are left out, so that the
// picture shows a room's inside. Parallel lines stay parallel. A bar shows the scale.
func WriteMeshPNG(w io.Writer, m Mesh, opt Options) error {
	if m.Surface == nil || len(m.Triangles) == 0 {
		return refused(ErrMissing, "Triangles", "none", "at least one")
	}
	v := m.view()
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i := range len(m.Points) / 3 {
		x, y, _ := v.at(m.vector(m.Points, int32(i)))
		lo, hi = [2]float64{min(lo[0], x), min(lo[1], y)}, [2]float64{max(hi[0], x), max(hi[1], y)}
	}
	switch extent := hi[0] - lo[0] + hi[1] - lo[1]; {
	case math.IsNaN(extent) || math.IsInf(extent, 0):
		return refused(ErrOption, "Points", "a point that is not finite", "finite points")
	case len(m.Normals) != len(m.Points):
		return refused(ErrShape, "Normals", fmt.Sprintf("%d numbers", len(m.Normals)), fmt.Sprintf("%d, as Points", len(m.Points)))
	}
	wide, high := max(hi[0]-lo[0], 1e-6), max(hi[1]-lo[1], 1e-6)
	const edge = 12 // around the mesh, in points
	inner := width - 2*edge
	height := min(max(vg.Length(high/wide)*inner+voxelHead+2*edge, leastVoxels), mostVoxels)

	s := &voxelSheet{dpi: float64(cmp.Or(opt.DPI, 120))}
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(int(s.dpi)))
	s.page, s.img = draw.New(c), c.Image()
	scale := min(s.pixel(inner)/wide, s.pixel(height-voxelHead-2*edge)/high) // pixels a metre
	dots := newCanvas(int(math.Ceil(scale*wide))+1, int(math.Ceil(scale*high))+1)
	v.scale = scale * oversample
	v.ox, v.oy = -v.scale*lo[0], -v.scale*lo[1]
	m.shade(dots, &v)
	s.paste(dots.image(), int((s.pixel(width)-scale*wide)/2), int(s.pixel(edge)))

	write(s.page, edge, height-19, style(13, true), opt.Title)
	write(s.page, edge, height-34, style(9, false), fmt.Sprintf("%d triangles, %d points", len(m.Triangles), len(m.Points)/3))
	bar := niceStep(wide / 8)
	end := width - edge
	start := end - vg.Length(bar*scale*72/s.dpi)
	s.page.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.5}, start, height-38, end, height-38)
	write(s.page, start, height-34, style(9, false), label(bar, bar)+" m")
	return writePNG(w, s.img)
}

// shade draws the triangles, brighter where they face the viewer from above.
func (m *Mesh) shade(dots *canvas, v *view) {
	var light [3]float64
	for k := range light {
		light[k] = float64(0.9*v.toward[k]) + float64(0.35*v.up[k]) - float64(0.25*v.right[k])
	}
	for _, t := range m.Triangles {
		p := m.vector(m.Points, t[0])
		col, bright := clay, [4]float64{}
		var sides [3][3]float64
		for i, at := range t {
			n := m.vector(m.Normals, at)
			bright[i] = 0.3 + float64(0.7*max(dot3(n, light), 0))
			q := m.vector(m.Points, at)
			for k := range 3 {
				sides[i][k] = q[k] - p[k]
			}
		}
		if dot3(cross3(sides[1], sides[2]), v.toward) <= 0 {
			continue
		}
		if m.Colors != nil {
			for k := range col {
				col[k] = (float64(m.Colors[3*int(t[0])+k]) + float64(m.Colors[3*int(t[1])+k]) + float64(m.Colors[3*int(t[2])+k])) / 3
			}
		}
		bright[3] = bright[1] + bright[2] - bright[0] // so that the light is linear
		dots.face(v, p, sides[1], sides[2], col, bright, 0, 1)
	}
}

func (m *Mesh) vector(list []float32, i int32) [3]float64 {
	at := list[3*int(i):]
	return [3]float64{float64(at[0]), float64(at[1]), float64(at[2])}
}

// view returns the view with the given directions.
func (m *Mesh) view() view {
	toward, ok := unit(m.Toward)
	right, across := unit(cross3(m.Up, toward))
	if !ok || !across {
		return newView()
	}
	return view{right: right, up: cross3(toward, right), toward: toward, scale: 1}
}

func cross3(a, b [3]float64) (c [3]float64) {
	for k := range c {
		i, j := (k+1)%3, (k+2)%3
		c[k] = float64(a[i]*b[j]) - float64(a[j]*b[i])
	}
	return c
}

// unit returns a vector's direction, and false if it has none.
func unit(a [3]float64) ([3]float64, bool) {
	length := math.Sqrt(dot3(a, a))
	for k := range a {
		a[k] /= length
	}
	return a, length > 1e-9
}
