package yuv

import (
	"encoding/binary"
	"math"
	"slices"
)

// Picture is a picture with luma and chroma.
type Picture struct {
	Data   [3][]byte // luma, then chroma: none for gray, or U and V, or with Pairs one plane for both
	Stride [3]int    // bytes from one row to the next
	Pairs  bool      // samples of U and V alternate in Data[1]
	// Across and Down are log2 of the columns and rows that a chroma sample covers.
	Across, Down int
	// Bits is 8, or more if samples are 16-bit words, low byte first: a sample is (word >> Shift) & (1<<Bits - 1).
	Bits, Shift int
	Matrix      uint8 // the number in ITU-T H.273; Identity needs Across and Down 0
	FullRange   bool
}

// Rows converts a picture row by row.
type Rows struct {
	Picture
	colour Colour
	memory [3][]uint16 // samples from words, by plane
}

// Set sets the picture. Reads have at most n pixels. The memory of earlier pictures is used again.
func (r *Rows) Set(p Picture, n int) {
	r.Picture, r.colour = p, p.Colour()
	if p.Bits > 8 {
		for i := range r.memory {
			r.memory[i] = slices.Grow(r.memory[i][:0], n+2) // pairs begin a pixel before an odd column, and end a pixel after an even one
		}
	}
}

// Read converts len(rgb)/3 pixels in row y, from column x on. A chroma sample counts for all pixels that it covers.
func (r *Rows) Read(rgb []uint8, x, y int) {
	if r.Bits == 8 {
		readRow(r, rgb, x, y, func(plane, row, first, n int) []uint8 { return r.Data[plane][row*r.Stride[plane]+first:][:n] })
		return
	}
	readRow(r, rgb, x, y, func(plane, row, first, n int) []uint16 {
		to := r.memory[plane][:n]
		Unpack(to, r.Data[plane][row*r.Stride[plane]+2*first:][:2*n], r.Shift, r.Bits)
		return to
	})
}

type sample interface{ uint8 | uint16 }

// readRow converts a row. load returns n samples in a row of a plane, from `first` on.
func readRow[S sample](r *Rows, rgb []uint8, x, y int, load func(plane, row, first, n int) []S) {
	n, first, row := len(rgb)/3, x>>r.Across, y>>r.Down
	luma, covers := load(0, y, x, n), (x+n-1)>>r.Across+1-first
	var u, v []S
	step, across := 1, r.Across
	switch {
	case r.Data[1] == nil:
		u, across = []S{S(r.colour.C0)}, 30 // one sample covers all
		v = u
	case r.Pairs:
		u, step = load(1, row, 2*first, 2*covers), 2
		v = u[1:]
	default:
		u, v = load(1, row, first, covers), load(2, row, first, covers)
	}
	if r.Matrix == Identity && across == 0 {
		top := 1<<r.Bits - 1
		level := func(v S) uint8 { return uint8((int(v)*math.MaxUint8 + top/2) / top) }
		for i, green := range luma {
			rgb[3*i], rgb[3*i+1], rgb[3*i+2] = level(v[i]), level(green), level(u[i])
		}
		return
	}
	if left := (first+1)<<across - x; left < 1<<across && left < n { // the first chroma sample also covers columns before x
		convert(&r.colour, rgb[:3*left], luma[:left], u[:1], v[:1], across, 1)
		rgb, luma, u, v = rgb[3*left:], luma[left:], u[step:], v[step:]
	}
	convert(&r.colour, rgb, luma, u, v, across, step)
}

// Unpack writes samples with up to `bits` bits to `to`, from 16-bit words, low byte first: those bits after a shift.
func Unpack(to []uint16, words []byte, shift, bits int) {
	mask := 0x0001000100010001 * (uint64(1)<<bits - 1)
	for ; len(to) >= 4 && len(words) >= 8; to, words = to[4:], words[8:] {
		v := binary.LittleEndian.Uint64(words) >> (shift & 15) & mask
		to[0], to[1], to[2], to[3] = uint16(v), uint16(v>>16), uint16(v>>32), uint16(v>>48)
	}
	for i := range to {
		to[i] = binary.LittleEndian.Uint16(words[2*i:]) >> shift & uint16(mask)
	}
}
