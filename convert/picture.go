package convert

import (
	"encoding/binary"
	"image"
	"image/png"
	"math"
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

// deepPicture is a frame f32 [H,W,1] as an image that loses nothing: 16-bit grey for the whole numbers of 16UC1 and mono16, else the four
// bytes of each number as red, green, blue and alpha, as TensorFlow Datasets has them. It is nil for 8-bit pixels.
func deepPicture(t *tensor.Tensor, encoding string) image.Image {
	values, err := tensor.Data[float32](t)
	if err != nil {
		return nil
	}
	size := image.Rect(0, 0, t.Dim(1), t.Dim(0))
	if encoding == "16UC1" || encoding == "mono16" {
		grey := image.NewGray16(size)
		for i, v := range values {
			binary.BigEndian.PutUint16(grey.Pix[2*i:], uint16(v))
		}
		return grey
	}
	bytes := image.NewNRGBA(size)
	for i, v := range values {
		binary.LittleEndian.PutUint32(bytes.Pix[4*i:], math.Float32bits(v))
	}
	return bytes
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
