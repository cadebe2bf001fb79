package write

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// imageNames names the dimensions of images.
var imageNames = []string{"height", "width", "channels"}

// inFrame adds the frame number to an error.
func inFrame(i int, err error) error {
	bad, ok := err.(*Error)
	if !ok {
		bad = &Error{Kind: dataset.ErrCorrupt, Err: err}
	}
	bad.Got = fmt.Sprintf("frame %d: %s", i, bad.Got)
	return bad
}

// picture is a frame in its stored form.
type picture struct {
	encoded                 []byte
	extension               string
	height, width, channels int
}

func (p *picture) shape() []int { return []int{p.height, p.width, p.channels} }

// DepthInfo returns the description of a depth camera from its LeRobot dataset, a JSON object; "" for other media.
func DepthInfo(m *dataset.Media) string {
	if s, ok := m.Source.(interface{ DepthInfo() string }); ok {
		return s.DepthInfo()
	}
	return ""
}

// pictureOf converts a frame to its stored form: PNG, JPEG and depth TIFF stay unchanged, raw pixels become PNG. Other encodings, and more
// than 8 bits a channel, are an error that is dataset.ErrUnsupported.
func pictureOf(ctx context.Context, m *dataset.Media, frame []byte) (*picture, error) {
	switch m.Encoding {
	case "png":
		return ofPNG(frame)
	case "jpeg":
		c, err := jpeg.DecodeConfig(bytes.NewReader(frame))
		if err != nil {
			return nil, err
		}
		p := &picture{encoded: frame, extension: "jpg", height: c.Height, width: c.Width, channels: 3}
		switch c.ColorModel {
		case color.GrayModel:
			p.channels = 1
		case color.CMYKModel:
			return nil, &Error{Kind: dataset.ErrUnsupported, Got: "JPEG in CMYK", Want: "grey or colour"}
		}
		return p, nil
	case "tiff": // depth, stored unchanged
		if DepthInfo(m) != "" && m.Height > 0 {
			return &picture{encoded: frame, extension: "tiff", height: m.Height, width: m.Width, channels: 1}, nil
		}
	case "rgb8", "bgr8", "mono8":
		return ofPixels(ctx, m, frame)
	}
	return nil, &Error{
		Kind: dataset.ErrUnsupported, Got: fmt.Sprintf("frames with encoding %q", m.Encoding),
		Want: "png, jpeg, rgb8, bgr8, mono8, or the video of a LeRobot dataset: leave the stream out",
	}
}

// ofPNG returns the picture for a PNG, with the size from its header. If it has not 8 bits grey or colour without alpha, the error is
// dataset.ErrUnsupported.
func ofPNG(frame []byte) (*picture, error) {
	if _, err := png.DecodeConfig(bytes.NewReader(frame)); err != nil {
		return nil, err
	}
	p := &picture{encoded: frame, extension: "png", channels: 3}
	p.width, p.height = int(binary.BigEndian.Uint32(frame[16:])), int(binary.BigEndian.Uint32(frame[20:]))
	bits, kind := frame[24], frame[25]
	if kind == 0 {
		p.channels = 1
	}
	if bits != 8 || kind != 0 && kind != 2 {
		return nil, &Error{
			Kind: dataset.ErrUnsupported, Got: fmt.Sprintf("PNG of %d bits, colour type %d", bits, kind),
			Want: "8 bits, grey or colour, without alpha",
		}
	}
	return p, nil
}

