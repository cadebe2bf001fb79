package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/tensor"
)

// FrameDecoder is a FrameSource that decodes its frames itself. Videos need it, because a video frame depends on other frames.
type FrameDecoder interface {
	FrameSource
	// DecodeFrames decodes the frames from to to-1 in order, each as u8 [H,W,C]. A frame that cannot be decoded is an error, and the later
	// frames follow. DecodeFrames ends early after an error that they would have, too.
	DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error]
}

// FrameLender is a FrameSource whose frames are in a file that is closed when it is not used.
type FrameLender interface {
	FrameSource
	// Borrow returns the file's own FrameSource. It can be used until done is called.
	Borrow(ctx context.Context) (source FrameSource, done func(), err error)
}

// DecoderChecker is a FrameDecoder that looks for its decoder.
type DecoderChecker interface {
	// CheckDecoder returns an error that is ErrUnsupported if this machine has no decoder for the frames. It decodes none.
	CheckDecoder(ctx context.Context) error
}

// maxImage is the largest number of pixels in an image. maxPixelsPerByte is the largest number of pixels per encoded byte, which is
// more than jpeg and png can achieve.
const (
	maxImage         = 1 << 28
	maxPixelsPerByte = 1 << 14
)

// Decode returns frame i as u8 [H,W,C], with the top line first. C is 1 for grey, 3 for red, green, blue, and 4 with alpha, which
// is not premultiplied.
//
// It decodes jpeg, png, 8-bit raw pixels (rgb8, bgr8, rgba8, bgra8, mono8, 8UC1), 8- and 16-bit Bayer mosaics, 4:2:2 pixels, rgb16 and
// bgr16 rounded to 8 bits, and all encodings that the source decodes itself, such as videos. Blue-first pixels are reordered. Raw images
// with wider numbers, mostly depth (16UC1, mono16, 16SC1, 32FC1), become f32 [H,W,1] in the recording's unit, which is exact.
//
// The pixels of a jpeg differ from libjpeg-turbo, which Pillow, OpenCV and TensorFlow use, by at most 2 levels; one value in ten
// thousand differs by 3. Other encodings, and png with more than 8 bits per channel, return an error that is ErrUnsupported.
func (m *Media) Decode(ctx context.Context, i int) (*tensor.Tensor, error) {
	if i < 0 || i >= m.Len() {
		return nil, &RangeError{What: "frame of " + m.Name, Got: i, Len: m.Len()}
	}
	for t, err := range m.DecodeRange(ctx, i, i+1) {
		return t, err
	}
	return nil, m.decodeError(i, ErrMissing, "nothing from the source", "a frame", nil)
}

