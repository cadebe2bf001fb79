package backend

import "github.com/robocache/robocache/internal/yuv"

// FrameFormat is ops.FrameFormat.
type FrameFormat uint8

// The formats, as in package ops.
const (
	FrameRGB FrameFormat = iota
	FrameGray
	FrameGray16
	FrameNV12
	FrameI420
	FrameP016
	FrameI010
)

var frameFormatNames = []string{"rgb", "gray", "gray16", "nv12", "i420", "p016", "i010"}

// planeBytes has the bytes that each plane stores for one of its pixels.
var planeBytes = [][]int{{3}, {1}, {2}, {1, 2}, {1, 1, 1}, {2, 4}, {2, 2, 2}}

// Planes returns, for each plane, the bytes that it stores for one of its pixels. Example: 1 and 2 for FrameNV12, which has U and V in
// one plane.
func (f FrameFormat) Planes() []int { return planeBytes[f] }

// PlaneShape returns the shape of a plane for a picture with h x w pixels: rows, columns, and the bytes of a pixel if there are several.
func (f FrameFormat) PlaneShape(plane, h, w int) []int {
	if plane > 0 {
		h, w = (h+1)/2, (w+1)/2
	}
	if n := f.Planes()[plane]; n > 1 {
		return []int{h, w, n}
	}
	return []int{h, w}
}

// Subsampled reports whether the format is 4:2:0: each chroma sample belongs to 2x2 pixels.
func (f FrameFormat) Subsampled() bool { return f >= FrameNV12 }

// Channels returns the number of channels in the picture: 3, or 1 for gray.
func (f FrameFormat) Channels() int {
	if f == FrameGray || f == FrameGray16 {
		return 1
	}
	return 3
}

// FrameMatrix is ops.FrameMatrix.
type FrameMatrix uint8

// The matrices, as in package ops.
const (
	MatrixUnspecified FrameMatrix = iota
	MatrixBT601
	MatrixBT709
	MatrixBT2020
)

var frameMatrixNames = []string{"unspecified", "bt601", "bt709", "bt2020"}

// matrixNumbers has the matrices' numbers in ITU-T H.273.
var matrixNumbers = []uint8{yuv.Unspecified, yuv.BT601, yuv.BT709, yuv.BT2020}

// FrameResize is ops.FrameResize.
type FrameResize uint8

// The rules for resizing, as in package ops.
const (
	ResizeAntialias FrameResize = iota
	ResizeBilinear
	ResizeNearest
)

var frameResizeNames = []string{"antialias", "bilinear", "nearest"}

// FrameCrop is ops.FrameCrop.
type FrameCrop uint8

// The rules for the window, as in package ops.
const (
	CropNone FrameCrop = iota
	CropCentre
	CropRandom
)

var frameCropNames = []string{"none", "centre", "random"}

// FrameLayout is ops.FrameLayout.
type FrameLayout uint8

// The layouts, as in package ops.
const (
	LayoutCHW FrameLayout = iota
	LayoutHWC
)

var frameLayoutNames = []string{"chw", "hwc"}

// String returns the name in lower case, for example "nv12". The String methods below do the same for their types.
func (f FrameFormat) String() string { return nameOf(frameFormatNames, int(f), "format") }
func (m FrameMatrix) String() string { return nameOf(frameMatrixNames, int(m), "matrix") }
func (r FrameResize) String() string { return nameOf(frameResizeNames, int(r), "resize") }
func (c FrameCrop) String() string   { return nameOf(frameCropNames, int(c), "crop") }
func (l FrameLayout) String() string { return nameOf(frameLayoutNames, int(l), "layout") }

// Names returns the names of all formats, in the order of the constants. The Names methods below do the same for their types.
func (FrameFormat) Names() []string { return frameFormatNames }

// Names returns the names of all matrices.
func (FrameMatrix) Names() []string { return frameMatrixNames }

// Names returns the names of all rules for resizing.
func (FrameResize) Names() []string { return frameResizeNames }

// Names returns the names of all rules for the window.
func (FrameCrop) Names() []string { return frameCropNames }

// Names returns the names of all layouts.
func (FrameLayout) Names() []string { return frameLayoutNames }
