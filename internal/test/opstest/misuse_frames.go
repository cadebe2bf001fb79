package opstest

import (
	"context"
	"fmt"
	"image"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesCall is a Frames of two pictures with 6x8 pixels, or with Select of a stack of three.
type framesCall struct {
	maker
	args ops.FramesArgs
	opts ops.FramesOptions
}

// framesMisuses returns the wrong calls of Frames, with two surfaces and with a stack.
func framesMisuses() []*misuses[framesCall] {
	of := func(stack bool) *misuses[framesCall] {
		return &misuses[framesCall]{
			op: "Frames",
			good: func(m maker, c *framesCall) {
				c.maker, c.args, c.opts = m, ops.FramesArgs{Dst: m.new(tensor.F32, 2, 3, 3, 4), Keys: m.new(tensor.I64, 2, 2)}, ops.FramesOptions{FlipX: 0.5}
				if stack {
					c.args.Select, c.args.Valid = m.ints(2, 0), m.new(tensor.U8, 2)
					c.args.Surfaces = []ops.FrameSurface{{Planes: [3]*tensor.Tensor{m.new(tensor.U8, 3, 6, 8, 3)}}}
					return
				}
				c.args.Surfaces = []ops.FrameSurface{{Planes: [3]*tensor.Tensor{m.new(tensor.U8, 6, 8, 3)}}, {Format: ops.FrameNV12, Planes: [3]*tensor.Tensor{m.new(tensor.U8, 6, 8), m.new(tensor.U8, 3, 4, 2)}}}
			},
			places: func(c *framesCall) []place {
				if stack {
					return []place{{"Keys", &c.args.Keys}, {"Select", &c.args.Select}, {"Valid", &c.args.Valid}}
				}
				places := []place{{"Dst", &c.args.Dst}}
				if len(c.args.Surfaces) > 1 {
					places = append(places, place{"Surfaces[1].Planes[1]", &c.args.Surfaces[1].Planes[1]})
				}
				return places
			},
			needed: []string{"Dst", "Keys", "Surfaces[1].Planes[1]"},
			plan:   func(dev *ops.Device, c *framesCall) error { _, err := dev.PlanFrames(c.args, c.opts); return err },
			call:   func(dev *ops.Device, c *framesCall) error { return dev.Frames(context.Background(), c.args, c.opts) },
		}
	}
	two, stack := of(false), of(true)
	add := func(name, arg string, kind error, spoil func(*framesCall)) {
		two.wrong = append(two.wrong, wrong[framesCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	option := func(name, arg string, edit func(*ops.FramesOptions)) {
		add(name, "Options."+arg, ops.ErrOption, func(c *framesCall) { edit(&c.opts) })
	}
	plane := func(name string, kind error, make func(m maker) *tensor.Tensor) {
		add(name, "Surfaces[0].Planes[0]", kind, func(c *framesCall) { c.args.Surfaces[0].Planes[0] = make(c.maker) })
	}
	plane("no plane", ops.ErrMissing, func(maker) *tensor.Tensor { return nil })
	plane("a closed plane", ops.ErrClosed, func(m maker) *tensor.Tensor { return m.closed(tensor.U8, 6, 8, 3) })
	plane("a plane of i32", ops.ErrDType, func(m maker) *tensor.Tensor { return m.new(tensor.I32, 6, 8, 3) })
	plane("a plane of rank 2", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(tensor.U8, 6, 8) })
	plane("a stack of stacks", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(tensor.U8, 1, 1, 6, 8, 3) })
	plane("four bytes in a pixel", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(tensor.U8, 6, 8, 4) })
	plane("a plane without rows", ops.ErrShape, func(m maker) *tensor.Tensor { return m.new(tensor.U8, 0, 8, 3) })
	plane("gaps between bytes", ops.ErrStride, func(m maker) *tensor.Tensor { return m.apart(tensor.U8, 6, 8, 3) })
	plane("gaps between pixels", ops.ErrStride, func(m maker) *tensor.Tensor {
		return tensor.Must(m.new(tensor.U8, 6, 8, 4).AsStrided([]int{6, 8, 3}, []int{32, 4, 1}, 0))
	})
	plane("a row of 2^15+1 pixels", ops.ErrTooLarge, func(m maker) *tensor.Tensor { return m.new(tensor.U8, 1, 1<<15+1, 3) })
	add("a plane too many", "Surfaces[0].Planes[1]", ops.ErrOption, func(c *framesCall) { c.args.Surfaces[0].Planes[1] = c.new(tensor.U8, 3, 4, 2) })
	add("no surfaces", "Surfaces", ops.ErrMissing, func(c *framesCall) { c.args.Surfaces = nil })
	add("three pictures for two frames", "Dst", ops.ErrShape, func(c *framesCall) { c.args.Surfaces = append(c.args.Surfaces, c.args.Surfaces[0]) })
	add("two surfaces with Select", "Surfaces", ops.ErrShape, func(c *framesCall) { c.args.Select = c.ints(0, 1) })
	add("Valid without Select", "Valid", ops.ErrOption, func(c *framesCall) { c.args.Valid = c.new(tensor.U8, 2) })
	add("Valid in a picture", "Valid", ops.ErrOverlap, func(c *framesCall) {
		c.args.Surfaces, c.args.Select = c.args.Surfaces[:1], c.ints(0, 0)
		c.args.Valid = tensor.Must(tensor.Must(c.args.Surfaces[0].Planes[0].Reshape(144)).Slice(0, 5, 7))
	})
	add("an output in a picture", "Dst", ops.ErrOverlap, func(c *framesCall) {
		both := c.new(tensor.U8, 300)
		c.args.Dst = tensor.Must(both.AsStrided([]int{2, 3, 3, 4}, []int{36, 12, 4, 1}, 0))
		c.args.Surfaces[0].Planes[0] = tensor.Must(both.AsStrided([]int{6, 8, 3}, []int{24, 3, 1}, 60))
	})
	add("gaps between channels", "Dst", ops.ErrStride, func(c *framesCall) {
		c.args.Dst = tensor.Must(c.new(tensor.F32, 2, 3, 4, 4).AsStrided([]int{2, 3, 3, 4}, []int{48, 16, 4, 1}, 0))
	})
	add("channels last", "Dst", ops.ErrShape, func(c *framesCall) {
		c.args.Dst = c.new(tensor.F32, 2, 3, 4, 3)
		c.args.Dst = tensor.Must(c.args.Dst.Reshape(2, 9, 4, 1))
	})
	for name, edit := range map[string]func(*ops.FrameSurface){
		"Format": func(s *ops.FrameSurface) { s.Format = 99 },
		"Matrix": func(s *ops.FrameSurface) { s.Matrix = 99 },
		"Bits":   func(s *ops.FrameSurface) { s.Bits = 10 },
		"Crop":   func(s *ops.FrameSurface) { s.Crop = image.Rect(0, 0, 9, 6) },
	} {
		add("surface "+name, "Surfaces[1]."+name, ops.ErrOption, func(c *framesCall) { edit(&c.args.Surfaces[1]) })
	}
	gray := func(c *framesCall, format ops.FrameFormat, shape ...int) {
		c.args.Surfaces = []ops.FrameSurface{{Format: format, Planes: [3]*tensor.Tensor{c.new(tensor.U8, shape...)}}}
	}
	add("gray for three channels", "Surfaces[0].Format", ops.ErrOption, func(c *framesCall) { gray(c, ops.FrameGray, 2, 6, 8) })
	add("gray beside gray16", "Surfaces[1].Format", ops.ErrOption, func(c *framesCall) {
		c.args.Dst = c.new(tensor.F32, 2, 1, 3, 4)
		gray(c, ops.FrameGray, 6, 8)
		c.args.Surfaces = append(c.args.Surfaces, ops.FrameSurface{Format: ops.FrameGray16, Planes: [3]*tensor.Tensor{c.new(tensor.U8, 6, 8, 2)}})
	})
	add("gray16 to u8", "Dst", ops.ErrDType, func(c *framesCall) { c.args.Dst = c.new(tensor.U8, 2, 1, 3, 4); gray(c, ops.FrameGray16, 2, 6, 8, 2) })
	add("jitter of gray16", "Options.Brightness", ops.ErrOption, func(c *framesCall) {
		c.args.Dst, c.opts.Contrast = c.new(tensor.F32, 2, 1, 3, 4), 0.5
		gray(c, ops.FrameGray16, 2, 6, 8, 2)
	})
	add("a mean for u8", "Options.Mean", ops.ErrOption, func(c *framesCall) { c.args.Dst, c.opts.Mean = c.new(tensor.U8, 2, 3, 3, 4), []float64{0.5} })
	add("Float for u8", "Options.Float", ops.ErrOption, func(c *framesCall) { c.args.Dst, c.opts.Float = c.new(tensor.U8, 2, 3, 3, 4), true })
	add("a window larger than the picture", "Surfaces[0].Crop", ops.ErrOption, func(c *framesCall) {
		c.opts.Crop, c.args.Surfaces[0].Crop = ops.CropCentre, image.Rect(1, 1, 4, 6)
	})
	add("no keys", "Keys", ops.ErrMissing, func(c *framesCall) { c.args.Keys, c.opts = nil, ops.FramesOptions{Crop: ops.CropRandom} })
	add("no keys for jitter", "Keys", ops.ErrMissing, func(c *framesCall) { c.args.Keys, c.opts = nil, ops.FramesOptions{Saturation: 1} })
	for _, x := range []float64{-0.1, 1.1, math.NaN()} {
		option(fmt.Sprint("a probability of ", x), "FlipX", func(o *ops.FramesOptions) { o.FlipX = x })
		option(fmt.Sprint("a probability of ", x), "FlipY", func(o *ops.FramesOptions) { o.FlipY = x })
	}
	for _, x := range []float64{-0.1, math.Inf(1), math.NaN(), 1e300} {
		option(fmt.Sprint("a change of ", x), "Brightness", func(o *ops.FramesOptions) { o.Brightness = x })
		option(fmt.Sprint("a change of ", x), "Contrast", func(o *ops.FramesOptions) { o.Contrast = x })
		option(fmt.Sprint("a change of ", x), "Saturation", func(o *ops.FramesOptions) { o.Saturation = x })
		option(fmt.Sprint("a white of ", x), "White", func(o *ops.FramesOptions) { o.White = x })
	}
	for _, x := range []float64{-1, 0, math.Inf(1), math.NaN(), 1e-300} {
		option(fmt.Sprint("a deviation of ", x), "Std", func(o *ops.FramesOptions) { o.Std = []float64{1, 1, x} })
	}
	option("a mean without end", "Mean", func(o *ops.FramesOptions) { o.Mean = []float64{math.Inf(-1)} })
	option("two means", "Mean", func(o *ops.FramesOptions) { o.Mean = []float64{0, 0} })
	option("a white near 0", "White", func(o *ops.FramesOptions) { o.White = 1e-300 })
	option("a white and a deviation near 0", "White", func(o *ops.FramesOptions) { o.White, o.Std = 1e-30, []float64{1e-30} })
	option("Float and jitter", "Float", func(o *ops.FramesOptions) { o.Float, o.Brightness = true, 0.5 })
	option("an unknown rule", "Resize", func(o *ops.FramesOptions) { o.Resize = 99 })
	option("an unknown window", "Crop", func(o *ops.FramesOptions) { o.Crop = 99 })
	option("a size without a window", "Height", func(o *ops.FramesOptions) { o.Height, o.Width = 3, 4 })
	option("a size below the window", "Height", func(o *ops.FramesOptions) { o.Crop, o.Height, o.Width = ops.CropCentre, 3, 3 })
	option("a height only", "Height", func(o *ops.FramesOptions) { o.Crop, o.Height = ops.CropCentre, 3 })
	option("a size too large", "Height", func(o *ops.FramesOptions) { o.Crop, o.Height, o.Width = ops.CropCentre, 3, 1<<15+1 })
	option("an unknown layout", "Layout", func(o *ops.FramesOptions) { o.Layout = 99 })
	option("an unknown launch", "Launch", func(o *ops.FramesOptions) { o.Launch = 99 })
	return []*misuses[framesCall]{two, stack}
}
