package loader

import (
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// shrink converts a picture to RGB, resizes it to the camera's size and writes its bytes [H,W,3] to to.
func shrink(to []byte, camera Camera, picture *tensor.Tensor) error {
	picture, err := toRGB(picture)
	if err != nil {
		return err
	}
	dst, err := tensor.Of(to, camera.Height, camera.Width, 3)
	if err != nil {
		return err
	}
	return dataset.Resize(dst, picture)
}

// toRGB returns a picture u8 [H,W,C] as red, green and blue, [H,W,3]. Grey is repeated three times, and alpha is dropped. Pixels with
// another dtype, such as depth, are an error that is dataset.ErrUnsupported.
func toRGB(picture *tensor.Tensor) (*tensor.Tensor, error) {
	c := picture.Dim(2)
	if picture.DType() != tensor.U8 {
		return nil, &dataset.FormatError{Format: "loader", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "frame", Got: fmt.Sprintf("%v %s, which is no colours", picture.DType(), tensor.FormatShape(picture.Shape())),
			Want: "8 bits a channel; Media.Decode and a recording in Python give depth as it is"}
	}
	if c == 3 {
		return picture, nil
	}
	from, err := tensor.Data[uint8](picture)
	if err != nil {
		return nil, err
	}
	out := make([]uint8, len(from)/c*3)
	for p := range len(from) / c {
		for k := range 3 {
			out[3*p+k] = from[p*c+min(k, c-1)] // of grey the one that there is
		}
	}
	return tensor.Of(out, picture.Dim(0), picture.Dim(1), 3)
}
