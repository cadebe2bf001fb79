package opstest

import (
	"image"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesEdges tests jitter where the rounding of one float decides a whole sample: brightness of a sample just below a whole number, contrast of
// pictures with one shade, and shades that are whole numbers but for the rounding. Each runs as it is and with the picture twice as large.
func (s *suite) framesEdges(t *testing.T) {
	const n, h, w = 4, 8, 32
	check := func(name string, o ops.FramesOptions, numbers []int64, channels int, sample func(frame, i int) int) {
		for _, resized := range []bool{false, true} {
			c := &framing{Name: name, Out: tensor.U8, N: n, C: channels, H: h, W: w, Opts: o}
			if resized {
				c.H, c.W, c.Opts.Resize = 2*h, 2*w, ops.ResizeNearest
			}
			format, shape := ops.FrameRGB, []int{n, h, w, 3}
			if channels == 1 {
				format, shape = ops.FrameGray, shape[:3]
			}
			a := packed(tensor.U8, nil, shape...)
			for i := range a.len() {
				a.raw = append(a.raw, uint64(sample(i/(h*w*channels), i%(h*w*channels))))
			}
			var keys []int64
			for _, number := range numbers[:n] {
				keys = append(keys, 0, number)
			}
			c.Keys = arr(keys, n, 2)
			c.Surfaces = []*surface{{FrameSurface: ops.FrameSurface{Format: format}, Planes: []*array{a}, Stack: true, Count: n, H: h, W: w}}
			s.run(t, c, layouts[0])
		}
	}
	// found returns numbers for which a choice passes a test.
	found := func(o ops.FramesOptions, test func(ops.FrameChanges) bool) (numbers []int64) {
		for number := int64(0); len(numbers) < n; number++ {
			if test(chosen(&o, [2]int64{0, number}, 0, image.Pt(w, h), image.Pt(w, h))) {
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	bright := ops.FramesOptions{Brightness: 0.5}
	check("brightness", bright, found(bright, func(g ops.FrameChanges) bool {
		for v := range 256 {
			exact := float64(g.Brightness) * float64(v)
			if got := g.Brightness * float32(v); got < 256 && math.Floor(exact) < math.Floor(float64(got)) {
				return true
			}
		}
		return false
	}), 1, func(_, i int) int { return i % 256 })
	contrast := ops.FramesOptions{Contrast: 0.5}
	shades := [n]int{}
	numbers := found(contrast, func(g ops.FrameChanges) bool {
		for v := 1; v < 256; v++ {
			q := 1 - g.Contrast
			if got := float32(g.Contrast*float32(v)) + float32(q*float32(v)); got < float32(v) {
				return true
			}
		}
		return false
	})
	for k, number := range numbers {
		g := chosen(&contrast, [2]int64{0, number}, 0, image.Pt(w, h), image.Pt(w, h))
		for v := 1; v < 256; v++ {
			if float32(g.Contrast*float32(v))+float32((1-g.Contrast)*float32(v)) < float32(v) {
				shades[k] = v
			}
		}
	}
	check("contrast", contrast, numbers, 1, func(frame, _ int) int { return shades[frame] })
	var pixels [][3]int
	for r := range 256 {
		for g := range 256 {
			for b := range 256 {
				if sum := 2989*r + 5870*g + 1140*b; sum > 0 && sum%10000 == 0 {
					pixels = append(pixels, [3]int{r, g, b})
				}
			}
		}
	}
	whole := func(frame, i int) int { return pixels[(frame*h*w+i/3)*(len(pixels)/(n*h*w))][i%3] }
	check("saturation", ops.FramesOptions{Saturation: 1}, []int64{1, 2, 3, 4}, 3, whole)
	check("contrast of whole shades", ops.FramesOptions{Contrast: 1, Saturation: 1}, []int64{5, 6, 7, 8}, 3, whole)
}
