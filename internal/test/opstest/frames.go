package opstest

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framing is a case for Frames.
type framing struct {
	Name       string
	Surfaces   []*surface
	Select     *array
	Valid      *array // what it holds before
	Keys       *array
	Out        tensor.DType
	N, C, H, W int
	Opts       ops.FramesOptions
}

// surface is a picture, or a stack of Count pictures.
type surface struct {
	ops.FrameSurface // without its planes
	Planes           []*array
	Stack            bool
	Count, H, W      int
}

// formatBytes has the bytes of a pixel in each plane.
var formatBytes = map[ops.FrameFormat][]int{ops.FrameRGB: {3}, ops.FrameGray: {1}, ops.FrameGray16: {2}, ops.FrameNV12: {1, 2}, ops.FrameI420: {1, 1, 1}, ops.FrameP016: {2, 4}, ops.FrameI010: {2, 2, 2}}

// picture returns a surface of samples from r, with a pitch that has `gap` more bytes than a row. count is the length of the stack, or 0 for a
// single picture.
func picture(r *rand.Rand, format ops.FrameFormat, count, h, w, gap int) *surface {
	s := &surface{FrameSurface: ops.FrameSurface{Format: format}, Stack: count > 0, Count: max(count, 1), H: h, W: w}
	for p, bytes := range formatBytes[format] {
		rows, columns := h, w
		if p > 0 {
			rows, columns = (h+1)/2, (w+1)/2
		}
		shape, strides := []int{rows, columns}, []int{columns*bytes + gap, bytes}
		if bytes > 1 {
			shape, strides = append(shape, bytes), append(strides, 1)
		}
		if s.Stack {
			shape, strides = append([]int{s.Count}, shape...), append([]int{rows*strides[0] + 3*gap}, strides...)
		}
		a := packed(tensor.U8, nil, shape...)
		for range a.len() {
			a.raw = append(a.raw, uint64(r.IntN(256)))
		}
		s.Planes = append(s.Planes, a.restride(strides, gap%5, gap%3, poison(tensor.U8)))
	}
	return s
}

// top returns the largest whole sample.
func (c *framing) top() float64 {
	if c.Surfaces[0].Format == ops.FrameGray16 {
		return math.MaxUint16
	}
	return math.MaxUint8
}

func (c *framing) args(put func(*array) *tensor.Tensor) ops.FramesArgs {
	a := ops.FramesArgs{Select: put(c.Select), Keys: put(c.Keys)}
	for _, s := range c.Surfaces {
		f := s.FrameSurface
		for p, plane := range s.Planes {
			f.Planes[p] = put(plane)
		}
		a.Surfaces = append(a.Surfaces, f)
	}
	return a
}

// shape returns the output's shape.
func (c *framing) shape() []int {
	if c.Opts.Layout == ops.LayoutHWC {
		return []int{c.N, c.H, c.W, c.C}
	}
	return []int{c.N, c.C, c.H, c.W}
}

func (c *framing) plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put)
	a := packed(c.Out, nil, c.shape()...)
	a.strides[0] += l.row
	a.offset = l.front
	args.Dst = p.out("Dst", a, l.end)
	if c.Valid != nil {
		args.Valid = p.out("Valid", spaced(tensor.U8, []int{c.N}, 0, 0, l.sideOffset), l.end, c.Valid.raw...)
	}
	opts := c.Opts
	opts.Launch = mode
	return p.dev.PlanFrames(args, opts)
}

func (c *framing) call(dev *ops.Device) (*result, error) {
	args := c.args((*array).host)
	args.Dst, args.Valid = tensor.Must(tensor.New(c.Out, c.shape()...)), c.Valid.host()
	if err := dev.Frames(context.Background(), args, c.Opts); err != nil {
		return nil, err
	}
	return resultOf(map[string]*tensor.Tensor{"Dst": args.Dst, "Valid": args.Valid}), nil
}

func (c *framing) name() string { return c.Name }

