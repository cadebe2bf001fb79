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

// Rows converts a picture row by row. Its memory is used again for the next picture.
type Rows struct {
	Picture
	colour Colour
	narrow samples[uint8]
	wide   samples[uint16]
}

type sample interface{ uint8 | uint16 }

// samples are the samples in a row.
type samples[S sample] struct {
	u, v   []S
	row    int    // the row of u and v in their planes
	memory [4][]S // for y, u, v and pairs, where they are no part of the picture
}

// Begin begins a picture. Until the next Begin, the picture must not change, and rows are read from the same columns.
func (r *Rows) Begin(p *Picture) {
	r.Picture, r.colour, r.narrow.row, r.wide.row = *p, p.Colour(), -1, -1
	if p.Data[1] == nil {
		r.Across, r.Down = 30, 30 // one sample covers all
	}
}

// Read converts len(rgb)/3 pixels in row y, from column x on. A chroma sample counts for all pixels that it covers.
func (r *Rows) Read(rgb []uint8, x, y int) {
	if r.Bits == 8 {
		readRow(r, &r.narrow, rgb, x, y, func(_ *[]uint8, plane, row, first, n int) []uint8 {
			return r.Data[plane][row*r.Stride[plane]+first:][:n]
		})
		return
	}
	readRow(r, &r.wide, rgb, x, y, func(memory *[]uint16, plane, row, first, n int) []uint16 {
		out := grown(memory, n)
		unpack(out, r.Data[plane][row*r.Stride[plane]+2*first:][:2*n], r.Shift, r.Bits)
		return out
	})
}

// readRow converts a row. load returns n samples in a row of a plane, from `first` on, which it may write to memory.
func readRow[S sample](r *Rows, s *samples[S], rgb []uint8, x, y int, load func(memory *[]S, plane, row, first, n int) []S) {
	pixels := len(rgb) / 3
	luma := load(&s.memory[0], 0, y, x, pixels)
	first := x >> r.Across
	n := (x+pixels-1)>>r.Across + 1 - first
	if row := y >> r.Down; row != s.row {
		s.row = row
		switch {
		case r.Data[1] == nil:
			s.u = grown(&s.memory[1], 1)
			s.u[0] = S(r.colour.C0)
			s.v = s.u
		case r.Pairs:
			s.u, s.v = grown(&s.memory[1], n), grown(&s.memory[2], n)
			both := load(&s.memory[3], 1, row, 2*first, 2*n)
			for i := range s.u {
				s.u[i], s.v[i] = both[2*i], both[2*i+1]
			}
		default:
			s.u, s.v = load(&s.memory[1], 1, row, first, n), load(&s.memory[2], 2, row, first, n)
		}
	}
	if r.Matrix == Identity && r.Across == 0 {
		top := 1<<r.Bits - 1
		level := func(v S) uint8 { return uint8((int(v)*math.MaxUint8 + top/2) / top) }
		for i, green := range luma {
			rgb[3*i], rgb[3*i+1], rgb[3*i+2] = level(s.v[i]), level(green), level(s.u[i])
		}
		return
	}
	u, v := s.u, s.v
	if left := (first+1)<<r.Across - x; left < 1<<r.Across && left < pixels { // the first chroma sample also covers columns before x
		convert(&r.colour, rgb[:3*left], luma[:left], u[:1], v[:1], r.Across)
		rgb, luma, u, v = rgb[3*left:], luma[left:], u[1:], v[1:]
	}
	convert(&r.colour, rgb, luma, u, v, r.Across)
}

// unpack writes the samples of 16-bit words to `to`.
func unpack(to []uint16, words []byte, shift, bits int) {
	mask := 0x0001000100010001 * (uint64(1)<<bits - 1)
	for ; len(to) >= 4 && len(words) >= 8; to, words = to[4:], words[8:] {
		v := binary.LittleEndian.Uint64(words) >> (shift & 15) & mask
		to[0], to[1], to[2], to[3] = uint16(v), uint16(v>>16), uint16(v>>32), uint16(v>>48)
	}
	for i := range to {
		to[i] = binary.LittleEndian.Uint16(words[2*i:]) >> shift & uint16(mask)
	}
}

// grown returns memory for n samples.
func grown[S sample](memory *[]S, n int) []S {
	*memory = slices.Grow((*memory)[:0], n)[:n]
	return *memory
}
