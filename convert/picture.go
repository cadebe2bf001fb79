package convert

import (
	"image"
	"image/png"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// jpegQuality is the JPEG quality of video frames. A higher one makes files half as large again without a visible difference.
const jpegQuality = 95

// picture is a frame u8 [H,W,C] as an image.
func picture(t *tensor.Tensor) image.Image {
	pixels, _ := tensor.Data[uint8](t) // a decoder's, which is contiguous and on the host
	return dataset.Picture(pixels, t.Dim(0), t.Dim(1), t.Dim(2))
}

// wide reports whether raw pixels are decoded to numbers that no picture holds.
func wide(encoding string) bool {
	switch encoding {
	case "16UC1", "mono16", "16SC1", "32FC1":
		return true
	}
	return false
}

// buffers keeps the working memory of PNG encoders: about a megabyte each.
type buffers struct{ sync.Pool }

func (p *buffers) Get() *png.EncoderBuffer {
	b, _ := p.Pool.Get().(*png.EncoderBuffer)
	return b
}

func (p *buffers) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

var pngs buffers