func (c *framing) traits() traits { return traits{modes: modesOf(c.Opts.Launch), again: true} }

func (c *framing) describe() string {
	o := &c.Opts
	text := fmt.Sprintf("%s/%s/%d/%s flips=%v,%v crop=%s/%d resize=%s/%v jitter=%v,%v,%v keys=%v/%v select=%v/%v width=%d/%s/%s/%d", c.Out, o.Layout, c.C, c.Surfaces[0].Format,
		o.FlipX > 0, o.FlipY > 0, o.Crop, o.Height, o.Resize, o.Float, o.Brightness > 0, o.Contrast > 0, o.Saturation > 0, c.Keys != nil, o.PerFrame, c.Select != nil, c.Valid != nil, c.W, c.Out, o.Layout, c.C)
	for _, s := range c.Surfaces {
		text += fmt.Sprintf(" %s/%s/%v/%d %s/%dx%d->%dx%d/%v %s/%s/%v", s.Format, s.Matrix, s.Full, s.Bits, s.Format, s.W, s.H, c.W, c.H, s.Crop.Empty(), s.Format, o.Resize, o.Float)
	}
	return text
}

func (c *framing) solve(*suite) (*ops.ValueError, func(*result) string) {
	var want []float64
	for n := range c.N {
		o := c.oracle(n)
		if o == nil && c.Valid == nil {
			return &ops.ValueError{Op: "Frames", Arg: "Select", Row: n, Kind: ops.ErrRows}, nil
		}
		frame := make([]float64, c.H*c.W*c.C) // black
		if o != nil {
			frame = o.frame()
		}
		for i := range frame {
			if c.Opts.Layout == ops.LayoutHWC {
				want = append(want, c.level(frame[i], i%c.C))
			} else {
				ch, at := i/(c.H*c.W), i%(c.H*c.W)
				want = append(want, c.level(frame[at*c.C+ch], ch))
			}
		}
	}
	return nil, func(got *result) string {
		if c.Valid != nil {
			if msg := got.differ("Valid", c.validAfter(), nil); msg != "" {
				return msg
			}
		}
		if c.Opts.Float {
			return c.near(got.dst, want)
		}
		return got.differ("Dst", vals(c.Out, want, len(want)).raw, nil)
	}
}

// validAfter returns what Valid holds after a run.
func (c *framing) validAfter() []uint64 {
	out := slices.Clone(c.Valid.raw)
	for n := range out {
		if c.oracle(n) == nil {
			out[n] = 0
		}
	}
	return out
}

// near compares results of a resize in float32 with those in float64, on the scale of White and Std. The tolerance is 1e-6, and for 16-bit floats
// also one unit in the last place.
func (c *framing) near(got []uint64, want []float64) string {
	largest := 1.0
	for _, s := range c.Opts.Std {
		largest = max(largest, 1/s)
	}
	if c.Opts.White > 0 {
		largest *= c.top() / c.Opts.White
	}
	for i, w := range want {
		if bound := 1e-6*largest + math.Abs(w)*math.Pow(2, -float64(map[tensor.DType]int{tensor.F32: 24, tensor.F16: 10, tensor.BF16: 7}[c.Out])); !(math.Abs(decode(c.Out, got[i])-w) <= bound) {
			return fmt.Sprintf("element %d: got %s, want %v within %g", i, show(c.Out, got[i]), w, bound)
		}
	}
	return ""
}

// keysOf returns keys for n rows.
func keysOf(r *rand.Rand, n int) *array {
	var list []int64
	for range n {
		list = append(list, r.Int64N(1<<40), r.Int64()-r.Int64())
	}
	return arr(list, n, 2)
}

// validOf returns n elements of Valid, of which some are 0 already and some are no truth values.
func validOf(n int) *array {
	list := make([]uint8, n)
	for i := range list {
		list[i] = uint8(3-i%4) % 3
	}
	return arr(list, n)
}

var frameOutputs = []tensor.DType{tensor.U8, tensor.F16, tensor.BF16, tensor.F32}

