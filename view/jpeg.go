package view

import (
	"bytes"
	"image/jpeg"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// quality is the pictures' quality in package image/jpeg's units.
const quality = 85

func encode(t *tensor.Tensor, height int) ([]byte, error) {
	t, err := grey(t)
	if err != nil {
		return nil, err
	}
	if h, w := t.Dim(0), t.Dim(1); h > height {
		small, err := tensor.New(tensor.U8, height, max(1, (w*height+h/2)/h), t.Dim(2))
		if err != nil {
			return nil, err
		}
		if err := dataset.Resize(small, t); err != nil {
			return nil, err
		}
		t = small
	}
	data, err := tensor.Data[uint8](t)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = jpeg.Encode(&out, dataset.Picture(data, t.Dim(0), t.Dim(1), t.Dim(2)), &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}

// grey converts depth to u8: near pixels are bright and pixels without depth black. The range excludes the nearest and the farthest hundredth.
func grey(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType() == tensor.U8 {
		return t.Contiguous()
	}
	data, err := tensor.Floats(t)
	if err != nil {
		return nil, err
	}
	var known []float64
	for _, v := range data {
		if v > 0 && !math.IsInf(v, 1) {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	out := make([]uint8, len(data))
	if len(known) > 0 {
		near, far := known[len(known)/100], known[len(known)-1-len(known)/100]
		for i, v := range data {
			if v > 0 && !math.IsInf(v, 1) {
				out[i] = uint8(255 - 215*min(max((v-near)/max(far-near, 1e-9), 0), 1))
			}
		}
	}
	return tensor.Of(out, t.Shape()...)
}
