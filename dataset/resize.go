package dataset

import (
	"fmt"
	"image"

	"github.com/robocache/robocache/internal/taps"
	"github.com/robocache/robocache/tensor"
)

// SizeError reports a tensor that Resize cannot use.
type SizeError struct{ Arg, Got, Want string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("dataset: resize: %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// Unwrap returns ErrOption.
func (e *SizeError) Unwrap() error { return ErrOption }

// Picture returns pixels u8 [H,W,C] for the encoders of the standard library. C is 1 (grey), 3 or 4; pixels of 1 and 4 numbers are not copied.
func Picture(pixels []uint8, height, width, channels int) image.Image {
	rect := image.Rect(0, 0, width, height)
	switch channels {
	case 1:
		return &image.Gray{Pix: pixels, Stride: width, Rect: rect}
	case 4:
		return &image.NRGBA{Pix: pixels, Stride: 4 * width, Rect: rect}
	}
	out := image.NewRGBA(rect)
	for i := range height * width {
		copy(out.Pix[4*i:], pixels[3*i:3*i+3])
		out.Pix[4*i+3] = 255
	}
	return out
}

// Resize writes src to dst at another size: src u8 [H,W,C], dst u8 [H',W',C], both contiguous. Each pixel is a weighted mean under
// a triangle filter (bilinear). The triangle is two source pixels wide, or two result pixels if the image shrinks, so every source
// pixel counts. The result equals Pillow's Image.resize(..., BILINEAR) bit for bit: first along lines, then across them, with
// weights rounded to 22 bits and each pass rounded to 8.
func Resize(dst, src *tensor.Tensor) error {
	for _, a := range []struct {
		arg string
		t   *tensor.Tensor
	}{{"dst", dst}, {"src", src}} {
		switch {
		case a.t == nil:
			return &SizeError{a.arg, "nil", "u8 [H,W,C]"}
		case a.t.DType() != tensor.U8 || a.t.Rank() != 3 || a.t.Len() == 0 || !a.t.IsContiguous():
			return &SizeError{a.arg, a.t.String(), "u8 [H,W,C], contiguous, of one pixel or more"}
		}
	}
	c := src.Dim(2)
	if dst.Dim(2) != c {
		return &SizeError{"dst", dst.String(), fmt.Sprintf("%d channels, as src has", c)}
	}
	from, err := tensor.Data[uint8](src)
	if err != nil {
		return err
	}
	to, err := tensor.Data[uint8](dst)
	if err != nil {
		return err
	}
	h, w, height, width := src.Dim(0), src.Dim(1), dst.Dim(0), dst.Dim(1)
	if h == height && w == width {
		copy(to, from)
		return nil
	}
	r := taps.Resizer[uint8, int32]{C: c, Round: taps.Round[uint8, int32]}
	r.Reserve(width, h)
	filter := func(size, n int) taps.Filter[int32] { return taps.Whole[int32](taps.Triangle(size, n, true)) }
	r.Window(to, filter(w, width), filter(h, height), 0, 0, width, height, func(y int) []uint8 { return from[y*w*c:][:w*c] })
	return nil
}

// RGB returns a picture u8 [H,W,C] as red, green and blue, [H,W,3]. Grey is repeated three times, and alpha is dropped. Pixels with
// another dtype, such as depth, are an error that is ErrUnsupported.
func RGB(picture *tensor.Tensor) (*tensor.Tensor, error) {
	c := picture.Dim(2)
	if picture.DType() != tensor.U8 {
		return nil, &FormatError{Format: "dataset", Offset: -1, Kind: ErrUnsupported, Msg: "frame", Got: fmt.Sprintf("%v %s, which is no colours", picture.DType(), tensor.FormatShape(picture.Shape())),
			Want: "8 bits a channel; Media.Decode and a recording in Python give depth as it is"}
	}
	if c == 3 {
		return picture, nil
	}
	from, err := tensor.Data[uint8](picture)
	if err != nil {
		return nil, err
	}
	out := make([]uint8, len(from)/c*3)
	for p := range len(from) / c {
		for k := range 3 {
			out[3*p+k] = from[p*c+min(k, c-1)] // of grey the one that there is
		}
	}
	return tensor.Of(out, picture.Dim(0), picture.Dim(1), 3)
}