// DecodeRange decodes the frames from to to-1 in order, like Decode. For a video this is much faster than single calls of Decode.
// If one image cannot be decoded, DecodeRange yields the error and continues with the next. A video may end early, after an error that
// its later frames would have, too. Both stop if ctx ends. If the range exceeds the frames, the error is a *RangeError.
func (m *Media) DecodeRange(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		if err := CheckRange("frame of "+m.Name, from, to, m.Len()); err != nil {
			yield(nil, err)
			return
		}
		decode := m.decoder()
		if source, ok := m.Source.(FrameDecoder); ok && decode == nil {
			for t, err := range source.DecodeFrames(ctx, from, to) {
				if !yield(t, err) {
					return
				}
			}
			return
		}
		for i := from; i < to; i++ {
			t, err := m.decodeOne(ctx, i, decode)
			if !yield(t, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (m *Media) decodeError(i int, kind error, got, want string, err error) *FormatError {
	return &FormatError{Format: "dataset", Offset: -1, Kind: kind, Msg: fmt.Sprintf("frame %d of %s", i, m.Name), Got: got, Want: want, Err: err}
}

// IsVideo reports whether frames depend on other frames, so that a single encoded frame cannot be decoded.
func (m *Media) IsVideo() bool {
	_, itself := m.Source.(FrameDecoder)
	return itself && m.decoder() == nil
}

// Decodes reports whether Decode supports the encoding, or the source decodes its frames itself.
func (m *Media) Decodes() bool {
	_, itself := m.Source.(FrameDecoder)
	return itself || m.decoder() != nil
}

// decodeOne decodes a frame that depends on no other. decode is nil if the encoding is unsupported, which is an error.
func (m *Media) decodeOne(ctx context.Context, i int, decode func(b []byte) (*tensor.Tensor, *FormatError)) (*tensor.Tensor, error) {
	if decode == nil {
		return nil, m.decodeError(i, ErrUnsupported, fmt.Sprintf("encoding %q", m.Encoding), "jpeg, png, rgb8, bgr8, rgba8, bgra8, rgb16, mono8, 8UC1, 16UC1, mono16, 16SC1, 32FC1, bayer_rggb8, bayer_rggb16, yuv422, or a source that decodes its frames", nil)
	}
	b, err := m.Frame(ctx, i)
	if err != nil {
		return nil, err
	}
	t, bad := decode(b)
	if bad != nil {
		return nil, m.decodeError(i, bad.Kind, bad.Got, bad.Want, bad.Err)
	}
	return t, nil
}

// rawOrder lists the positions of red, green, blue and alpha, or of grey, for each raw encoding.
var rawOrder = map[string][]int{"rgb8": {0, 1, 2}, "bgr8": {2, 1, 0}, "rgba8": {0, 1, 2, 3}, "bgra8": {2, 1, 0, 3}, "mono8": {0}, "8UC1": {0}}

// rawNumbers has the size and the conversion of raw pixels that are one little-endian number each.
var rawNumbers = map[string]struct {
	size int
	read func(b []byte) float32
}{"16UC1": {2, uint16Of}, "mono16": {2, uint16Of}, "16SC1": {2, func(b []byte) float32 { return float32(int16(binary.LittleEndian.Uint16(b))) }},
	"32FC1": {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }}}

func uint16Of(b []byte) float32 { return float32(binary.LittleEndian.Uint16(b)) }

// decoder returns the function that decodes a single frame, or nil if the encoding has none. Its errors have Got and Want, and no
// position.
func (m *Media) decoder() func(b []byte) (*tensor.Tensor, *FormatError) {
	if order, ok := rawOrder[m.Encoding]; ok {
		return func(b []byte) (*tensor.Tensor, *FormatError) { return m.raw(b, order) }
	}
	if in, ok := rawNumbers[m.Encoding]; ok {
		return func(b []byte) (*tensor.Tensor, *FormatError) { return m.numbers(b, in.size, in.read) }
	}
	if name, ok := strings.CutSuffix(m.Encoding, "16"); ok && rawOrder[name+"8"] != nil {
		return func(b []byte) (*tensor.Tensor, *FormatError) { return m.deep(b, rawOrder[name+"8"]) }
	}
	if luma, ok := lumaFirst[m.Encoding]; ok {
		return func(b []byte) (*tensor.Tensor, *FormatError) { return m.subsampled(b, luma) }
	}
	if order, size := bayerOrder(m.Encoding); size > 0 {
		return func(b []byte) (*tensor.Tensor, *FormatError) { return m.mosaic(b, order, size) }
	}
	switch m.Encoding {
	case "jpeg":
		return func(b []byte) (*tensor.Tensor, *FormatError) {
			return decodeImage(b, jpeg.DecodeConfig, func(io.Reader) (image.Image, error) { return decodeJPEG(b) })
		}
	case "png":
		return func(b []byte) (*tensor.Tensor, *FormatError) { return decodeImage(b, png.DecodeConfig, png.Decode) }
	}
	return nil
}

// raw returns 8-bit pixels, red first.
func (m *Media) raw(b []byte, order []int) (*tensor.Tensor, *FormatError) {
	c := len(order)
	if bad := m.sized(b, c); bad != nil {
		return nil, bad
	}
	if order[0] != 0 {
		for p := 0; p < len(b); p += c {
			b[p], b[p+2] = b[p+2], b[p]
		}
	}
	return pixels(b, m.Height, m.Width, c)
}

// sized returns an error unless a raw frame has Width*Height pixels with each bytes; nil if it has.
func (m *Media) sized(b []byte, each int) *FormatError {
	if want := int64(m.Width) * int64(m.Height) * int64(each); m.Width <= 0 || m.Height <= 0 || int64(len(b)) != want {
		return &FormatError{Kind: ErrCorrupt, Got: fmt.Sprintf("%d bytes", len(b)), Want: fmt.Sprintf("%d for %dx%d pixels of %s", want, m.Width, m.Height, m.Encoding)}
	}
	return nil
}

// numbers reads pixels with one number each.
func (m *Media) numbers(b []byte, size int, read func(b []byte) float32) (*tensor.Tensor, *FormatError) {
	if bad := m.sized(b, size); bad != nil {
		return nil, bad
	}
	out := make([]float32, len(b)/size)
	for i := range out {
		out[i] = read(b[i*size:])
	}
	return pixels(out, m.Height, m.Width, 1)
}

func pixels[T uint8 | float32](b []T, shape ...int) (*tensor.Tensor, *FormatError) {
	t, err := tensor.Of(b, shape...)
	if err != nil {
		return nil, &FormatError{Kind: ErrCorrupt, Err: err}
	}
	return t, nil
}

// imageHead reads an image file's header and checks the size, because a broken header may declare any.
func imageHead(b []byte, head func(r io.Reader) (image.Config, error)) (image.Config, *FormatError) {
	config, err := head(bytes.NewReader(b))
	if err != nil {
		return config, imageError(err)
	}
	if n := int64(config.Width) * int64(config.Height); n > maxImage || n > maxPixelsPerByte*int64(len(b)) {
		return config, &FormatError{Kind: ErrTooLarge, Got: fmt.Sprintf("%dx%d pixels in %d bytes", config.Width, config.Height, len(b)), Want: "an image that these could hold"}
	}
	if err := memory.Fits("image", 4*int64(config.Width)*int64(config.Height)); err != nil {
		return config, &FormatError{Kind: ErrTooLarge, Err: err}
	}
	return config, nil
}

// decodeImage decodes an image file, after its header.
func decodeImage(b []byte, head func(r io.Reader) (image.Config, error), whole func(r io.Reader) (image.Image, error)) (*tensor.Tensor, *FormatError) {
	config, bad := imageHead(b, head)
	if bad != nil {
		return nil, bad
	}
	switch config.ColorModel {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return nil, &FormatError{Kind: ErrUnsupported, Got: "16 bits a channel", Want: "8: there is no such dtype; Frame gives the encoded bytes"}
	}
	img, err := whole(bytes.NewReader(b))
	if err != nil {
		return nil, imageError(err)
	}
	return fromImage(img)
}

func imageError(err error) *FormatError {
	kind := ErrCorrupt
	var j jpeg.UnsupportedError
	var p png.UnsupportedError
	switch {
	case errors.As(err, &j) || errors.As(err, &p):
		kind = ErrUnsupported
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		kind = ErrTruncated
	}
	return &FormatError{Kind: kind, Err: err}
}

// fromImage copies an image's pixels.
func fromImage(img image.Image) (*tensor.Tensor, *FormatError) {
	r := img.Bounds()
	w, h, c := r.Dx(), r.Dy(), 3
	switch img := img.(type) {
	case *image.Gray:
		c = 1
	case *image.NRGBA:
		c = 4
	case *image.Paletted:
		for _, p := range img.Palette {
			if _, _, _, a := p.RGBA(); a != 0xffff {
				c = 4
			}
		}
	}
	out := make([]byte, h*w*c)
	if img, ok := img.(*image.YCbCr); ok {
		fromYCbCr(out, img)
		return pixels(out, h, w, c)
	}
	for y := range h {
		row := out[y*w*c : (y+1)*w*c]
		switch img := img.(type) {
		case *image.Gray:
			copy(row, img.Pix[y*img.Stride:])
		case *image.NRGBA:
			copy(row, img.Pix[y*img.Stride:])
		case *image.RGBA: // png without alpha
			for x := range w {
				copy(row[3*x:3*x+3], img.Pix[y*img.Stride+4*x:])
			}
		default:
			for x := range w {
				p := color.NRGBAModel.Convert(img.At(r.Min.X+x, r.Min.Y+y)).(color.NRGBA)
				copy(row[c*x:c*x+c], []byte{p.R, p.G, p.B, p.A})
			}
		}
	}
	return pixels(out, h, w, c)
}
