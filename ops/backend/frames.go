package backend

import (
	"fmt"
	"image"
	"math"
	"math/bits"

	"github.com/robocache/robocache/internal/taps"
	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/tensor"
)

// FramesTensors has the fields of ops.FramesArgs.
type FramesTensors struct {
	Dst      *tensor.Tensor
	Surfaces []FrameSurface
	Select   *tensor.Tensor
	Valid    *tensor.Tensor
	Keys     *tensor.Tensor
}

// FrameSurface is one decoded picture, or a stack of pictures. Package ops documents it.
type FrameSurface struct {
	Format FrameFormat
	Planes [3]*tensor.Tensor
	Crop   image.Rectangle
	Matrix FrameMatrix
	Full   bool
	Bits   int
}

// FramesJob is a validated Frames.
type FramesJob struct {
	FramesTensors
	N, C, H, W int
	Layout     FrameLayout
	Float      bool // resizing is computed in float32, without rounding to whole samples; only if Resized
	Crop       FrameCrop
	FlipX      float64
	FlipY      float64
	Brightness float64
	Contrast   float64
	Saturation float64
	Seed       uint64
	PerFrame   bool
	White      float32
	Mean, Std  [3]float32
	Launch     LaunchMode

	Sources []FrameSource // for each frame, or a single one with Select
	Axes    []*taps.Axis  // the tables in Sources, each once
	Resized bool          // one frame at least has another size than its rectangle
}

// FrameSource has the samples of one frame. With Select it has those of the first picture in the stack.
type FrameSource struct {
	*FrameSurface
	At            int             // the picture's number in its stack
	Crop          image.Rectangle // the rectangle, not empty
	Height, Width int             // the rectangle's size after resizing
	X, Y          int             // the tables in Axes, if the job is Resized
}

// Bound returns the job's tensors.
func (j *FramesJob) Bound() Bound {
	b := Bound{op: "Frames"}
	b.add("Dst", j.Dst)
	b.add("Valid", j.Valid)
	b.outputs()
	for i := range j.Surfaces {
		for p, t := range j.Surfaces[i].Planes {
			b.add(PlaneName(i, p), t)
		}
	}
	b.add("Select", j.Select)
	b.add("Keys", j.Keys)
	return b
}

// PlaneName returns the argument name of a plane.
func PlaneName(surface, plane int) string {
	return fmt.Sprintf("Surfaces[%d].Planes[%d]", surface, plane)
}

// stacked reports whether the surface's planes are stacks, with a dimension more.
func (s *FrameSurface) stacked() bool { return s.dim(0) > 0 }

// dim returns the dimension of the rows in a plane: 0, or 1 in a stack.
func (s *FrameSurface) dim(p int) int {
	return s.Planes[p].Rank() - len(s.Format.PlaneShape(p, 0, 0))
}

// Count returns the number of pictures in a surface.
func (s *FrameSurface) Count() int {
	if s.stacked() {
		return s.Planes[0].Dim(0)
	}
	return 1
}

// Plane returns the strides of a plane in bytes: from one picture in the stack to the next, and from one row to the next.
func (s *FrameSurface) Plane(p int) (picture, row int) {
	t := s.Planes[p]
	if s.stacked() {
		picture = t.Stride(0)
	}
	return picture, t.Stride(s.dim(p))
}

// Size returns the size of the surface's pictures.
func (s *FrameSurface) Size() (height, width int) {
	i := s.dim(0)
	return s.Planes[0].Dim(i), s.Planes[0].Dim(i + 1)
}

// PlaneShape returns the shape that a plane must have.
func (s *FrameSurface) PlaneShape(p int) []int {
	h, w := s.Size()
	shape := s.Format.PlaneShape(p, h, w)
	if s.stacked() {
		shape = append([]int{s.Count()}, shape...)
	}
	return shape
}

// Picture returns the layout, the samples and the colours of a 4:2:0 surface, without its memory.
func (s *FrameSurface) Picture() yuv.Picture {
	p := yuv.Picture{Pairs: len(s.Format.Planes()) == 2, Across: 1, Down: 1, Bits: s.Bits, Matrix: matrixNumbers[s.Matrix], FullRange: s.Full}
	if p.Bits == 0 {
		p.Bits = 8
		if s.Format >= FrameP016 {
			p.Bits = 10
		}
	}
	if s.Format == FrameP016 {
		p.Shift = 16 - p.Bits
	}
	return p
}

