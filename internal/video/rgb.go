package video

import (
	"github.com/robocache/robocache/internal/yuv"
	"github.com/robocache/robocache/tensor"
)

// Numbers of colour matrices in ITU-T H.273.
const (
	identity    = yuv.Identity
	unspecified = yuv.Unspecified
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
	from := yuv.Picture{Data: p.Data, Stride: p.Stride, Bits: p.Bits, Shift: p.Shift, Matrix: p.Matrix, FullRange: p.FullRange}
	switch p.Layout {
	case Gray:
		from.Data[1] = nil
	case YUV420, NV12:
		from.Across, from.Down, from.Pairs = 1, 1, p.Layout == NV12
	case YUV422:
		from.Across = 1
	}
	var rows yuv.Rows
	rows.Set(from, p.Width)
	for y := range p.Height {
		rows.Read(out[3*y*p.Width:][:3*p.Width], 0, y)
	}
	return t, nil
}
