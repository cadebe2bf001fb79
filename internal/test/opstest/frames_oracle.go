package opstest

import (
	"image"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// frameOracle computes one frame pixel by pixel, by the formulas in docs/operations.md.
type frameOracle struct {
	c       *framing
	s       *surface
	picture int
	crop    image.Rectangle
	size    image.Point // of the resized picture
	changes ops.FrameChanges
}

// oracle returns the oracle for frame n, or nil if its picture does not exist.
func (c *framing) oracle(n int) *frameOracle {
	o := &frameOracle{c: c, s: c.Surfaces[0]}
	if c.Select != nil {
		o.picture = int(c.Select.int(c.Select.at(n)))
		if o.picture < 0 || o.picture >= o.s.Count {
			return nil
		}
	} else {
		for o.picture = n; o.picture >= o.s.Count; o.s = c.Surfaces[c.indexOf(o.s)+1] {
			o.picture -= o.s.Count
		}
	}
	if o.crop = o.s.Crop; o.crop.Empty() {
		o.crop = image.Rect(0, 0, o.s.W, o.s.H)
	}
	o.size = image.Pt(c.W, c.H)
	if c.Opts.Crop != ops.CropNone {
		if o.size = image.Pt(c.Opts.Width, c.Opts.Height); c.Opts.Width == 0 {
			o.size = o.crop.Size()
		}
	}
	var key [2]int64
	t, rows := 0, 1
	if c.Keys != nil {
		rows = c.Keys.shape[0]
		key = [2]int64{c.Keys.int(c.Keys.at(n/(c.N/rows), 0)), c.Keys.int(c.Keys.at(n/(c.N/rows), 1))}
		t = n % (c.N / rows)
		o.changes = chosen(&c.Opts, key, t, o.size, image.Pt(c.W, c.H))
	} else {
		o.changes = chosen(&c.Opts, key, 0, o.size, image.Pt(c.W, c.H))
		o.changes.FlipX, o.changes.FlipY = c.Opts.FlipX == 1, c.Opts.FlipY == 1
	}
	return o
}

func (c *framing) indexOf(s *surface) int {
	for i := range c.Surfaces {
		if c.Surfaces[i] == s {
			return i
		}
	}
	panic("opstest: no such surface")
}

// chosen makes the random choices by the formula of FramesOptions.Choose.
func chosen(o *ops.FramesOptions, key [2]int64, t int, size, window image.Point) (out ops.FrameChanges) {
	mix := func(x uint32) uint32 {
		x = (x ^ x>>16) * 0x85ebca6b
		x = (x ^ x>>13) * 0xc2b2ae35
		return x ^ x>>16
	}
	into := func(k uint32, x uint64) uint32 { return mix(mix(k^uint32(x)) ^ uint32(x>>32)) }
	if !o.PerFrame {
		t = 0
	}
	u := func(choice uint64) float64 {
		k := into(into(mix(mix(uint32(o.Seed)+0x9e3779b9)^uint32(o.Seed>>32)), uint64(key[0])), 1<<33+choice)
		return float64(mix(into(k, uint64(key[1]))^uint32(t))) / (1 << 32)
	}
	switch o.Crop {
	case ops.CropCentre:
		out.Y, out.X = int(math.RoundToEven(float64(size.Y-window.Y)/2)), int(math.RoundToEven(float64(size.X-window.X)/2))
	case ops.CropRandom:
		out.Y, out.X = int(u(0)*float64(size.Y-window.Y+1)), int(u(1)*float64(size.X-window.X+1))
	}
	out.FlipX, out.FlipY = u(2) < o.FlipX, u(3) < o.FlipY
	factor := func(choice uint64, x float64) float32 {
		low := max(1-x, 0)
		part := float32(math.Floor(u(choice)*(1<<24)) / (1 << 24))
		return float32(low) + float32(float32(1+x-low)*part)
	}
	out.Brightness, out.Contrast, out.Saturation = factor(4, o.Brightness), factor(5, o.Contrast), factor(6, o.Saturation)
	return out
}

// sample returns the sample of a plane in the surface, before shifts.
func (o *frameOracle) sample(plane, x, y, byteAt int) int {
	a := o.s.Planes[plane]
	index := []int{y, x}
	if o.s.Stack {
		index = append([]int{o.picture}, index...)
	}
	if len(a.shape) > len(index) {
		index = append(index, byteAt)
	}
	return int(a.raw[a.at(index...)])
}

// pixel returns a channel of a pixel in the surface, after the colour rule.
func (o *frameOracle) pixel(x, y, ch int) int {
	s := o.s
	word := func(plane, x, y, at int) int { return o.sample(plane, x, y, at) + o.sample(plane, x, y, at+1)<<8 }
	bits := 8
	var luma, u, v int
	cx, cy := x/2, y/2
	switch s.Format {
	case ops.FrameRGB:
		return o.sample(0, x, y, ch)
	case ops.FrameGray:
		return o.sample(0, x, y, 0)
	case ops.FrameGray16:
		return word(0, x, y, 0)
	case ops.FrameNV12:
		luma, u, v = o.sample(0, x, y, 0), o.sample(1, cx, cy, 0), o.sample(1, cx, cy, 1)
	case ops.FrameI420:
		luma, u, v = o.sample(0, x, y, 0), o.sample(1, cx, cy, 0), o.sample(2, cx, cy, 0)
	default:
		if bits = s.Bits; bits == 0 {
			bits = 10
		}
		luma, u, v = word(0, x, y, 0), word(1, cx, cy, 0), 0
		if s.Format == ops.FrameP016 {
			v = word(1, cx, cy, 2)
			luma, u, v = luma>>(16-bits), u>>(16-bits), v>>(16-bits)
		} else {
			v = word(2, cx, cy, 0)
			luma, u, v = luma%(1<<bits), u%(1<<bits), v%(1<<bits)
		}
	}
	return yuv(luma, u, v, bits, s.Matrix, s.Full)[ch]
}

// yuv converts a 4:2:0 pixel with coefficients rounded to 20 fractional bits.
func yuv(luma, u, v, bits int, matrix ops.FrameMatrix, full bool) [3]int {
	kr, kb := 0.299, 0.114
	switch matrix {
	case ops.MatrixBT709:
		kr, kb = 0.2126, 0.0722
	case ops.MatrixBT2020:
		kr, kb = 0.2627, 0.0593
	}
	step := float64(int(1) << (bits - 8)) // samples per 8-bit step
	black, lumas, chromas := 16*step, 219*step, 224*step
	if full {
		black, lumas = 0, 256*step-1
		chromas = lumas
	}
	d, e, f := luma-int(black), u-int(128*step), v-int(128*step)
	c := func(x float64) int { return int(math.Floor(x*(1<<20) + 0.5)) }
	y := c(255/lumas) * d
	sums := [3]int{
		y + c(2*(1-kr)*255/chromas)*f,
		y - c(2*(1-kb)*kb/(1-kr-kb)*255/chromas)*e - c(2*(1-kr)*kr/(1-kr-kb)*255/chromas)*f,
		y + c(2*(1-kb)*255/chromas)*e,
	}
	for i, x := range sums {
		sums[i] = int(min(max(math.Floor(float64(x)/(1<<20)+0.5), 0), 255))
	}
	return sums
}

// tap is a source pixel's weight.
type tap struct {
	at     int
	weight float64
}

// tapsOf returns the weights for pixel i of n pixels, made from size pixels.
func tapsOf(rule ops.FrameResize, i, size, n int) (out []tap) {
	scale := float64(size) / float64(n)
	centre, reach := (float64(i)+0.5)*scale, 1.0
	switch {
	case size == n:
		return []tap{{i, 1}}
	case rule == ops.ResizeNearest:
		return []tap{{(2*i + 1) * size / (2 * n), 1}}
	case rule == ops.ResizeAntialias && scale > 1:
		reach = scale
	}
	sum := 0.0
	for x := range size {
		if float64(x) >= math.Trunc(centre-reach+0.5) && x < int(centre+reach+0.5) {
			w := max(1-math.Abs((float64(x)-centre+0.5)*(1/reach)), 0)
			out = append(out, tap{x, w})
			sum += w
		}
	}
	for k := range out {
		out[k].weight /= sum
	}
	return out
}

// resized returns a channel of a pixel in the resized picture: a whole number, or with FramesOptions.Float a sum in float64.
func (o *frameOracle) resized(x, y, ch int) float64 {
	whole := func(list []tap, at func(int) float64) float64 {
		sum := 0.0
		for _, t := range list {
			if w := t.weight; o.c.Opts.Float {
				sum += w * at(t.at)
			} else {
				sum += math.Floor(w*(1<<22)+0.5) * at(t.at)
			}
		}
		if o.c.Opts.Float {
			return sum
		}
		return min(math.Floor(sum/(1<<22)+0.5), o.c.top())
	}
	columns := tapsOf(o.c.Opts.Resize, x, o.crop.Dx(), o.size.X)
	return whole(tapsOf(o.c.Opts.Resize, y, o.crop.Dy(), o.size.Y), func(row int) float64 {
		return whole(columns, func(column int) float64 { return float64(o.pixel(o.crop.Min.X+column, o.crop.Min.Y+row, ch)) })
	})
}

// frame returns the frame's values in the order H, W, C, before the normalisation.
func (o *frameOracle) frame() []float64 {
	c := o.c
	out := make([]float64, c.H*c.W*c.C)
	for i := range out {
		ch, x, y := i%c.C, i/c.C%c.W, i/c.C/c.W
		if o.changes.FlipX {
			x = c.W - 1 - x
		}
		if o.changes.FlipY {
			y = c.H - 1 - y
		}
		out[i] = o.resized(o.changes.X+x, o.changes.Y+y, ch)
	}
	blend := func(f float32, x, other float64) float64 {
		sum := float32(float32(f*float32(x)) + float32(float32(1-f)*float32(other)))
		return math.Trunc(float64(min(max(sum, 0), 255)))
	}
	shade := func(i int) float64 {
		if c.C == 1 {
			return out[i]
		}
		r, g, b := float32(out[3*i]), float32(out[3*i+1]), float32(out[3*i+2])
		sum := float32(float32(0.2989)*r) + float32(float32(0.587)*g)
		return math.Trunc(float64(sum + float32(float32(0.114)*b)))
	}
	if c.Opts.Brightness > 0 {
		for i, x := range out {
			out[i] = blend(o.changes.Brightness, x, 0)
		}
	}
	if c.Opts.Contrast > 0 {
		sum := 0.0
		for i := range c.H * c.W {
			sum += shade(i)
		}
		for i, x := range out {
			out[i] = blend(o.changes.Contrast, x, float64(float32(sum/float64(c.H*c.W))))
		}
	}
	if c.Opts.Saturation > 0 && c.C == 3 {
		for i := range c.H * c.W {
			gray := shade(i)
			for ch := range 3 {
				out[3*i+ch] = blend(o.changes.Saturation, out[3*i+ch], gray)
			}
		}
	}
	return out
}

// level returns the output for a value.
func (c *framing) level(v float64, ch int) float64 {
	if c.Out == tensor.U8 {
		return v
	}
	of := func(list []float64, none float64) float32 {
		if len(list) == 0 {
			return float32(none)
		}
		return float32(list[ch%len(list)])
	}
	white := c.Opts.White
	if white == 0 {
		white = c.top()
	}
	if c.Opts.Float {
		return (v/float64(float32(white)) - float64(of(c.Opts.Mean, 0))) / float64(of(c.Opts.Std, 1))
	}
	x := float32(v) / float32(white)
	x -= of(c.Opts.Mean, 0)
	return float64(x / of(c.Opts.Std, 1))
}
