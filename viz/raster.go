package viz

import (
	"image"
	"image/color"
	"math"
)

// oversample is the number of dots in a pixel, in each direction.
const oversample = 3

// view is a distant camera, so parallel lines stay parallel. It looks down from greater x and smaller y.
type view struct {
	right, up, toward [3]float64
	scale             float64 // dots in a metre
	ox, oy            float64 // the origin's position in dots
}

const (
	azimuth   = -58 * math.Pi / 180
	elevation = 33 * math.Pi / 180
)

func newView() view {
	ca, sa, ce, se := math.Cos(azimuth), math.Sin(azimuth), math.Cos(elevation), math.Sin(elevation)
	return view{
		right:  [3]float64{-sa, ca, 0},
		up:     [3]float64{float64(-se * ca), float64(-se * sa), ce},
		toward: [3]float64{float64(ce * ca), float64(ce * sa), se},
		scale:  1,
	}
}

func dot3(a, b [3]float64) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}

// at returns a point's position in dots from the picture's lower left corner, and its nearness to the camera, where greater is
// nearer.
func (v *view) at(p [3]float64) (x, y, near float64) {
	return v.ox + float64(v.scale*dot3(v.right, p)), v.oy + float64(v.scale*dot3(v.up, p)), dot3(v.toward, p)
}

// canvas is an image of dots with their depth.
type canvas struct {
	w, h  int // dots
	col   []shade
	depth []float32 // greater is nearer; -Inf if nothing is drawn
}

func newCanvas(w, h int) *canvas {
	c := &canvas{w: w * oversample, h: h * oversample}
	c.col, c.depth = make([]shade, c.w*c.h), make([]float32, c.w*c.h)
	for i := range c.depth {
		c.depth[i] = float32(math.Inf(-1))
	}
	return c
}

// face draws the parallelogram from corner p along a and b, or the triangle p, p+a, p+b if most is 1: points p + s*a + t*b with
// s + t up to most. light has the brightness at the corners p, p+a, p+b and p+a+b. The face is darker within edge dots from its
// sides.
func (c *canvas) face(v *view, p, a, b [3]float64, col shade, light [4]float64, edge, most float64) {
	x, y, near := v.at(p)
	ax, ay, az := v.scale*dot3(v.right, a), v.scale*dot3(v.up, a), dot3(v.toward, a)
	bx, by, bz := v.scale*dot3(v.right, b), v.scale*dot3(v.up, b), dot3(v.toward, b)
	det := ax*by - ay*bx
	if det == 0 {
		return
	}
	la, lb := math.Hypot(ax, ay), math.Hypot(bx, by)
	x0, x1 := span4(x, ax, bx, c.w)
	y0, y1 := span4(y, ay, by, c.h)
	for row := y0; row < y1; row++ {
		for at := x0; at < x1; at++ {
			dx, dy := float64(at)+0.5-x, float64(row)+0.5-y
			s, t := (dx*by-dy*bx)/det, (ax*dy-ay*dx)/det
			if s < 0 || s >= 1 || t < 0 || t >= 1 || s+t > most {
				continue
			}
			i := (c.h-1-row)*c.w + at
			z := float32(near + s*az + t*bz)
			if z <= c.depth[i] {
				continue
			}
			f := (light[0]*(1-s)+light[1]*s)*(1-t) + (light[2]*(1-s)+light[3]*s)*t
			if min(s, 1-s)*la < edge || min(t, 1-t)*lb < edge {
				f *= 0.82
			}
			c.depth[i], c.col[i] = z, col.times(f)
		}
	}
}

// span4 returns the range of dots that contains x, x+a, x+b and x+a+b, cut to 0..limit.
func span4(x, a, b float64, limit int) (int, int) {
	lo, hi := x+min(a, 0)+min(b, 0), x+max(a, 0)+max(b, 0)
	return max(int(math.Floor(lo)), 0), min(int(math.Ceil(hi))+1, limit)
}

// image returns an image with the mean of each pixel's dots. Pixels without dots are transparent.
func (c *canvas) image() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, c.w/oversample, c.h/oversample))
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			var sum shade
			n := 0
			for k := range oversample * oversample {
				i := (y*oversample+k/oversample)*c.w + x*oversample + k%oversample
				if math.IsInf(float64(c.depth[i]), -1) {
					continue
				}
				n++
				for j := range sum {
					sum[j] += c.col[i][j]
				}
			}
			if n > 0 {
				q := sum.times(1 / float64(n)).rgba()
				alpha := uint8(255 * n / (oversample * oversample))
				img.SetNRGBA(x, y, color.NRGBA{R: q.R, G: q.G, B: q.B, A: alpha})
			}
		}
	}
	return img
}
