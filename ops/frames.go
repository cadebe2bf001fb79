package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// FramesArgs has the tensors for [Device.Frames]. The output comes first. N is the number of frames, C the number of
// channels: 3 (red, green, blue), or 1 for gray.
type FramesArgs struct {
	// Dst is [N,C,H,W], or [N,H,W,C] with LayoutHWC: u8, f16, bf16 or f32. Only its first dimension may be strided.
	Dst *tensor.Tensor
	// Surfaces has the pictures. Without Select, frame n is picture n: pictures are counted through all surfaces, and
	// there are N. Sizes and crops may differ. Formats too, if all have C channels and either all or none are
	// FrameGray16.
	Surfaces []FrameSurface
	// Select [N] i64 has the picture for each frame. There must be a single surface, usually a stack. A run reads the
	// numbers, so a captured graph takes other pictures in each launch.
	Select *tensor.Tensor
	// Valid [N] u8, optional with Select, becomes 0 for each frame without a picture: its number is not in the stack.
	// Other elements keep their values. Such a frame is black: RGB 0, 0, 0 or gray 0, with all steps after the resize.
	// Without Valid such a number is an error.
	Valid *tensor.Tensor
	// Keys [R,2] i64 has an epoch and a number for each row of N/R frames, for random choices. The number is usually
	// the position in the epoch; see [FramesOptions.Choose]. It is required if anything is random.
	Keys *tensor.Tensor
}

// FrameSurface is one decoded picture, or a stack of pictures with one size, in u8 tensors on the device. Its fields are
//
//	Format  FrameFormat        the format of the samples
//	Planes  [3]*tensor.Tensor  [h,w], or [h,w,bytes] if a pixel of the plane has several bytes; a stack has one more dimension in front
//	Crop    image.Rectangle    the part of the picture that is used, in pixels; empty means all of it
//	Matrix  FrameMatrix        4:2:0 only: the colour matrix
//	Full    bool               4:2:0 only: samples use their full range, not the limited one
//	Bits    int                FrameP016 and FrameI010 only: bits in a sample; 0 means 10
//
// In 4:2:0 formats, planes after the first have (h+1)/2 rows and (w+1)/2 columns. Pixels in a row are adjacent; the
// stride of the rows is the pitch. Example: NV12 in memory with a pitch of 768 is a plane [h,w] with strides [768,1] and
// a plane [h/2,w/2,2] with strides [768,2,1].
type FrameSurface = backend.FrameSurface

// FrameFormat is the format of a surface's samples.
type FrameFormat = backend.FrameFormat

const (
	// FrameRGB is one plane [h,w,3].
	FrameRGB = backend.FrameRGB
	// FrameGray is one plane [h,w].
	FrameGray = backend.FrameGray
	// FrameGray16 is one plane [h,w,2] with 16-bit numbers, low byte first, such as depths in millimetres.
	FrameGray16 = backend.FrameGray16
	// FrameNV12 is 4:2:0 with 8 bits: [h,w] luma, and [h/2,w/2,2] with U and V.
	FrameNV12 = backend.FrameNV12
	// FrameI420 is 4:2:0 with 8 bits in three planes: luma, U and V.
	FrameI420 = backend.FrameI420
	// FrameP016 is like FrameNV12 with 16-bit words, low byte first: [h,w,2] and [h/2,w/2,4]. The sample is in a
	// word's upper 10, 12 or 16 bits.
	FrameP016 = backend.FrameP016
	// FrameI010 is like FrameI420 with 16-bit words, low byte first: [h,w,2] and twice [h/2,w/2,2]. The sample is in a
	// word's lower 10 or 12 bits, as in ffmpeg's yuv420p10le.
	FrameI010 = backend.FrameI010
)

// FrameMatrix is the colour matrix of a 4:2:0 surface.
type FrameMatrix = backend.FrameMatrix

// The matrices. MatrixUnspecified is MatrixBT601.
const (
	MatrixUnspecified = backend.MatrixUnspecified
	MatrixBT601       = backend.MatrixBT601
	MatrixBT709       = backend.MatrixBT709
	MatrixBT2020      = backend.MatrixBT2020
)

// FrameResize is the rule for resizing.
type FrameResize = backend.FrameResize

const (
	// ResizeAntialias is a triangle filter that widens if the picture shrinks, as Pillow's BILINEAR.
	ResizeAntialias = backend.ResizeAntialias
	// ResizeBilinear interpolates between the nearest pixels, also if the picture shrinks.
	ResizeBilinear = backend.ResizeBilinear
	// ResizeNearest takes the pixel at the centre, the later one if the centre is between two: torch's nearest-exact.
	ResizeNearest = backend.ResizeNearest
)

