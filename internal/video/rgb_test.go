package video

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// random returns a picture with all sample values, and gaps between its rows.
func random(rng *rand.Rand, width, height, bits int, layout Layout, matrix uint8, full bool) *Planes {
	p := &Planes{Width: width, Height: height, Bits: bits, Layout: layout, Matrix: matrix, FullRange: full}
	for i := range p.Data {
		w, h := p.Size(i)
		bytes := (bits + 7) / 8
		p.Stride[i] = w*bytes + 6
		p.Data[i] = make([]byte, max(p.Stride[i]*h-6, 0))
		for at := 0; at+bytes <= len(p.Data[i]); at += bytes {
			v := rng.IntN(1 << bits)
			if bits == 8 {
				p.Data[i][at] = byte(v)
			} else {
				binary.NativeEndian.PutUint16(p.Data[i][at:], uint16(v))
			}
		}
	}
	return p
}

// exact returns a pixel by the formulas in ITU-T H.273, in float64.
func exact(p *Planes, x, y int) (rgb [3]float64) {
	at := func(i, x, y int) float64 {
		if p.Bits == 8 {
			return float64(p.Data[i][y*p.Stride[i]+x])
		}
		return float64(binary.NativeEndian.Uint16(p.Data[i][y*p.Stride[i]+2*x:]))
	}
	top, unit := float64(int(1)<<p.Bits-1), float64(int(1)<<(p.Bits-8))
	if p.Matrix == identity && p.Layout == YUV444 {
		return [3]float64{at(2, x, y) / top * 255, at(0, x, y) / top * 255, at(1, x, y) / top * 255}
	}
	r, b := 0.299, 0.114
	switch p.Matrix {
	case 1:
		r, b = 0.2126, 0.0722
	case 9, 10:
		r, b = 0.2627, 0.0593
	}
	black, luma, chroma := 16*unit, 219*unit, 224*unit
	if p.FullRange {
		black, luma, chroma = 0, top, top
	}
	c := [3]float64{1: 128 * unit, 2: 128 * unit}
	cx, cy := x, y
	switch p.Layout {
	case YUV420:
		cx, cy = x/2, y/2
	case YUV422:
		cx = x / 2
	}
	if p.Layout != Gray {
		c[1], c[2] = at(1, cx, cy), at(2, cx, cy)
	}
	l, u, v := (at(0, x, y)-black)/luma, (c[1]-128*unit)/chroma, (c[2]-128*unit)/chroma
	rgb[0], rgb[2] = l+2*(1-r)*v, l+2*(1-b)*u
	rgb[1] = (l - r*rgb[0] - b*rgb[2]) / (1 - r - b)
	for i := range rgb {
		rgb[i] = min(max(255*rgb[i], 0), 255)
	}
	return rgb
}

// A pixel differs from the exact one by its rounding to a whole number, and by the factors' 20 bits.
func TestColoursAreThoseOfTheFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, bits := range []int{8, 10, 12} {
		for layout := Gray; layout <= YUV444; layout++ {
			for _, matrix := range []uint8{identity, 1, unspecified, 5, 6, 9, 10} {
				for _, full := range []bool{false, true} {
					p := random(rng, 33, 19, bits, layout, matrix, full)
					name := fmt.Sprint(bits, layout, matrix, full)
					frame, err := p.RGB()
					require.NoError(t, err)
					require.Equal(t, []int{19, 33, 3}, frame.Shape())
					got, err := tensor.Data[uint8](frame)
					require.NoError(t, err)
					worst := 0.0
					for i, v := range got {
						worst = max(worst, math.Abs(float64(v)-exact(p, i/3%33, i/3/33)[i%3]))
					}
					assert.Less(t, worst, 0.51, name)
				}
			}
		}
	}
}

// Both layouts of the chroma samples give the same pixels.
func TestNV12IsYUV420(t *testing.T) {
	const width, height = 7, 5
	for _, bits := range []int{8, 10, 12} {
		size := (bits + 7) / 8
		put := func(b []byte, i int, v int) {
			if size == 1 {
				b[i] = byte(v)
				return
			}
			binary.NativeEndian.PutUint16(b[2*i:], uint16(v))
		}
		a := &Planes{Width: width, Height: height, Bits: bits, Layout: YUV420, Matrix: 1}
		b := &Planes{Width: width, Height: height, Bits: bits, Layout: NV12, Matrix: 1}
		for plane := range 3 {
			for _, p := range []*Planes{a, b} {
				w, h := p.Size(plane)
				p.Data[plane], p.Stride[plane] = make([]byte, w*h*size), w*size
			}
			w, h := a.Size(plane)
			for i := range w * h {
				v := (i*37 + plane*101) % (1 << bits)
				put(a.Data[plane], i, v)
				if plane == 0 {
					put(b.Data[0], i, v)
				} else {
					put(b.Data[1], 2*i+plane-1, v)
				}
			}
		}
		b.Data[2] = nil
		var rows [2][]uint8
		for i, p := range []*Planes{a, b} {
			frame, err := p.RGB()
			require.NoError(t, err)
			rows[i], err = tensor.Data[uint8](frame)
			require.NoError(t, err)
		}
		assert.Equal(t, rows[0], rows[1])
	}
}

func BenchmarkRGB(b *testing.B) {
	for _, c := range []struct {
		bits   int
		layout Layout
	}{{8, YUV420}, {8, NV12}, {8, YUV444}, {8, Gray}, {10, YUV420}} {
		p := random(rand.New(rand.NewPCG(1, 2)), 640, 480, c.bits, c.layout, unspecified, false)
		b.Run(fmt.Sprintf("%dbit%d", c.bits, c.layout), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.RGB(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
