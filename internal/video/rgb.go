package video

import (
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/tensor"
)

// identity is the matrix in ITU-T H.273 for planes with green, blue and red.
const identity = 0

// RGB returns the picture as u8 [H,W,3]. A chroma sample counts for all pixels that it covers.
func (p *Planes) RGB() (*tensor.Tensor, error) {
	t, err := tensor.New(tensor.U8, p.Height, p.Width, 3)
	if err != nil {
		return nil, err
	}
	out, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	c := yuv.New(yuv.MatrixOf(p.Matrix), p.FullRange, p.Bits)
	across, down := 0, 0 // log2 of the pixels that a chroma sample covers
	switch p.Layout {
	case YUV420, NV12:
		across, down = 1, 1
	case YUV422:
		across = 1
	}
	gray, pairs := p.Layout == Gray, p.Layout == NV12
	for y := range p.Height {
		rows := [3][]byte{p.Data[0][y*p.Stride[0]:]}
		for i := 1; i < 3 && p.Data[i] != nil; i++ {
			rows[i] = p.Data[i][y>>down*p.Stride[i]:]
		}
		row := out[3*y*p.Width:][:3*p.Width]
		for x := range p.Width {
			u, v := c.C0, c.C0
			if pairs {
				u, v = p.sample(rows[1], x&^1), p.sample(rows[1], x|1)
			} else if !gray {
				u, v = p.sample(rows[1], x>>across), p.sample(rows[2], x>>across)
			}
			luma := p.sample(rows[0], x)
			if p.Matrix == identity && p.Layout == YUV444 {
				top := int32(1)<<p.Bits - 1
				row[3*x], row[3*x+1], row[3*x+2] = whole(v, top), whole(luma, top), whole(u, top)
				continue
			}
			row[3*x], row[3*x+1], row[3*x+2] = c.Pixel(luma, u, v)
		}
	}
	return t, nil
}

// whole scales a sample to 8 bits.
func whole(v, top int32) uint8 { return uint8((v*math.MaxUint8 + top/2) / top) }

func (p *Planes) sample(row []byte, x int) int32 {
	if p.Bits > 8 {
		return int32(binary.NativeEndian.Uint16(row[2*x:]))
	}
	return int32(row[x])
}
