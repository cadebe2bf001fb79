package video

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

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
