package video

import (
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/tensor"
)

// Numbers of colour matrices in ITU-T H.273.
const (
	identity    = 0 // the planes are green, blue and red
	unspecified = 2
)

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
	if p.Bits == 8 {
		rows(p, out, func(plane, y, width int) []uint8 { return p.Data[plane][y*p.Stride[plane]:][:width] })
		return t, nil
	}
	var buffers [3][]uint16
	rows(p, out, func(plane, y, width int) []uint16 {
		b, row := buffers[plane][:0], p.Data[plane][y*p.Stride[plane]:][:2*width]
		for ; len(row) > 0; row = row[2:] {
			b = append(b, binary.NativeEndian.Uint16(row))
		}
		buffers[plane] = b
		return b
	})
	return t, nil
}

// rows converts a picture row by row. row returns a plane's samples.
func rows[S uint8 | uint16](p *Planes, rgb []uint8, row func(plane, y, width int) []S) {
	c := yuv.New(yuv.MatrixOf(p.Matrix), p.FullRange, p.Bits)
	across, down := 0, 0 // log2 of the pixels that a chroma sample covers
	switch p.Layout {
	case Gray:
		across = 30
	case YUV420, NV12:
		across, down = 1, 1
	case YUV422:
		across = 1
	}
	u, v := []S{S(c.C0)}, []S{S(c.C0)}
	width, _ := p.Size(1)
	for y := range p.Height {
		luma, out := row(0, y, p.Width), rgb[3*y*p.Width:][:3*p.Width]
		switch {
		case p.Layout == Gray || y>>down<<down != y:
		case p.Layout == NV12:
			u, v = split(u[:0], v[:0], row(1, y>>down, width))
		default:
			u, v = row(1, y>>down, width), row(2, y>>down, width)
		}
		if p.Matrix != identity || p.Layout != YUV444 {
			yuv.Row(&c, out, luma, u, v, across)
			continue
		}
		for x := range luma {
			out[3*x], out[3*x+1], out[3*x+2] = p.whole(int(v[x])), p.whole(int(luma[x])), p.whole(int(u[x]))
		}
	}
}

// whole scales a sample to 8 bits.
func (p *Planes) whole(v int) uint8 {
	if p.Bits == 8 {
		return uint8(v)
	}
	top := 1<<p.Bits - 1
	return uint8((v*math.MaxUint8 + top/2) / top)
}

// split appends the first of each two samples to u, and the other one to v.
func split[S any](u, v, pairs []S) (us, vs []S) {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		u, v = append(u, pairs[0]), append(v, pairs[1])
	}
	return u, v
}