// ofPixels encodes raw pixels as PNG. If the byte count does not fit the stream's size, the error is dataset.ErrShape.
func ofPixels(ctx context.Context, m *dataset.Media, frame []byte) (*picture, error) {
	p := &picture{extension: "png", height: m.Height, width: m.Width, channels: 3}
	if m.Encoding == "mono8" {
		p.channels = 1
	}
	if p.height <= 0 || p.width <= 0 || p.height > math.MaxInt32/p.width/p.channels || len(frame) != p.height*p.width*p.channels {
		return nil, &Error{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d bytes", len(frame)), Want: tensor.FormatShape(p.shape()) + " of bytes"}
	}
	t, err := decodeFrame(ctx, m, frame)
	if err != nil {
		return nil, err
	}
	pixels, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = png.Encode(&out, dataset.Picture(pixels, p.height, p.width, p.channels))
	p.encoded = out.Bytes()
	return p, err
}

// count adds a frame's pixels to levels.
func (p *picture) count(ctx context.Context, m *dataset.Media, frame []byte, levels []summary.Levels) error {
	t, err := decodeFrame(ctx, m, frame)
	if err != nil {
		return err
	}
	return countPixels(t, p.shape(), levels)
}

// oneFrame is a frame source with one frame.
type oneFrame []byte

func (s oneFrame) ReadFrame(context.Context, int) ([]byte, error) { return bytes.Clone(s), nil }

// decodeFrame returns a frame's pixels, u8 [height,width,channels].
func decodeFrame(ctx context.Context, m *dataset.Media, frame []byte) (*tensor.Tensor, error) {
	one := dataset.Media{Name: m.Name, Times: []int64{0}, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Source: oneFrame(frame)}
	return one.Decode(ctx, 0)
}

// countPixels adds an image's pixels, u8 [height,width,channels], to each channel's levels. If a side has at least 300 pixels, it skips
// rows and columns so that about 150 are left, like LeRobot.
func countPixels(t *tensor.Tensor, shape []int, levels []summary.Levels) error {
	if got := t.Shape(); !slices.Equal(got, shape) {
		return &Error{Kind: dataset.ErrShape, Got: tensor.FormatShape(got), Want: tensor.FormatShape(shape)}
	}
	pixels, err := tensor.Data[uint8](t)
	if err != nil {
		return err
	}
	height, width, channels := shape[0], shape[1], shape[2]
	by := 1
	if max(width, height) >= 300 {
		if by = height / 150; width > height {
			by = width / 150
		}
	}
	for y := 0; y < height; y += by {
		for x := 0; x < width; x += by {
			for c := range channels {
				levels[c][pixels[(y*width+x)*channels+c]]++
			}
		}
	}
	return nil
}

// sampleFrames returns the frames (out of n) for statistics, evenly spread from the first to the last, like LeRobot: n^0.75 frames, at
// least 100 and at most 10,000, or all.
func sampleFrames(n int) []int {
	count := 100
	for count < 10_000 && float64(count+1)*float64(count+1)*float64(count+1)*float64(count+1) <= float64(n)*float64(n)*float64(n) {
		count++
	}
	count = min(count, n)
	list := make([]int, count)
	for i := range list {
		if count > 1 {
			list[i] = int(math.RoundToEven(float64(i) * (float64(n-1) / float64(count-1))))
		}
	}
	return list
}

// atFrame adds the frame number to a decoding error.
func atFrame(i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var bad *Error
	if errors.As(err, &bad) {
		return inFrame(i, bad)
	}
	return &Error{Kind: dataset.ErrMissing, Got: fmt.Sprintf("no pixels of frame %d", i), Err: err}
}

// inColour returns a picture u8 [H,W,C] as red, green and blue, [H,W,3]. Grey is repeated three times. Other pixels, and alpha that is not
// opaque, are an error that is dataset.ErrUnsupported.
func inColour(t *tensor.Tensor) (*tensor.Tensor, error) {
	bad := &Error{Kind: dataset.ErrUnsupported, Want: "grey or colour of 8 bits: leave the stream out"}
	if t.Rank() != 3 || t.DType() != tensor.U8 {
		bad.Got = "pixels that are " + t.DType().String() + " numbers"
		return nil, bad
	}
	height, width, channels := t.Dim(0), t.Dim(1), t.Dim(2)
	if channels == 3 {
		return t, nil
	}
	from, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	to := make([]uint8, height*width*3)
	for i := range height * width {
		px := from[i*channels:]
		switch {
		case channels == 1:
			to[3*i], to[3*i+1], to[3*i+2] = px[0], px[0], px[0]
		case channels == 4 && px[3] == 255:
			copy(to[3*i:], px[:3])
		default:
			bad.Got = fmt.Sprintf("pixels of %d numbers, not opaque", channels)
			return nil, bad
		}
	}
	return tensor.Of(to, height, width, 3)
}
