package dataset

import "image"

// chroma is a colour plane of a JPEG. It is enlarged to the picture size row by row, like libjpeg-turbo (jdsample.c): a plane with
// half the columns, rows or both is interpolated. Other planes are repeated, and also planes with fewer than three columns.
type chroma struct {
	samples      []byte
	stride, last int  // last is the number of the last row
	across, down int  // the pixels of a sample are 1<<across and 1<<down
	smooth       bool // whether it is interpolated
	sums         []uint32
	row          []byte
}

func newChroma(samples []byte, img *image.YCbCr) *chroma {
	c := &chroma{samples: samples, stride: img.CStride}
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		c.across, c.smooth = 1, true
	case image.YCbCrSubsampleRatio420:
		c.across, c.down, c.smooth = 1, 1, true
	case image.YCbCrSubsampleRatio440:
		c.down, c.smooth = 1, true
	case image.YCbCrSubsampleRatio411:
		c.across = 2
	case image.YCbCrSubsampleRatio410:
		c.across, c.down = 2, 1
	}
	columns := (img.Rect.Dx()-1)>>c.across + 1
	c.smooth = c.smooth && (c.across == 0 || columns > 2)
	c.last = (img.Rect.Dy() - 1) >> c.down
	c.sums, c.row = make([]uint32, columns), make([]byte, columns<<c.across)
	return c
}

// at returns row y of the picture. The row is valid until the next call.
func (c *chroma) at(y int) []byte {
	near := c.samples[y>>c.down*c.stride:][:len(c.sums)]
	if !c.smooth {
		if c.across == 0 {
			return near
		}
		for x := range c.row {
			c.row[x] = near[x>>c.across]
		}
		return c.row
	}
	rounding, bits := [2]uint32{1, 2}, 2 // added to the sums before the shift, for even and for odd pixels
	if c.down == 0 {
		for i, v := range near {
			c.sums[i] = uint32(v)
		}
	} else {
		far := c.samples[min(max(y>>1+y&1*2-1, 0), c.last)*c.stride:][:len(near)]
		for i, v := range near {
			c.sums[i] = 3*uint32(v) + uint32(far[i])
		}
		if c.across == 0 {
			for i, s := range c.sums {
				c.row[i] = byte((s + rounding[y&1]) >> 2)
			}
			return c.row
		}
		rounding, bits = [2]uint32{8, 7}, 4
	}
	left := c.sums[0]
	for i, s := range c.sums {
		right := c.sums[min(i+1, len(c.sums)-1)]
		c.row[2*i], c.row[2*i+1] = byte((3*s+left+rounding[0])>>bits), byte((3*s+right+rounding[1])>>bits)
		left = s
	}
	return c.row
}

// fromYCbCr writes the pixels of a decoded JPEG to out [H,W,3]. For equal colour planes they equal libjpeg-turbo's, which Pillow, OpenCV
// and TensorFlow use. The planes come from package image/jpeg, which rounds its inverse transform differently.
func fromYCbCr(out []byte, img *image.YCbCr) {
	blue, red := newChroma(img.Cb, img), newChroma(img.Cr, img)
	w := img.Rect.Dx()
	for y := range img.Rect.Dy() {
		row, cb, cr := out[3*w*y:][:3*w], blue.at(y)[:w], red.at(y)[:w]
		for x, v := range img.Y[y*img.YStride:][:w] {
			v, b, r := int32(v)<<16+1<<15, int32(cb[x])-128, int32(cr[x])-128
			p := row[3*x:][:3]
			p[0], p[1], p[2] = level(v+91881*r), level(v-22554*b-46802*r), level(v+116130*b)
		}
	}
}

// level returns the whole part of v/65536, limited to 0 to 255.
func level(v int32) byte {
	if uint32(v) < 1<<24 {
		return byte(v >> 16)
	}
	return byte(^(v >> 31))
}
