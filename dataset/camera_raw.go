package dataset

import (
	"encoding/binary"

	"github.com/robocache/robocache/tensor"
)

// lumaFirst has an entry for each 4:2:2 encoding: true if luma is the first of two bytes. ROS calls UYVY yuv422.
var lumaFirst = map[string]bool{"yuv422": false, "uyvy": false, "UYVY": false, "yuv422_yuy2": true, "yuyv": true, "YUYV": true}

// subsampled decodes 4:2:2 pixels, in which two pixels share their colour, to [H,W,3]. luma is the encoding's entry in lumaFirst. The
// colours are BT.601 with luma from 16 to 235, converted with OpenCV's fixed-point numbers. An odd width or a wrong byte count is an error.
func (m *Media) subsampled(b []byte, luma bool) (*tensor.Tensor, *FormatError) {
	if bad := m.sized(b, 2); bad != nil {
		return nil, bad
	}
	if m.Width%2 != 0 {
		return nil, &FormatError{Kind: ErrUnsupported, Got: "an odd width", Want: "pairs of pixels"}
	}
	out := make([]byte, 0, 3*len(b)/2)
	for ; len(b) > 0; b = b[4:] {
		y, u, v := [2]int{int(b[1]), int(b[3])}, int(b[0])-128, int(b[2])-128
		if luma {
			y, u, v = [2]int{int(b[0]), int(b[2])}, int(b[1])-128, int(b[3])-128
		}
		for _, y := range y {
			y = max(y-16, 0)*1220542 + 1<<19
			for _, c := range [3]int{y + 1673527*v, y - 852492*v - 409993*u, y + 2116026*u} {
				out = append(out, byte(min(max(c>>20, 0), 255)))
			}
		}
	}
	return pixels(out, m.Height, m.Width, 3)
}

// bayerOrder returns a pattern's four colours, such as "rggb" for bayer_rggb8, and the bytes a pixel, or 0 if the encoding is no pattern.
func bayerOrder(encoding string) (order string, size int) {
	for _, order := range [4]string{"rggb", "bggr", "grbg", "gbrg"} {
		switch encoding {
		case "bayer_" + order + "8":
			return order, 1
		case "bayer_" + order + "16":
			return order, 2
		}
	}
	return "", 0
}

// eightBits rounds a 16-bit colour to 8 bits, so that 65535 becomes 255.
func eightBits(v int) byte { return byte((v + 128) / 257) }

// deep decodes pixels with 16 bits a channel, little-endian, and rounds them to 8 bits. order has the channels' positions: see rawOrder.
func (m *Media) deep(b []byte, order []int) (*tensor.Tensor, *FormatError) {
	if bad := m.sized(b, 2*len(order)); bad != nil {
		return nil, bad
	}
	out := make([]byte, len(b)/2)
	for i := range out {
		out[i] = eightBits(int(binary.LittleEndian.Uint16(b[2*i:])))
	}
	return m.raw(out, order)
}

// mosaic decodes a Bayer pattern to [H,W,3]: each pixel has one colour, in size bytes (1 or 2), little-endian. The other two colours are
// rounded means of the neighbours. A pixel on the border repeats the next one inside. 16-bit colours are rounded to 8 bits.
func (m *Media) mosaic(b []byte, order string, size int) (*tensor.Tensor, *FormatError) {
	if bad := m.sized(b, size); bad != nil {
		return nil, bad
	}
	w, h := m.Width, m.Height
	if w < 3 || h < 3 {
		return nil, &FormatError{Kind: ErrUnsupported, Got: "a mosaic of fewer than 3x3 pixels", Want: "more"}
	}
	pixel := func(i int) int { return int(b[i]) }
	if size == 2 {
		pixel = func(i int) int { return int(binary.LittleEndian.Uint16(b[2*i:])) }
	}
	out := make([]byte, 0, 3*w*h)
	for row := range h {
		y := min(max(row, 1), h-2)
		for column := range w {
			x := min(max(column, 1), w-2)
			at := y*w + x
			left, right, up, down := pixel(at-1), pixel(at+1), pixel(at-w), pixel(at+w)
			own, beside := order[y&1*2+x&1], order[y&1*2+(x+1)&1]
			for _, c := range []byte("rgb") {
				v := 0
				switch {
				case c == own:
					v = pixel(at)
				case c == 'g':
					v = (left + right + up + down + 2) >> 2
				case own == 'g' && c == beside:
					v = (left + right + 1) >> 1
				case own == 'g':
					v = (up + down + 1) >> 1
				default:
					v = (pixel(at-w-1) + pixel(at-w+1) + pixel(at+w-1) + pixel(at+w+1) + 2) >> 2
				}
				if size == 2 {
					v = int(eightBits(v))
				}
				out = append(out, byte(v))
			}
		}
	}
	return pixels(out, h, w, 3)
}