// drawFrames returns the generated case with a number.
func drawFrames(i int) []trial {
	g := &generator{Rand: rng(12000 + uint64(i))}
	c := &framing{Name: numbered("frames", i), Out: frameOutputs[i%4], C: 3, H: 1 + g.IntN(1+g.IntN(40)), W: 1 + g.IntN(1+g.IntN(70))}
	format := func() ops.FrameFormat { return []ops.FrameFormat{0, 3, 4, 5, 6}[g.IntN(5)] }
	if i%5 == 4 {
		c.C = 1
		format = func() ops.FrameFormat { return ops.FrameGray }
		if c.Out != tensor.U8 && g.one(2) {
			format = func() ops.FrameFormat { return ops.FrameGray16 }
		}
	}
	o := &c.Opts
	o.Layout, o.Resize, o.Crop, o.Seed, o.PerFrame = ops.FrameLayout(g.IntN(2)), ops.FrameResize(g.IntN(3)), ops.FrameCrop(g.IntN(3)), g.Uint64(), g.one(2)
	resized := g.one(2)
	if o.Crop != ops.CropNone && resized {
		o.Height, o.Width = c.H+g.IntN(5), c.W+g.IntN(5)
	}
	size := func() (h, w int) {
		if resized {
			return 1 + g.IntN(60), 1 + g.IntN(80)
		}
		if o.Crop == ops.CropNone {
			return c.H, c.W
		}
		return c.H + g.IntN(9), c.W + g.IntN(9)
	}
	selects := g.one(3)
	for {
		h, w := size()
		top, left := g.IntN(4)*g.IntN(2), g.IntN(4)*g.IntN(2)
		count := 0
		if selects || g.one(3) {
			count = 1 + g.IntN(3)
		}
		s := picture(g.Rand, format(), count, h+top+g.IntN(2), w+left+g.IntN(2), g.IntN(2)*g.IntN(20))
		s.Crop = image.Rect(left, top, left+w, top+h)
		s.Matrix, s.Full = ops.FrameMatrix(g.IntN(4)), g.one(2)
		if s.Format >= ops.FrameP016 {
			s.Bits = []int{0, 10, 12, 16}[g.IntN(4-int(s.Format-ops.FrameP016))]
		}
		c.Surfaces = append(c.Surfaces, s)
		if c.N += s.Count; selects || g.one(2) {
			break
		}
	}
	if selects {
		var list []int64
		for range 1 + g.IntN(4) {
			list = append(list, int64(g.IntN(c.N)))
		}
		if i%2 == 1 {
			list[g.IntN(len(list))] = []int64{-1, int64(c.N), math.MinInt64, math.MaxInt64}[g.IntN(4)]
			c.Valid = validOf(len(list))
		}
		c.Select = arr(list, len(list))
		c.N = len(list)
	}
	if c.Out != tensor.U8 {
		for ch := 0; ch < c.C && g.one(2); ch++ {
			o.Mean, o.Std = append(o.Mean, g.Float64()), append(o.Std, 0.1+g.Float64())
		}
		if len(o.Mean) > 1 && len(o.Mean) < c.C {
			o.Mean, o.Std = o.Mean[:1], nil
		}
		if g.one(4) {
			o.White = 1 + 1000*g.Float64()
		}
		o.Float = g.one(3)
	}
	if !o.Float && c.top() < 256 && g.one(2) {
		o.Brightness, o.Contrast, o.Saturation = g.Float64()*float64(g.IntN(2)), 2*g.Float64()*float64(g.IntN(2)), g.Float64()*float64(g.IntN(2))
	}
	o.FlipX, o.FlipY = []float64{0, 0.5, 1}[g.IntN(3)], []float64{0, 0.5, 1}[g.IntN(3)]
	rows := slices.DeleteFunc([]int{1, 2, 3, c.N}, func(r int) bool { return c.N%r != 0 })
	c.Keys = keysOf(g.Rand, rows[g.IntN(len(rows))])
	return []trial{{c, layouts[i%2]}}
}
