package view

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// quality is the pictures' quality in package image/jpeg's units.
const quality = 85

// pictureKey identifies a picture: a camera's frame at a place, or an episode's thumbnail, with camera -1.
type pictureKey struct {
	episode, camera, place, height int
}

// rendering is an encoded picture, or its decoding's error.
type rendering struct {
	name  pictureKey
	kind  string // its media type
	bytes []byte
	// near and far are the ends of the grey levels of depth, in the frame's unit; zeros for colours.
	near, far float64
	err       error
	made      time.Time
}

// encoded returns a decoded frame as a picture, scaled down to its key's height.
func encoded(name pictureKey, t *tensor.Tensor) *rendering {
	s := &rendering{name: name}
	s.err = s.encode(t)
	return s
}

// encode encodes a frame: u8 as a JPEG, and depth as a PNG, in which no pixel is a mixture of two.
func (s *rendering) encode(t *tensor.Tensor) error {
	var out bytes.Buffer
	if t.DType() != tensor.U8 {
		img, err := s.grey(t)
		if err == nil {
			err = png.Encode(&out, img)
		}
		s.kind, s.bytes = "image/png", out.Bytes()
		return err
	}
	t, err := t.Contiguous()
	if err != nil {
		return err
	}
	height := s.name.height
	if h, w := t.Dim(0), t.Dim(1); h > height {
		small, err := tensor.New(tensor.U8, height, max(1, (w*height+h/2)/h), t.Dim(2))
		if err != nil {
			return err
		}
		if err := dataset.Resize(small, t); err != nil {
			return err
		}
		t = small
	}
	data, err := tensor.Data[uint8](t)
	if err != nil {
		return err
	}
	err = jpeg.Encode(&out, dataset.Picture(data, t.Dim(0), t.Dim(1), t.Dim(2)), &jpeg.Options{Quality: quality})
	s.kind, s.bytes = "image/jpeg", out.Bytes()
	return err
}

// grey returns depth [H,W] or [H,W,1] as grey levels: 255 at near, 40 at far, and 0 without a depth. The range excludes the nearest and the
// farthest hundredth. If it is too high, rows and columns are left out.
func (s *rendering) grey(t *tensor.Tensor) (*image.Gray, error) {
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
	if len(known) > 0 {
		s.near, s.far = known[len(known)/100], known[len(known)-1-len(known)/100]
	}
	h, w := t.Dim(0), t.Dim(1)
	step := max(1, h/s.name.height)
	out := image.NewGray(image.Rect(0, 0, w/step, h/step))
	for i := range out.Pix {
		if v := data[i/out.Stride*step*w+i%out.Stride*step]; v > 0 && !math.IsInf(v, 1) {
			out.Pix[i] = uint8(255 - 215*min(max((v-s.near)/max(s.far-s.near, 1e-9), 0), 1))
		}
	}
	return out, nil
}
