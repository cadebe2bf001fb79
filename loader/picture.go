package loader

import (
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

// toRGB is dataset.RGB.
var toRGB = dataset.RGB
