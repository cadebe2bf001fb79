package opstest

import (
	"errors"
	"fmt"
	"image"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesParts returns the tests for Frames.
func framesParts() parts {
	return parts{
		"named":     (*suite).framesNamed,
		"values":    (*suite).framesValues,
		"golden":    (*suite).framesGolden,
		"generated": generated("frames"),

		"edges":                      (*suite).framesEdges,
		"several groups in a thread": (*suite).framesGroups,
		"black":                      (*suite).framesBlack,
		"slot numbers":               (*suite).slotNumbers,
	}
}

// framesNamed tests each format and output, widths around the kernels' groups of 8 pixels and tiles of 32, and extreme sizes.
func (s *suite) framesNamed(t *testing.T) {
	r := rng(77)
	for format := range ops.FrameI010 + 1 {
		for _, resize := range []int{0, 1, 3} { // by 1, up, and down
			c := &framing{Name: fmt.Sprintf("%v, %d", format, resize), Out: tensor.F32, N: 1, C: 3, H: 9, W: 11}
			if format == ops.FrameGray || format == ops.FrameGray16 {
				c.C = 1
			}
			h, w := []int{9, 4, 9, 23}[resize], []int{11, 5, 11, 37}[resize]
			c.Surfaces = []*surface{picture(r, format, 0, h, w, resize*5)}
			s.check(t, c, layouts...)
			again := *c
			again.Opts.Float = true
			s.check(t, &again, layouts[0])
		}
	}
	for _, matrix := range []ops.FrameMatrix{ops.MatrixUnspecified, ops.MatrixBT601, ops.MatrixBT709, ops.MatrixBT2020} {
		for _, full := range []bool{false, true} {
			c := &framing{Name: fmt.Sprint(matrix, full), Out: tensor.U8, C: 3, H: 6, W: 34}
			for _, format := range []ops.FrameFormat{ops.FrameNV12, ops.FrameI420, ops.FrameP016, ops.FrameI010} {
				p := picture(r, format, 0, 6, 34, 0)
				p.Matrix, p.Full = matrix, full
				c.Surfaces = append(c.Surfaces, p)
				c.N++
			}
			s.check(t, c, layouts[1])
		}
	}
	for _, out := range frameOutputs {
		for _, layout := range []ops.FrameLayout{ops.LayoutCHW, ops.LayoutHWC} {
			for _, w := range []int{1, 7, 8, 9, 16, 31, 32, 33, 64, 65} {
				for c := 1; c <= 3; c += 2 {
					format := ops.FrameRGB
					if c == 1 {
						format = ops.FrameGray
					}
					direct := &framing{Name: fmt.Sprintf("%v, %d wide", out, w), Out: out, N: 2, C: c, H: 3, W: w, Opts: ops.FramesOptions{Layout: layout, FlipX: float64(w % 2)}}
					direct.Surfaces = []*surface{picture(r, format, 0, 3, w, 0), picture(r, format, 0, 3, w, 13)}
					s.check(t, direct, layouts...)
				}
			}
			resized := &framing{Name: fmt.Sprint("resized to ", out), Out: out, N: 1, C: 3, H: 35, W: 40, Opts: ops.FramesOptions{Layout: layout, FlipX: 1, FlipY: 1}}
			resized.Surfaces = []*surface{picture(r, ops.FrameRGB, 0, 50, 21, 0)}
			s.check(t, resized, layouts...)
		}
	}
	for _, c := range []struct{ fromH, fromW, h, w int }{{1, 1, 40, 33}, {200, 3, 1, 1}, {1, 300, 2, 2}, {170, 20, 32, 20}, {81, 64, 32, 32}, {97, 131, 33, 65}} {
		for i, o := range []ops.FramesOptions{{}, {Resize: ops.ResizeBilinear}, {Resize: ops.ResizeNearest}, {Float: true}, {Float: true, Resize: ops.ResizeBilinear}} {
			f := &framing{Name: fmt.Sprintf("%v, %d", c, i), Out: tensor.F32, N: 1, C: 3, H: c.h, W: c.w, Opts: o}
			f.Surfaces = []*surface{picture(r, ops.FrameI420, 0, c.fromH, c.fromW, 0)}
			s.check(t, f, layouts[1])
		}
	}
	deep := &framing{Name: "the largest depths", Out: tensor.F32, N: 1, C: 1, H: 3, W: 5, Opts: ops.FramesOptions{White: 1000}}
	deep.Surfaces = []*surface{picture(r, ops.FrameGray16, 0, 40, 90, 0)}
	for i := range deep.Surfaces[0].Planes[0].raw {
		deep.Surfaces[0].Planes[0].raw[i] = 255
	}
	s.check(t, deep, layouts[1])
	s.framesChoices(t)
}

// framesChoices tests windows, flips and jitter.
func (s *suite) framesChoices(t *testing.T) {
	r := rng(78)
	check := func(name string, keys int, crop image.Rectangle, o ops.FramesOptions) {
		for _, format := range []ops.FrameFormat{ops.FrameRGB, ops.FrameNV12, ops.FrameGray} {
			c := &framing{Name: name, Out: tensor.BF16, N: 4, C: 3, H: 8, W: 16, Opts: o}
			if format == ops.FrameGray {
				c.C = 1
			}
			c.Surfaces = []*surface{picture(r, format, 4, 15, 25, 3)}
			c.Surfaces[0].Crop = crop
			if keys > 0 {
				c.Keys = keysOf(r, keys)
			}
			s.check(t, c, layouts...)
		}
	}
	whole := image.Rectangle{}
	check("a rectangle", 0, image.Rect(3, 1, 19, 9), ops.FramesOptions{})
	check("a rectangle, resized", 0, image.Rect(1, 1, 24, 14), ops.FramesOptions{})
	check("centre", 0, whole, ops.FramesOptions{Crop: ops.CropCentre})
	check("centre of the resized", 0, whole, ops.FramesOptions{Crop: ops.CropCentre, Height: 13, Width: 17})
	for _, perFrame := range []bool{false, true} {
		for _, keys := range []int{1, 2, 4} {
			check("random", keys, whole, ops.FramesOptions{Crop: ops.CropRandom, FlipX: 0.5, FlipY: 0.5, Seed: 5, PerFrame: perFrame})
			check("random of the resized", keys, whole, ops.FramesOptions{Crop: ops.CropRandom, Height: 11, Width: 30, FlipX: 0.5, Seed: 6, PerFrame: perFrame})
		}
	}
	for i, o := range []ops.FramesOptions{{Brightness: 0.4}, {Contrast: 0.5}, {Saturation: 1.5}, {Brightness: 0.2, Contrast: 0.2, Saturation: 0.5}} {
		o.Crop = ops.CropRandom
		check("jitter", 2, whole, o)
		o.Height, o.Width, o.PerFrame = 9, 18, true
		check(fmt.Sprint("jitter of the resized ", i), 4, whole, o)
	}
}

// framesGroups tests pictures with more groups of 8 pixels than a block has threads.
func (s *suite) framesGroups(t *testing.T) {
	r := rng(81)
	for _, out := range frameOutputs {
		for i, w := range []int{130, 24, 9} {
			c := &framing{Name: fmt.Sprint("rows of ", w), Out: out, N: 2, C: 3, H: 600 / ((w + 7) / 8), W: w, Opts: ops.FramesOptions{Crop: ops.CropCentre, FlipX: 1, Contrast: float64(i % 2)}, Keys: keysOf(r, 1)}
			c.Surfaces = []*surface{picture(r, ops.FrameRGB, 2, c.H+3, w+3, 0)}
			s.check(t, c, layouts...)
		}
	}
	large := &framing{Name: "sums of more blocks than a warp has lanes", Out: tensor.U8, N: 1, C: 1, H: 270, W: 256, Opts: ops.FramesOptions{Contrast: 0.5}, Keys: keysOf(r, 1)}
	large.Surfaces = []*surface{picture(r, ops.FrameGray, 0, 270, 256, 0)}
	s.check(t, large, layouts[0])
}

// framesValues tests pictures that do not exist. Several frames have one; the first is reported.
func (s *suite) framesValues(t *testing.T) {
	r := rng(79)
	for _, list := range [][]int64{{0, 2, 1, 3}, {-1}, {1, 1 << 40, 7}, {2, 2, 2, 2, 2, -1 << 63}, {}} {
		for _, resized := range []int{0, 3} {
			for _, contrast := range []float64{0, 0.5} {
				c := &framing{Name: fmt.Sprint(list), Out: tensor.U8, N: len(list), C: 3, H: 5, W: 9, Select: arr(list, len(list)), Opts: ops.FramesOptions{Contrast: contrast}, Keys: keysOf(r, 1)}
				c.Surfaces = []*surface{picture(r, ops.FrameRGB, 3, 5+resized, 9, 0)}
				s.run(t, c, layouts[1])
			}
		}
	}
}

// framesSubject returns a Frames of two pictures from a stack that changes.
func framesSubject(resized bool) *subject {
	r := rng(80)
	fresh := func() *array { return picture(r, ops.FrameRGB, 3, 12, 20, 0).Planes[0] }
	c := &framing{Name: "twelve rows", Out: tensor.F32, N: 2, C: 3, H: 8, W: 16, Select: arr([]int64{2, 0}, 2), Keys: keysOf(r, 2),
		Opts: ops.FramesOptions{Crop: ops.CropRandom, FlipX: 0.5, Contrast: 0.5, Seed: 1}}
	if resized {
		c.Name, c.Opts.Height, c.Opts.Width = "resized", 9, 17
	}
	c.Surfaces = []*surface{picture(r, ops.FrameRGB, 3, 12, 20, 0)}
	s := c.Surfaces[0]
	return &subject{operation: c, op: "Frames", inputs: map[string]**array{"Surfaces[0].Planes[0]": &s.Planes[0], "Select": &c.Select, "Keys": &c.Keys},
		change: func(round int) {
			s.Planes[0], c.Select, c.Keys = fresh(), arr([]int64{int64(round) % 3, 1}, 2), keysOf(r, 2)
		}, bad: arr([]int64{0, 3}, 2), badIn: "Select"}
}

// FuzzFrames runs pictures with any sizes, rectangles and options on the devices. The first device is the CPU. Wrong arguments must be an
// *ArgError, and others give the oracle's values.
func FuzzFrames(f *testing.F, devs ...*ops.Device) {
	for i := range uint8(28) {
		f.Add(uint64(i), i, i/7, i*37, 5+i, 9+i, uint8(4), uint8(8), int8(i%3), int8(i%4), int8(20), int8(20), float64(i%3)/2, int64(i))
	}
	f.Add(uint64(1), uint8(0), uint8(3), uint8(255), uint8(1), uint8(1), uint8(33), uint8(9), int8(-1), int8(0), int8(1), int8(1), math.NaN(), int64(-1))
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64, format, out, bits, h, w, toH, toW uint8, x0, y0, x1, y1 int8, number float64, pick int64) {
		c := &framing{Name: "fuzz", Out: frameOutputs[out%4], N: 2, C: 3, H: int(toH % 48), W: int(toW % 48)}
		form := ops.FrameFormat(format % 7)
		if form == ops.FrameGray || form == ops.FrameGray16 {
			c.C = 1
		}
		on := func(bit int) bool { return bits>>bit&1 == 1 }
		s := picture(rng(seed), form, 3, 1+int(h%64), 1+int(w%64), int(bits%7))
		if on(7) {
			s.Crop = image.Rectangle{Min: image.Pt(int(x0), int(y0)), Max: image.Pt(int(x1), int(y1))}
		}
		s.Matrix, s.Full = ops.FrameMatrix(out/4%5), on(0)
		c.Surfaces, c.Select, c.Keys = []*surface{s}, arr([]int64{pick, 1}, 2), keysOf(rng(seed+1), 1+int(format/7%3))
		c.Opts = ops.FramesOptions{Layout: ops.FrameLayout(bits & 1), Resize: ops.FrameResize(bits >> 1 & 3), Crop: ops.FrameCrop(bits >> 3 & 3), Float: on(5), FlipX: number, Seed: seed, PerFrame: on(6)}
		if on(1) {
			c.Valid = validOf(2)
		}
		if on(2) {
			c.Opts.Brightness, c.Opts.Contrast, c.Opts.Saturation = number, number/2, number*2
		}
		if on(4) && c.Opts.Crop != ops.CropNone {
			c.Opts.Height, c.Opts.Width = c.H+int(format%5), c.W+int(out%5)
		}
		if on(3) {
			c.Opts.Mean, c.Opts.Std = []float64{number}, []float64{1 + number}
		}
		var arg *ops.ArgError
		_, err := c.call(devs[0])
		if errors.As(err, &arg) {
			return
		}
		for _, s := range all {
			s.run(t, c, layouts[1])
		}
	})
}
