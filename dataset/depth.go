package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// DepthCamera describes a stream of depth images: the distances along the camera's axis. Every field is as recorded.
type DepthCamera struct {
	Scale      float64    // metres per unit of the pixels
	Intrinsics [4]float64 // fx, fy, cx and cy in pixels; zeros if they are unknown or in a stream
	Poses      string     // the stream with camera-to-world poses, tx, ty, tz, qx, qy, qz and qw; empty if there is none
	Color      string     // the media stream with colour for the same pixels; empty if it is unknown
	Frames     []string   // the camera's coordinate frame, as in tf; several if the images name several, none if it is unknown
}

// DepthDecoder is a FrameSource that decodes its depth images itself, as DecodeDepth returns them.
type DepthDecoder interface {
	FrameSource
	DecodeDepth(ctx context.Context, i int) (*tensor.Tensor, error)
}

// DepthNames returns the names of the streams of depth images, in file order.
func (e *Episode) DepthNames() (names []string) {
	for i := range e.Media {
		if e.Media[i].Depth != nil {
			names = append(names, e.Media[i].Name)
		}
	}
	return names
}

// DecodeDepth returns frame i of depth images as f32 [H,W], exactly as recorded: multiply by DepthCamera.Scale for metres. A pixel
// without a depth is 0 or NaN. It decodes 16UC1, mono16, 32FC1, 16-bit grey png, ROS's compressedDepth, in which 32FC1 is a
// quantised inverse depth in a png, and frames of a DepthDecoder. Any other frame is a *FormatError, and a missing one a *RangeError.
func (m *Media) DecodeDepth(ctx context.Context, i int) (*tensor.Tensor, error) {
	if err := CheckIndex(ctx, "frame of "+m.Name, i, m.Len()); err != nil {
		return nil, err
	}
	if d, ok := m.Source.(DepthDecoder); ok {
		return d.DecodeDepth(ctx, i)
	}
	b, err := m.Source.ReadFrame(ctx, i)
	if err != nil {
		return nil, err
	}
	var t *tensor.Tensor
	var bad *FormatError
	switch m.Encoding {
	case "16UC1", "mono16", "32FC1":
		in := rawNumbers[m.Encoding]
		t, bad = m.numbers(b, in.size, in.read)
	case "png":
		t, bad = deepPNG(b, func(v float32) float32 { return v })
	case "compresseddepth":
		t, bad = inverseDepth(b)
	default:
		bad = &FormatError{Kind: ErrUnsupported, Got: fmt.Sprintf("encoding %q", m.Encoding), Want: "16UC1, mono16, 32FC1, png or compresseddepth"}
	}
	if bad != nil {
		return nil, m.decodeError(i, bad.Kind, bad.Got, bad.Want, bad.Err)
	}
	return t.Reshape(t.Dim(0), t.Dim(1))
}

// inverseDepth decodes compressedDepth of 32FC1. The header is an int32 and two float32, A and B, little-endian. A png follows, and
// its value v is the depth A / (v - B) in metres. 0 is no depth, NaN. The source is compressed_depth_image_transport's codec.
func inverseDepth(b []byte) (*tensor.Tensor, *FormatError) {
	if len(b) < 12 {
		return nil, &FormatError{Kind: ErrTruncated, Got: fmt.Sprintf("%d bytes", len(b)), Want: "a header of 12 bytes and a png"}
	}
	p, q := math.Float32frombits(binary.LittleEndian.Uint32(b[4:])), math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))
	return deepPNG(b[12:], func(v float32) float32 {
		if v == 0 {
			return float32(math.NaN())
		}
		return p / (v - q)
	})
}

// deepPNG decodes a 16-bit grey png to f32 [H,W,1], each value changed by read.
func deepPNG(b []byte, read func(v float32) float32) (*tensor.Tensor, *FormatError) {
	config, bad := imageHead(b, png.DecodeConfig)
	if bad != nil {
		return nil, bad
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, imageError(err)
	}
	grey, ok := img.(*image.Gray16)
	if !ok {
		return nil, &FormatError{Kind: ErrUnsupported, Got: fmt.Sprintf("a png of %T", img), Want: "16-bit grey"}
	}
	out := make([]float32, 0, config.Width*config.Height)
	for row := range slices.Chunk(grey.Pix, grey.Stride) {
		for x := range config.Width {
			out = append(out, read(float32(binary.BigEndian.Uint16(row[2*x:]))))
		}
	}
	return pixels(out, config.Height, config.Width, 1)
}
