package yuv

import "math"

// weightsOf returns the shares of red and blue in luma, for a matrix by its number in ITU-T H.273. Other numbers mean BT.601, and so does
// Unspecified.
func weightsOf(matrix uint8) (red, blue float64) {
	switch matrix {
	case BT709:
		return 0.2126, 0.0722
	case BT2020, 10: // the second one with constant luminance
		return 0.2627, 0.0593
	}
	return 0.299, 0.114
}

// Numbers of colour matrices in ITU-T H.273.
const (
	Identity    = 0 // the planes are green, blue and red
	BT709       = 1
	Unspecified = 2
	BT601       = 6
	BT2020      = 9
)

// Bits is the number of fractional bits in the factors of Colour.
const Bits = 20

// Colour has the integers that turn samples into RGB: with y = Y - Y0, u = U - C0 and v = V - C0,
//
//	R = clip((CY*y + RV*v + half) >> Bits)
//	G = clip((CY*y - GU*u - GV*v + half) >> Bits)
//	B = clip((CY*y + BU*u + half) >> Bits)
//
// half is 1 << (Bits-1), and clip limits to 0 and 255. No step overflows int32.
type Colour struct{ Y0, C0, CY, RV, GU, GV, BU int32 }

// Colour returns the integers for the picture's matrix, range and bits.
func (p *Picture) Colour() Colour {
	c, top := Colour{C0: 1 << (p.Bits - 1)}, 1<<p.Bits-1
	luma, chroma := 255/float64(top), 255/float64(top)
	if !p.FullRange {
		c.Y0 = 16 << (p.Bits - 8)
		luma, chroma = 255/float64(int(219)<<(p.Bits-8)), 255/float64(int(224)<<(p.Bits-8))
	}
	fixed := func(x float64) int32 { return int32(math.Round(x * (1 << Bits))) }
	r, b := weightsOf(p.Matrix)
	c.CY, c.RV, c.BU = fixed(luma), fixed(2*(1-r)*chroma), fixed(2*(1-b)*chroma)
	c.GU, c.GV = fixed(2*(1-b)*b/(1-r-b)*chroma), fixed(2*(1-r)*r/(1-r-b)*chroma)
	return c
}

// convert converts a row of pixels to rgb, which has three bytes for each y. Samples 0, step, 2*step, ... in u and v each count for
// 1 << across pixels.
func convert[S sample](c *Colour, rgb []uint8, y, u, v []S, across, step int) {
	factor := c.CY
	for i := 0; i < len(v); i += step {
		r, g, b := c.black(int32(u[i]), int32(v[i]))
		if across == 1 && len(y) > 1 {
			two, pixels := y[:2], rgb[:6]
			luma := factor * int32(two[0])
			pixels[0], pixels[1], pixels[2] = clip(luma+r), clip(luma+g), clip(luma+b)
			luma = factor * int32(two[1])
			pixels[3], pixels[4], pixels[5] = clip(luma+r), clip(luma+g), clip(luma+b)
			y, rgb = y[2:], rgb[6:]
			continue
		}
		n := min(1<<across, len(y))
		for _, sample := range y[:n] {
			luma, pixel := factor*int32(sample), rgb[:3]
			pixel[0], pixel[1], pixel[2] = clip(luma+r), clip(luma+g), clip(luma+b)
			rgb = rgb[3:]
		}
		y = y[n:]
	}
}

// black returns the sums for red, green and blue where Y is 0, each more by below << Bits.
func (c *Colour) black(u, v int32) (r, g, b int32) {
	u, v = u-c.C0, v-c.C0
	black := below<<Bits + 1<<(Bits-1) - c.CY*c.Y0
	return black + c.RV*v, black - c.GU*u - c.GV*v, black + c.BU*u
}

// below is more than any sum is below 0, in levels of the output, and limits more than all sums.
const below = 320

var limits = func() (t [1024]uint8) {
	for i := range t {
		t[i] = uint8(min(max(i-below, 0), math.MaxUint8))
	}
	return t
}()

// clip returns the level in 0 to 255 for a sum that began with black.
func clip(sum int32) uint8 { return limits[uint32(sum)>>Bits%1024] }