// Top returns the largest value of a whole sample: 255, or 65535 for FrameGray16.
func (j *FramesJob) Top() int {
	if j.Surfaces[0].Format == FrameGray16 {
		return math.MaxUint16
	}
	return math.MaxUint8
}

// Level returns an output before its cast: ((v / White) - Mean) / Std, each step rounded to float32.
func (j *FramesJob) Level(channel int, v float32) float32 {
	v /= j.White
	v -= j.Mean[channel]
	return v / j.Std[channel]
}

// The numbers of a frame's random choices.
const (
	choiceY = iota
	choiceX
	choiceFlipX
	choiceFlipY
	choiceBrightness
	choiceContrast
	choiceSaturation
	choiceCount
)

// laneFrames is the lane number of a frame's first choice: see DrawOptions.Window in package ops.
const laneFrames = 1 << 33

// Key returns the part of the random numbers that depends on the seed only.
func (j *FramesJob) Key() uint32 { return seedKeys(j.Seed)[0] }

// PerKey returns the number of frames that a row of Keys is for.
func (j *FramesJob) PerKey() int {
	if j.Keys == nil {
		return j.N
	}
	return j.N / j.Keys.Dim(0)
}

// FrameChoices are the random choices of one frame, as 32-bit numbers.
type FrameChoices [choiceCount]uint32

// Choose returns the choices for an epoch, a number and a frame within the key's row. Package ops has the formula.
func (j *FramesJob) Choose(epoch, number int64, frame int) (out FrameChoices) {
	if !j.PerFrame {
		frame = 0
	}
	k := Keys{j.Key()}
	k = k.lane(uint64(epoch))
	for i := range out {
		c := k.lane(laneFrames + uint64(i))
		c = c.lane(uint64(number))
		out[i] = feistelMix(c[0] ^ uint32(frame))
	}
	return out
}

// FrameChanges are the changes to a frame. Package ops documents them.
type FrameChanges struct {
	Y, X                             int
	FlipX, FlipY                     bool
	Brightness, Contrast, Saturation float32
}

// Changes returns the changes to a frame by its choices. The resized picture has height x width pixels, and the output h x w.
func (j *FramesJob) Changes(u FrameChoices, height, width, h, w int) FrameChanges {
	return FrameChanges{
		Y: j.offset(u[choiceY], height, h), X: j.offset(u[choiceX], width, w),
		FlipX: uint64(u[choiceFlipX]) < FlipLimit(j.FlipX), FlipY: uint64(u[choiceFlipY]) < FlipLimit(j.FlipY),
		Brightness: AmountOf(j.Brightness).Factor(u[choiceBrightness]), Contrast: AmountOf(j.Contrast).Factor(u[choiceContrast]),
		Saturation: AmountOf(j.Saturation).Factor(u[choiceSaturation]),
	}
}

// offset returns the first row or column of a window, which has `window` of n rows or columns. u is a choice.
func (j *FramesJob) offset(u uint32, n, window int) int {
	switch left := n - window; j.Crop {
	case CropCentre:
		return int(math.RoundToEven(float64(left) / 2))
	case CropRandom:
		hi, _ := bits.Mul32(u, uint32(left+1))
		return int(hi)
	}
	return 0
}

// FlipLimit returns the number that a choice must be below for a flip with a probability.
func FlipLimit(p float64) uint64 { return uint64(p * (1 << 32)) }

// Amount is the range of a jitter's factor: Low to Low+Span.
type Amount struct{ Low, Span float32 }

// AmountOf returns the range from 1-x, or 0 if that is below 0, to 1+x.
func AmountOf(x float64) Amount {
	low := max(1-x, 0)
	return Amount{float32(low), float32(1 + x - low)}
}

// Factor returns the factor for a choice: Low + Span * (the choice's upper 24 bits / 2^24), each step rounded to float32.
func (a Amount) Factor(u uint32) float32 {
	return a.Low + float32(a.Span*float32(float32(u>>8)*0x1p-24))
}

// Jitters reports whether a frame's colours are changed.
func (j *FramesJob) Jitters() bool { return j.Brightness > 0 || j.Contrast > 0 || j.Saturation > 0 }

// FaultError converts a fault into a *ValueError, or nil for NoFault. The only fault is a picture in Select that does not exist, without
// Valid.
func (j *FramesJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	return &ValueError{Op: "Frames", Arg: "Select", Row: f.Position(), Kind: ErrRows}
}
