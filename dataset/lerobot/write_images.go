package lerobot

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/columns"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// addImages reads a media stream's frames and takes them as a column of images.
func (p *episodePlan) addImages(ctx context.Context, name string, m *dataset.Media) error {
	var f *writeFeature
	data := columns.Data{Image: make([]columns.Picture, m.Len())}
	stats := featureStats{}
	sampled := sampleFrames(m.Len())
	for i := range data.Image {
		frame, err := m.Frame(ctx, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return &WriteError{Kind: dataset.ErrMissing, Got: fmt.Sprintf("frame %d cannot be read", i), Err: err}
		}
		pic, err := pictureOf(m, frame)
		if err == nil && f == nil {
			f = &writeFeature{name: name, dtype: dtypeImage, shape: pic.shape(), names: []string{"height", "width", "channels"}}
			stats.levels = make([]summary.Levels, pic.channels)
		}
		if err == nil && tensor.FormatShape(pic.shape()) != tensor.FormatShape(f.shape) {
			err = &WriteError{Kind: dataset.ErrShape, Got: tensor.FormatShape(pic.shape()), Want: tensor.FormatShape(f.shape) + ", as the first frame"}
		}
		if err == nil && len(sampled) > 0 && sampled[0] == i {
			sampled = sampled[1:]
			stats.frames++
			err = pic.count(stats.levels)
		}
		if err != nil {
			return inFrame(i, err)
		}
		data.Image[i] = columns.Picture{Bytes: pic.encoded, Path: fmt.Sprintf("frame-%06d.%s", i, pic.extension)}
	}
	for i := range stats.levels {
		stats.columns = append(stats.columns, stats.levels[i].Column())
	}
	p.features, p.data, p.stats = append(p.features, f), append(p.data, data), append(p.stats, stats)
	return nil
}

// inFrame says of an error which frame it is in.
func inFrame(i int, err error) error {
	bad, ok := err.(*WriteError)
	if !ok {
		bad = &WriteError{Kind: dataset.ErrCorrupt, Err: err}
	}
	bad.Got = fmt.Sprintf("frame %d: %s", i, bad.Got)
	return bad
}

// picture is a frame as it is stored.
type picture struct {
	encoded                 []byte
	extension               string
	height, width, channels int
	decoded                 image.Image // nil until it is needed
}

func (p *picture) shape() []int { return []int{p.height, p.width, p.channels} }

// pictureOf returns a frame as it is to be stored: PNG and JPEG as they are, raw pixels as PNG.
func pictureOf(m *dataset.Media, frame []byte) (*picture, error) {
	switch m.Encoding {
	case "png":
		return ofPNG(frame)
	case "jpeg", "jpg":
		c, err := jpeg.DecodeConfig(bytes.NewReader(frame))
		if err != nil {
			return nil, err
		}
		p := &picture{encoded: frame, extension: "jpg", height: c.Height, width: c.Width, channels: 3}
		switch c.ColorModel {
		case color.GrayModel:
			p.channels = 1
		case color.CMYKModel:
			return nil, &WriteError{Kind: dataset.ErrUnsupported, Got: "JPEG in CMYK", Want: "grey or colour"}
		}
		return p, nil
	case "rgb8", "bgr8", "mono8":
		return ofPixels(m, frame)
	}
	return nil, &WriteError{
		Kind: dataset.ErrUnsupported, Got: fmt.Sprintf("frames of encoding %q", m.Encoding), Want: "png, jpeg, rgb8, bgr8 or mono8: leave the stream out",
	}
}

// ofPNG reads the header that every PNG begins with: width and height, bits a sample, and the kind of colour.
func ofPNG(frame []byte) (*picture, error) {
	if _, err := png.DecodeConfig(bytes.NewReader(frame)); err != nil {
		return nil, err
	}
	p := &picture{encoded: frame, extension: "png", channels: 3}
	p.width, p.height = int(binary.BigEndian.Uint32(frame[16:])), int(binary.BigEndian.Uint32(frame[20:]))
	bits, kind := frame[24], frame[25]
	if kind == 0 {
		p.channels = 1
	}
	if bits != 8 || kind != 0 && kind != 2 {
		return nil, &WriteError{
			Kind: dataset.ErrUnsupported, Got: fmt.Sprintf("PNG of %d bits, colour type %d", bits, kind), Want: "8 bits, grey or colour, without alpha",
		}
	}
	return p, nil
}

// ofPixels makes a PNG of raw pixels.
func ofPixels(m *dataset.Media, frame []byte) (*picture, error) {
	p := &picture{extension: "png", height: m.Height, width: m.Width, channels: 3}
	if m.Encoding == "mono8" {
		p.channels = 1
	}
	if p.height <= 0 || p.width <= 0 || p.height > math.MaxInt32/p.width/p.channels || len(frame) != p.height*p.width*p.channels {
		return nil, &WriteError{Kind: dataset.ErrShape, Got: fmt.Sprintf("%d bytes", len(frame)), Want: tensor.FormatShape(p.shape()) + " of bytes"}
	}
	rect := image.Rect(0, 0, p.width, p.height)
	if p.channels == 1 {
		p.decoded = &image.Gray{Pix: frame, Stride: p.width, Rect: rect}
	} else {
		img := image.NewNRGBA(rect)
		for i := range p.width * p.height {
			r, g, b := frame[3*i], frame[3*i+1], frame[3*i+2]
			if m.Encoding == "bgr8" {
				r, b = b, r
			}
			img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3] = r, g, b, 255
		}
		p.decoded = img
	}
	var out bytes.Buffer
	err := png.Encode(&out, p.decoded)
	p.encoded = out.Bytes()
	return p, err
}

// count adds the pixels of each channel. Of images of 300 pixels or more on a side it takes rows and columns at such a distance that some 150 are left,
// as LeRobot does.
func (p *picture) count(levels []summary.Levels) error {
	if p.decoded == nil {
		var err error
		if p.decoded, _, err = image.Decode(bytes.NewReader(p.encoded)); err != nil {
			return err
		}
	}
	by := 1
	if max(p.width, p.height) >= 300 {
		if by = p.height / 150; p.width > p.height {
			by = p.width / 150
		}
	}
	b := p.decoded.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += by {
		for x := b.Min.X; x < b.Max.X; x += by {
			if p.channels == 1 {
				levels[0][color.GrayModel.Convert(p.decoded.At(x, y)).(color.Gray).Y]++
				continue
			}
			r, g, b, _ := p.decoded.At(x, y).RGBA()
			levels[0][r>>8]++
			levels[1][g>>8]++
			levels[2][b>>8]++
		}
	}
	return nil
}

// sampleFrames returns the frames of n that statistics are of, evenly spread from the first to the last, as LeRobot takes them: n^0.75 of them, at least
// 100 and at most 10,000, or all.
func sampleFrames(n int) []int {
	count := 100
	for count < 10_000 && float64(count+1)*float64(count+1)*float64(count+1)*float64(count+1) <= float64(n)*float64(n)*float64(n) {
		count++
	}
	count = min(count, n)
	list := make([]int, count)
	for i := range list {
		if count > 1 {
			list[i] = int(math.RoundToEven(float64(i) * (float64(n-1) / float64(count-1))))
		}
	}
	return list
}