// FrameCrop is the rule for the window that is cut from the resized picture.
type FrameCrop = backend.FrameCrop

const (
	// CropNone takes the whole picture, resized to H x W.
	CropNone = backend.CropNone
	// CropCentre takes the H x W pixels in the centre. Half a pixel rounds to even, as in torchvision.
	CropCentre = backend.CropCentre
	// CropRandom takes H x W pixels at a random place.
	CropRandom = backend.CropRandom
)

// FrameLayout is the order of the dimensions in FramesArgs.Dst.
type FrameLayout = backend.FrameLayout

const (
	// LayoutCHW is [N,C,H,W].
	LayoutCHW = backend.LayoutCHW
	// LayoutHWC is [N,H,W,C].
	LayoutHWC = backend.LayoutHWC
)

// FramesOptions has the steps from a picture to Dst, in their order: the colour rule, FrameSurface.Crop, Resize, Crop,
// FlipX and FlipY, Brightness, Contrast, Saturation, and for float outputs ((v / White) - Mean) / Std. docs/operations.md
// has the formulas, each with a known answer. The zero value resizes to H x W, and divides by 255 for float outputs.
type FramesOptions struct {
	Layout FrameLayout
	Resize FrameResize
	// Float resizes in float32, as torch's interpolate does with floats. Without it each pass rounds to whole samples,
	// as Pillow does. It needs a float Dst, and no jitter.
	Float bool
	// Crop is the window. Height and Width are the size of the resized picture; 0 means that pictures are not resized.
	// Without Crop both are 0.
	Crop          FrameCrop
	Height, Width int
	// FlipX and FlipY are the probabilities that a frame is mirrored left to right and upside down.
	FlipX, FlipY float64
	// Brightness, Contrast and Saturation are the largest changes of the factors in torchvision's ColorJitter: with 0.2
	// a factor is 0.8 to 1.2. 0 leaves the colours as they are. Pictures must have 8 bits.
	Brightness, Contrast, Saturation float64
	// Seed and PerFrame are for the random choices, see [FramesOptions.Choose]. PerFrame makes them for each frame, not
	// for each row of Keys.
	Seed     uint64
	PerFrame bool
	// White is the sample that becomes 1 in a float Dst; 0 means 255, or 65535 for FrameGray16. Example: 1000 turns
	// millimetres into metres.
	White float64
	// Mean and Std have a number for each channel, or one for all; nil means 0 and 1. u8 outputs have neither.
	Mean, Std []float64
	// Launch is as for Resample.
	Launch LaunchMode
}

// FramesPreset returns options with a usual normalisation: "imagenet" (torchvision's means and deviations), "lerobot" (0
// to 1, in LeRobot's order [N,C,H,W]), or "symmetric" (-1 to 1).
func FramesPreset(name string) (FramesOptions, error) {
	switch name {
	case "imagenet":
		return FramesOptions{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}, nil
	case "lerobot":
		return FramesOptions{}, nil
	case "symmetric":
		return FramesOptions{Mean: []float64{0.5}, Std: []float64{0.5}}, nil
	}
	return FramesOptions{}, &ArgError{
		Op: "Frames", Arg: "preset", Kind: ErrOption, Got: fmt.Sprintf("%q", name), Want: "imagenet, lerobot or symmetric",
	}
}

// FrameChanges are the random choices for one frame: the window's first row Y and column X in the resized picture, the
// flips, and the factors for brightness, contrast and saturation. A factor of 1 leaves the colours as they are.
type FrameChanges = backend.FrameChanges

// Choose returns the choices for frame t (from 0) in a row of Keys with this epoch and number. A resized picture has
// height x width pixels, and Dst h x w. Without PerFrame, t does not matter.
//
// Choice i is a 32-bit number u, from 0: row, column, FlipX, FlipY, brightness, contrast, saturation. With mix and K0 (the
// round key 0 of Seed and epoch on lane 0) from [DrawOptions.Window], and K the key on lane 2^33+i, it is
// mix(mix(mix(K ^ lo(number)) ^ hi(number)) ^ t), with 0 for t without PerFrame. A random window begins at row
// floor(u * (height-h+1) / 2^32), and its column likewise. A frame is flipped if u is below floor(p * 2^32). A factor is
// low + span * (floor(u/256) / 2^24), in float32, with low = max(1-x, 0) and span = 1+x-low, where x is the option.
func (o FramesOptions) Choose(epoch, number int64, t, height, width, h, w int) FrameChanges {
	j := o.job()
	return j.Changes(j.Choose(epoch, number, t), height, width, h, w)
}
