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
	h, w := src.Dim(0), src.Dim(1)
	if dst.Dim(1) != w {
		across := triangle(w, dst.Dim(1))
		lines := to
		if dst.Dim(0) != h {
			lines = make([]byte, h*dst.Dim(1)*c)
		}
		for y := range h {
			across.along(lines[y*dst.Dim(1)*c:], from[y*w*c:(y+1)*w*c], c)
		}
		from, w = lines, dst.Dim(1)
	}
	switch {
	case dst.Dim(0) != h:
		triangle(h, dst.Dim(0)).across(to, from, w*c)
	case dst.Dim(1) == src.Dim(1):
		copy(to, from)
	}
	return nil
}

// axis has the filter weights along one axis, with weightBits fractional bits: see package taps.
type axis struct {
	*taps.Axis
	weights []int32
}

const weightBits = taps.Bits

// triangle returns the weights that resize an axis from size pixels to n pixels.
func triangle(size, n int) *axis {
	t := taps.Triangle(size, n, true)
	return &axis{t, t.Whole()}
}

// along resizes one line horizontally. A pixel has c bytes.
func (t *axis) along(to, from []byte, c int) {
	for i, begin := range t.First {
		first, weights := int(begin), t.weights[i*t.Most:][:t.Count[i]]
		if c == 3 {
			r, g, b := int32(1)<<(weightBits-1), int32(1)<<(weightBits-1), int32(1)<<(weightBits-1)
			at := from[3*first:][:3*len(weights)]
			for k, w := range weights {
				p := at[3*k : 3*k+3 : 3*k+3]
				r, g, b = r+int32(p[0])*w, g+int32(p[1])*w, b+int32(p[2])*w
			}
			copy(to[3*i:3*i+3], []byte{clip(r), clip(g), clip(b)})
			continue
		}
		for ch := range c {
			sum := int32(1) << (weightBits - 1)
			for k, w := range weights {
				sum += int32(from[(first+k)*c+ch]) * w
			}
			to[i*c+ch] = clip(sum)
		}
	}
}

// across resizes an image vertically: each line in to is a weighted sum of lines in from. A line has width bytes, which is the
// number of pixels times the number of channels.
func (t *axis) across(to, from []byte, width int) {
	sums := make([]int32, width)
	for i, begin := range t.First {
		first := int(begin)
		for x := range sums {
			sums[x] = 1 << (weightBits - 1)
		}
		for k, w := range t.weights[i*t.Most:][:t.Count[i]] {
			for x, v := range from[(first+k)*width:][:width] {
				sums[x] += int32(v) * w
			}
		}
		for x, sum := range sums {
			to[i*width+x] = clip(sum)
		}
	}
}

func clip(sum int32) byte { return byte(min(max(sum>>weightBits, 0), 255)) }
