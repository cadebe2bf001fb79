package opstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// framesGoldenJSON is written by scripts/gen_frames_golden.py from Pillow and torch.
//
//go:embed testdata/frames_golden.json
var framesGoldenJSON []byte

// framesGolden compares with Pillow's sizes, torch's interpolation and normalisation, and torchvision's jitter.
func (s *suite) framesGolden(t *testing.T) {
	var file struct {
		Sizes, Floats []struct {
			Resize   string
			From, To [2]int
			Crop     []int
			CRC      uint32
			Float    []int64
		}
		Jitters []struct {
			Factors [3]float32
			CRC     uint32
		}
		Presets []struct {
			Preset         string
			F32, BF16, F16 []int64
		}
	}
	require.NoError(t, json.Unmarshal(framesGoldenJSON, &file))
	require.NotEmpty(t, file.Sizes)
	for _, g := range append(file.Sizes, file.Floats...) {
		if s.simulated && !s.long && max(g.From[0]*g.From[1], g.To[0]*g.To[1]) > 7000 {
			continue // the simulated device takes seconds
		}
		rule := map[string]ops.FrameResize{"antialias": ops.ResizeAntialias, "bilinear": ops.ResizeBilinear, "nearest": ops.ResizeNearest}[g.Resize]
		c := goldenPicture(g.From[0], g.From[1])
		c.Name, c.H, c.W, c.Opts.Resize = fmt.Sprint(g.Resize, g.From, g.To, g.Crop), g.To[0], g.To[1], rule
		if g.Crop != nil {
			c.Surfaces[0].Crop = image.Rect(g.Crop[0], g.Crop[1], g.Crop[2], g.Crop[3])
		}
		if g.Float == nil {
			assert.Equal(t, g.CRC, crcOf(s.called(t, c).dst), c.Name)
			continue
		}
		c.Out, c.Opts.Float, c.Opts.Layout = tensor.F32, true, ops.LayoutCHW
		for i, b := range s.called(t, c).dst {
			if want := decode(tensor.F32, uint64(uint32(g.Float[i]))); !assert.InDelta(t, want, decode(tensor.F32, b), 1e-6, "%s, element %d", c.Name, i) {
				return
			}
		}
	}
	for _, g := range file.Jitters {
		c := goldenPicture(24, 40)
		b, contrast, saturation := g.Factors[0], g.Factors[1], g.Factors[2]
		c.Opts.Brightness, c.Opts.Contrast, c.Opts.Saturation = float64(b)-1, float64(contrast)-1, float64(saturation)-1
		for _, x := range []*float64{&c.Opts.Brightness, &c.Opts.Contrast, &c.Opts.Saturation} {
			*x = max(*x, -*x)
		}
		o := c.oracle(0)
		o.changes = ops.FrameChanges{Brightness: b, Contrast: contrast, Saturation: saturation}
		var got []uint64
		for _, v := range o.frame() {
			got = append(got, uint64(v))
		}
		assert.Equal(t, g.CRC, crcOf(got), "the oracle with factors %v", g.Factors)
	}
	for _, g := range file.Presets {
		opts, err := ops.FramesPreset(g.Preset)
		require.NoError(t, err)
		for _, want := range []struct {
			out  tensor.DType
			bits []int64
		}{{tensor.F32, g.F32}, {tensor.BF16, g.BF16}, {tensor.F16, g.F16}} {
			c := &framing{Name: g.Preset, Out: want.out, N: 1, C: 3, H: 1, W: 256, Opts: opts}
			a := packed(tensor.U8, nil, 1, 256, 3)
			for i := range 768 {
				a.raw = append(a.raw, uint64(i/3))
			}
			c.Surfaces = []*surface{{FrameSurface: ops.FrameSurface{Format: ops.FrameRGB}, Planes: []*array{a}, Count: 1, H: 1, W: 256}}
			var raw []uint64
			for _, b := range want.bits {
				raw = append(raw, uint64(b)<<(64-8*want.out.Size())>>(64-8*want.out.Size()))
			}
			assert.Empty(t, s.called(t, c).differ("Dst", raw, nil), "%s, %v", g.Preset, want.out)
		}
	}
	_, err := ops.FramesPreset("vgg")
	assert.ErrorIs(t, err, ops.ErrOption)
}

// goldenPicture returns a case with the picture of scripts/gen_frames_golden.py, u8 in and out.
func goldenPicture(h, w int) *framing {
	a := packed(tensor.U8, nil, h, w, 3)
	for p := range h * w * 3 {
		a.raw = append(a.raw, uint64(uint32(p+1)*2654435761>>24))
	}
	return &framing{Out: tensor.U8, N: 1, C: 3, H: h, W: w, Opts: ops.FramesOptions{Layout: ops.LayoutHWC},
		Surfaces: []*surface{{FrameSurface: ops.FrameSurface{Format: ops.FrameRGB}, Planes: []*array{a}, Count: 1, H: h, W: w}}}
}

// crcOf returns the CRC-32 of bytes.
func crcOf(bytes []uint64) uint32 {
	b := make([]byte, len(bytes))
	for i, v := range bytes {
		b[i] = byte(v)
	}
	return crc32.ChecksumIEEE(b)
}
