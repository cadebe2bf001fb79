package yuv

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// random returns a picture with h x w random samples in words or bytes, and gaps between its rows.
func random(r *rand.Rand, p Picture, h, w int) *Picture {
	size, planes := (p.Bits+7)/8, 3
	if p.Pairs {
		planes = 2
	}
	for i := range planes {
		rows, columns := h, w
		if i > 0 {
			rows, columns = (h-1)>>p.Down+1, ((w-1)>>p.Across+1)*(4-planes)
		}
		p.Stride[i] = columns*size + 3
		p.Data[i] = make([]byte, rows*p.Stride[i])
		for k := range p.Data[i] {
			p.Data[i][k] = byte(r.Uint32())
		}
	}
	return &p
}

// Read gives the same pixels for a part of a row as for the whole row, and leaves the pictures as they are.
func TestAPartOfARowIsThatPartOfTheWholeRow(t *testing.T) {
	const h, w = 5, 23
	r := rand.New(rand.NewPCG(1, 5))
	var rows Rows
	for _, layout := range []Picture{{Bits: 8, Across: 1, Down: 1}, {Bits: 8, Across: 1, Down: 1, Pairs: true}, {Bits: 10, Shift: 6, Across: 1, Down: 1, Pairs: true},
		{Bits: 12, Across: 1, Down: 1}, {Bits: 8, Across: 1}, {Bits: 8}, {Bits: 10, Matrix: BT709}} {
		p := random(r, layout, h, w)
		before := bytes.Join(p.Data[:], nil)
		rows.Set(*p, w)
		var want [h][3 * w]uint8
		for y := range h {
			rows.Read(want[y][:], 0, y)
		}
		for x := range w {
			for _, n := range []int{1, 2, w - x} {
				n = min(n, w-x)
				got := make([]uint8, 3*n)
				for y := range h {
					rows.Read(got, x, y)
					require.Equal(t, want[y][3*x:][:3*n], got, fmt.Sprint(layout, x, n, y))
				}
			}
		}
		require.Equal(t, before, bytes.Join(p.Data[:], nil), "the picture was written")
	}
}

// A word's sample is at any place in it: the other bits have no influence.
func TestShiftedWordsAreTheSameSamples(t *testing.T) {
	const h, w = 4, 9
	r := rand.New(rand.NewPCG(1, 6))
	low := random(r, Picture{Bits: 12, Across: 1, Down: 1}, h, w)
	high := *low
	high.Shift = 4
	for i := range high.Data {
		high.Data[i] = bytes.Clone(low.Data[i])
		for y := range len(high.Data[i]) / high.Stride[i] {
			row := high.Data[i][y*high.Stride[i]:][:high.Stride[i]-3]
			for ; len(row) > 1; row = row[2:] {
				row[1], row[0] = row[1]<<4|row[0]>>4, row[0]<<4|0xf
			}
		}
	}
	var rows [2]Rows
	rows[0].Set(*low, w)
	rows[1].Set(high, w)
	for y := range h {
		var got [2][3 * w]uint8
		for i := range got {
			rows[i].Read(got[i][:], 0, y)
		}
		require.Equal(t, got[0], got[1], y)
	}
}
