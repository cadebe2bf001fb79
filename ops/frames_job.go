package ops

import (
	"fmt"
	"image"
	"math"
	"slices"

	"github.com/robocache/robocache/internal/taps"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// maxFrame limits the height and width of pictures.
const maxFrame = 1 << 15

// framesCheck validates arguments and fills in a job from them.
type framesCheck struct {
	*backend.FramesJob
	o *FramesOptions
}

// job returns a job with the options, which are not yet checked.
func (o *FramesOptions) job() *backend.FramesJob {
	return &backend.FramesJob{
		Layout: o.Layout, Float: o.Float, Crop: o.Crop, FlipX: o.FlipX, FlipY: o.FlipY, Brightness: o.Brightness, Contrast: o.Contrast,
		Saturation: o.Saturation, Seed: o.Seed, PerFrame: o.PerFrame, Launch: o.Launch,
	}
}

// newFramesJob validates the arguments against tensors on the given device.
func newFramesJob(c *checker, a FramesArgs, o FramesOptions) (*backend.FramesJob, error) {
	j := framesCheck{o.job(), &o}
	j.FramesTensors = backend.FramesTensors(a)
	j.Surfaces = slices.Clone(a.Surfaces)
	j.checkDst(c)
	j.checkSurfaces(c)
	j.checkOptions(c)
	j.checkTables(c)
	if c.err == nil {
		j.locate(c)
	}
	if c.err == nil {
		j.resize()
	}
	return j.FramesJob, c.err
}

// fail sets an error about an option.
func (j framesCheck) fail(c *checker, option string, got any, want string) {
	c.set("Options."+option, ErrOption, fmt.Sprint(got), want)
}

func (j framesCheck) checkDst(c *checker) {
	if !c.tensor("Dst", j.Dst) {
		return
	}
	c.dtype("Dst", j.Dst, tensor.U8, tensor.F16, tensor.BF16, tensor.F32)
	checkName(c, "Options.Layout", j.Layout)
	if c.err != nil {
		return
	}
	want := "[N,C,H,W], C 1 or 3, H and W at least 1"
	order := []int{1, 2, 3}
	if j.Layout == LayoutHWC {
		want, order = "[N,H,W,C], C 1 or 3, H and W at least 1", []int{3, 1, 2}
	}
	shape := j.Dst.Shape()
	if len(shape) != 4 || shape[order[0]] != 1 && shape[order[0]] != 3 || shape[order[1]] < 1 || shape[order[2]] < 1 {
		c.set("Dst", ErrShape, tensor.FormatShape(shape), want)
		return
	}
	j.N, j.C, j.H, j.W = shape[0], shape[order[0]], shape[order[1]], shape[order[2]]
	c.limit("Dst", j.N)
	if max(j.H, j.W) > maxFrame {
		c.set("Dst", ErrTooLarge, tensor.FormatShape(shape), fmt.Sprintf("H and W up to %d", maxFrame))
	}
	if next := 1; c.err == nil {
		for i := 3; i > 0; i-- {
			if shape[i] > 1 && j.Dst.Stride(i) != next {
				c.set("Dst", ErrStride, tensor.FormatShape(j.Dst.Strides()), "contiguous frames: only the first dimension may be strided")
			}
			next *= shape[i]
		}
	}
}

func (j framesCheck) checkSurfaces(c *checker) {
	if c.err == nil && len(j.Surfaces) == 0 {
		c.set("Surfaces", ErrMissing, "none", "one surface at least")
	}
	for i := range j.Surfaces {
		if j.checkSurface(c, &j.Surfaces[i], i); c.err != nil {
			return
		}
	}
}

func (j framesCheck) checkSurface(c *checker, s *FrameSurface, i int) {
	arg := fmt.Sprintf("Surfaces[%d].", i)
	checkName(c, arg+"Format", s.Format)
	checkName(c, arg+"Matrix", s.Matrix)
	if c.err != nil {
		return
	}
	planes := s.Format.Planes()
	for p, t := range s.Planes {
		name := backend.PlaneName(i, p)
		if p >= len(planes) {
			c.absent(name, t, fmt.Sprintf("nil: %v has %d planes", s.Format, len(planes)))
			continue
		}
		if !c.tensor(name, t) {
			return
		}
		c.dtype(name, t, tensor.U8)
		j.checkPlane(c, s, p, name)
	}
	switch first := j.Surfaces[0].Format; {
	case c.err != nil:
	case s.Format.Channels() != j.C:
		c.set(arg+"Format", ErrOption, s.Format.String(), fmt.Sprintf("a format with %d channels, as Dst has", j.C))
	case (s.Format == FrameGray16) != (first == FrameGray16):
		c.set(arg+"Format", ErrOption, s.Format.String(), fmt.Sprintf("only gray16, or none: surface 0 is %v", first))
	case s.Bits != 0 && !(s.Format >= FrameP016 && (s.Bits == 10 || s.Bits == 12 || s.Bits == 16 && s.Format == FrameP016)):
		c.set(arg+"Bits", ErrOption, fmt.Sprint(s.Bits), "10, 12 or 16 for p016, 10 or 12 for i010, 0 for other formats")
	default:
		h, w := s.Size()
		if whole := image.Rect(0, 0, w, h); !s.Crop.In(whole) {
			c.set(arg+"Crop", ErrOption, s.Crop.String(), "a part of "+whole.String())
		}
	}
}

// checkPlane checks the shape and the strides of a plane.
func (j framesCheck) checkPlane(c *checker, s *FrameSurface, p int, name string) {
	if c.err != nil {
		return
	}
	t, bytes := s.Planes[p], s.Format.Planes()[p]
	if p == 0 {
		want, n := "[h,w]", 2
		if bytes > 1 {
			want, n = fmt.Sprintf("[h,w,%d]", bytes), 3
		}
		if extra := t.Rank() - n; extra < 0 || extra > 1 || t.Len() == 0 {
			c.set(name, ErrShape, tensor.FormatShape(t.Shape()), want+", or a stack of them, not empty")
			return
		}
		if h, w := s.Size(); max(h, w) > maxFrame {
			c.set(name, ErrTooLarge, tensor.FormatShape(t.Shape()), fmt.Sprintf("up to %d rows and columns", maxFrame))
			return
		}
	}
	if c.shape(name, t, s.PlaneShape(p)...); c.err != nil {
		return
	}
	i, next := t.Rank()-1, 1
	if bytes > 1 {
		if t.Stride(i) != 1 {
			c.set(name, ErrStride, tensor.FormatShape(t.Strides()), "the bytes of a pixel next to each other")
		}
		i, next = i-1, bytes
	}
	if t.Dim(i) > 1 && t.Stride(i) != next {
		c.set(name, ErrStride, tensor.FormatShape(t.Strides()), "the pixels of a row next to each other")
	}
	if _, row := s.Plane(p); row > math.MaxInt32 {
		c.set(name, ErrTooLarge, fmt.Sprintf("%d bytes from a row to the next", row), fmt.Sprintf("at most %d", math.MaxInt32))
	}
}

func (j framesCheck) checkOptions(c *checker) {
	o := j.o
	checkName(c, "Options.Resize", o.Resize)
	checkName(c, "Options.Crop", o.Crop)
	checkName(c, "Options.Launch", o.Launch)
	if c.err != nil {
		return
	}
	within := func(name string, x, most float64, want string) {
		if !(x >= 0 && x <= most) {
			j.fail(c, name, x, want)
		}
	}
	within("FlipX", o.FlipX, 1, "a probability, 0 to 1")
	within("FlipY", o.FlipY, 1, "a probability, 0 to 1")
	within("Brightness", o.Brightness, math.MaxFloat32, "0 or more, finite")
	within("Contrast", o.Contrast, math.MaxFloat32, "0 or more, finite")
	within("Saturation", o.Saturation, math.MaxFloat32, "0 or more, finite")
	within("White", o.White, math.MaxFloat32, "0 or more, finite")
	isFloat, deep := j.Dst.DType().IsFloat(), j.Top() > math.MaxUint8
	switch {
	case j.Jitters() && deep:
		j.fail(c, "Brightness", "a jitter for gray16", "none: Brightness, Contrast and Saturation 0")
	case j.Jitters() && o.Float:
		j.fail(c, "Float", true, "false with Brightness, Contrast or Saturation, which change whole samples")
	case o.Float && !isFloat:
		j.fail(c, "Float", true, "false for a Dst of u8")
	case deep && !isFloat:
		c.set("Dst", ErrDType, j.Dst.DType().String(), "f16, bf16 or f32 for gray16")
	case !isFloat && (o.White != 0 || o.Mean != nil || o.Std != nil):
		j.fail(c, "Mean", "a White, a Mean or a Std for a Dst of u8", "none of them, or a Dst of f16, bf16 or f32")
	case o.Crop == CropNone && (o.Height != 0 || o.Width != 0):
		j.fail(c, "Height", fmt.Sprintf("%d x %d without Crop", o.Height, o.Width), "0: pictures are resized to Dst's H x W")
	case (o.Height != 0 || o.Width != 0) && (o.Height < j.H || o.Width < j.W || max(o.Height, o.Width) > maxFrame):
		want := fmt.Sprintf("%d x %d at least, up to %d, or 0 to not resize", j.H, j.W, maxFrame)
		j.fail(c, "Height", fmt.Sprintf("%d x %d", o.Height, o.Width), want)
	}
	j.White = float32(o.White)
	if o.White == 0 {
		j.White = float32(j.Top())
	}
	j.Mean, j.Std = j.perChannel(c, "Mean", o.Mean, 0), j.perChannel(c, "Std", o.Std, 1)
	for ch, s := range j.Std {
		if !(s > 0) {
			j.fail(c, "Std", o.Std, "positive numbers")
		}
		if j.White == 0 || math.IsInf(float64(j.Level(ch, 1)), 0) {
			j.fail(c, "White", o.White, "a White and a Std that give finite numbers in float32")
		}
	}
}

// perChannel returns a number for each channel.
func (j framesCheck) perChannel(c *checker, name string, list []float64, none float32) (out [3]float32) {
	if len(list) > 1 && len(list) != j.C {
		j.fail(c, name, list, fmt.Sprintf("%d numbers, or 1", j.C))
		return out
	}
	for ch := range out {
		if out[ch] = none; len(list) > 0 {
			out[ch] = float32(list[min(ch, len(list)-1)])
		}
		if !(math.Abs(float64(out[ch])) <= math.MaxFloat32) {
			j.fail(c, name, list, "finite numbers")
		}
	}
	return out
}

// checkTables checks Select, Valid and Keys, and that the outputs share no memory with another argument.
func (j framesCheck) checkTables(c *checker) {
	if c.err != nil {
		return
	}
	pictures := 0
	for i := range j.Surfaces {
		pictures += j.Surfaces[i].Count()
	}
	switch {
	case j.Select == nil && pictures != j.N:
		want := fmt.Sprintf("a frame for each of the %d pictures in Surfaces, or Select", pictures)
		c.set("Dst", ErrShape, tensor.FormatShape(j.Dst.Shape()), want)
	case j.Select != nil && len(j.Surfaces) > 1:
		c.set("Surfaces", ErrShape, fmt.Sprintf("%d surfaces", len(j.Surfaces)), "one with Select")
	case j.Select != nil:
		c.whole("Select", j.Select, tensor.I64, j.N)
		if j.Valid != nil {
			c.whole("Valid", j.Valid, tensor.U8, j.N)
		}
	default:
		c.absent("Valid", j.Valid, "nil without Select")
	}
	random := j.Crop == CropRandom || j.Jitters() || j.FlipX > 0 && j.FlipX < 1 || j.FlipY > 0 && j.FlipY < 1
	switch {
	case j.Keys == nil && random:
		c.set("Keys", ErrMissing, "nil", "[R,2] for the random choices")
	case j.Keys != nil && c.tensor("Keys", j.Keys):
		c.dtype("Keys", j.Keys, tensor.I64)
		if c.err == nil && (j.Keys.Rank() != 2 || j.Keys.Dim(1) != 2 || j.Keys.Dim(0) == 0 && j.N > 0 || j.N%max(j.Keys.Dim(0), 1) != 0) {
			c.set("Keys", ErrShape, tensor.FormatShape(j.Keys.Shape()), fmt.Sprintf("[R,2], R a divisor of the %d frames", j.N))
		}
		c.packed("Keys", j.Keys)
	}
	inputs := []*tensor.Tensor{j.Select, j.Keys}
	for _, s := range j.Surfaces {
		inputs = append(inputs, s.Planes[:]...)
	}
	c.output("Dst", j.Dst, inputs...)
	if j.Valid != nil {
		c.output("Valid", j.Valid, append(inputs, j.Dst)...)
	}
}

// locate fills in the sources.
func (j framesCheck) locate(c *checker) {
	for i := range j.Surfaces {
		s := &j.Surfaces[i]
		src := backend.FrameSource{FrameSurface: s, Crop: s.Crop, Height: j.H, Width: j.W}
		if h, w := s.Size(); s.Crop.Empty() {
			src.Crop = image.Rect(0, 0, w, h)
		}
		if size := src.Crop.Size(); j.Crop != CropNone {
			if src.Height, src.Width = j.o.Height, j.o.Width; src.Height == 0 {
				src.Height, src.Width = size.Y, size.X
			}
			if src.Height < j.H || src.Width < j.W {
				want := fmt.Sprintf("%d x %d at least, or Options.Height and Options.Width", j.W, j.H)
				c.set(fmt.Sprintf("Surfaces[%d].Crop", i), ErrOption, size.String(), want)
			}
		}
		for range s.Count() {
			if j.Sources = append(j.Sources, src); j.Select != nil {
				break
			}
			src.At++
		}
		j.Resized = j.Resized || image.Pt(src.Width, src.Height) != src.Crop.Size()
	}
	j.Float = j.Float && j.Resized
}

// resize adds the tables for resizing, each once.
func (j framesCheck) resize() {
	if !j.Resized {
		return
	}
	known := map[[2]int]int{}
	axis := func(size, n int) int {
		i, ok := known[[2]int{size, n}]
		if !ok {
			i = len(j.Axes)
			if known[[2]int{size, n}] = i; j.o.Resize == ResizeNearest {
				j.Axes = append(j.Axes, taps.Nearest(size, n))
			} else {
				j.Axes = append(j.Axes, taps.Triangle(size, n, j.o.Resize == ResizeAntialias))
			}
		}
		return i
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		s.X, s.Y = axis(s.Crop.Dx(), s.Width), axis(s.Crop.Dy(), s.Height)
	}
}

// checkName sets an error unless v is one of its type's constants.
func checkName[T interface {
	~uint8
	String() string
	Names() []string
}](c *checker, arg string, v T) {
	if names := v.Names(); int(v) >= len(names) {
		c.set(arg, ErrOption, v.String(), fmt.Sprintf("one of %v", names))
	}
}
