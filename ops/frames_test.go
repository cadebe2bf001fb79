package ops_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// rgbOf returns the red, green and blue bytes of a surface with h x w pixels.
func rgbOf(t *testing.T, s ops.FrameSurface, h, w int) []uint8 {
	t.Helper()
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	out := make([]uint8, h*w*3)
	dst := tensor.Must(tensor.Of(out, 1, h, w, 3))
	require.NoError(t, dev.Frames(context.Background(), ops.FramesArgs{Dst: dst, Surfaces: []ops.FrameSurface{s}}, ops.FramesOptions{Layout: ops.LayoutHWC}))
	return out
}

// yuvPicture returns h x w luma samples, then U and V, in smooth shapes with noise.
func yuvPicture(h, w int) []uint8 {
	r := rand.New(rand.NewPCG(4, 2))
	var out []uint8
	for p := range 3 {
		rows, columns := h, w
		if p > 0 {
			rows, columns = h/2, w/2
		}
		for i := range rows * columns {
			y, x := float64(i/columns)/float64(rows), float64(i%columns)/float64(columns)
			wave := math.Sin(x*float64(7+3*p)) * math.Cos(y*float64(5+p))
			out = append(out, uint8(min(max(128+90*wave+20*r.NormFloat64(), 0), 255)))
		}
	}
	return out
}

// Colours of 8-bit 4:2:0 are those of ffmpeg's swscale with its default flags: at most 3 of 255 away, and less than 1 on average.
func TestColoursAreThoseOfSwscale(t *testing.T) {
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("ffmpeg is not installed")
	}
	const h, w = 240, 320
	yuv := yuvPicture(h, w)
	for _, c := range []struct {
		scale  string
		matrix ops.FrameMatrix
		full   bool
	}{
		{"scale", ops.MatrixUnspecified, false},
		{"scale=in_color_matrix=bt709", ops.MatrixBT709, false},
		{"scale=in_color_matrix=bt601:in_range=full", ops.MatrixBT601, true},
		{"scale=in_color_matrix=bt2020", ops.MatrixBT2020, false},
	} {
		cmd := exec.Command(ffmpeg, "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", fmt.Sprintf("%dx%d", w, h), "-i", "-", "-vf", c.scale, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
		cmd.Stdin = bytes.NewReader(yuv)
		want, err := cmd.Output()
		require.NoError(t, err)
		plane := func(at, h, w int) *tensor.Tensor { return tensor.Must(tensor.Of(yuv[at:at+h*w], h, w)) }
		got := rgbOf(t, ops.FrameSurface{Format: ops.FrameI420, Matrix: c.matrix, Full: c.full,
			Planes: [3]*tensor.Tensor{plane(0, h, w), plane(h*w, h/2, w/2), plane(h*w+h*w/4, h/2, w/2)}}, h, w)
		require.Len(t, want, len(got))
		largest, sum := 0, 0
		for i, v := range got {
			d := max(int(v)-int(want[i]), int(want[i])-int(v))
			largest, sum = max(largest, d), sum+d
		}
		mean := float64(sum) / float64(len(got))
		t.Logf("%s: largest %d, mean %.3f", c.scale, largest, mean)
		assert.LessOrEqual(t, largest, 3, c.scale)
		assert.LessOrEqual(t, mean, 1.0, c.scale)
	}
}

// Colours of 10, 12 and 16 bits are those of the exact formula, in float64 and rounded half up, except that one near a half may be one away.
func TestColoursOfDeepSamplesAreThoseOfTheFormula(t *testing.T) {
	const h, w = 64, 64
	r := rand.New(rand.NewPCG(4, 3))
	for _, bits := range []int{10, 12, 16} {
		for _, full := range []bool{false, true} {
			for matrix, k := range map[ops.FrameMatrix][2]float64{ops.MatrixBT601: {0.299, 0.114}, ops.MatrixBT709: {0.2126, 0.0722}, ops.MatrixBT2020: {0.2627, 0.0593}} {
				words := make([]int, h*w*3/2)
				list := make([]uint8, 2*len(words))
				for i := range words {
					words[i] = r.IntN(1 << bits)
					word := words[i] << (16 - bits)
					list[2*i], list[2*i+1] = uint8(word), uint8(word>>8)
				}
				s := ops.FrameSurface{Format: ops.FrameP016, Matrix: matrix, Full: full, Bits: bits}
				s.Planes[0], s.Planes[1] = tensor.Must(tensor.Of(list[:2*h*w], h, w, 2)), tensor.Must(tensor.Of(list[2*h*w:], h/2, w/2, 4))
				black, luma, chroma := float64(int(16)<<(bits-8)), float64(int(219)<<(bits-8)), float64(int(224)<<(bits-8))
				if full {
					black, luma = 0, float64(int(1)<<bits-1)
					chroma = luma
				}
				apart := 0
				for i, got := range rgbOf(t, s, h, w) {
					y, x := i/3/w, i/3%w
					at := h*w + (y/2)*w + x/2*2
					middle := float64(int(1) << (bits - 1))
					l, u, v := (float64(words[y*w+x])-black)/luma, (float64(words[at])-middle)/chroma, (float64(words[at+1])-middle)/chroma
					red, blue := l+2*(1-k[0])*v, l+2*(1-k[1])*u
					colour := [3]float64{red, (l - k[0]*red - k[1]*blue) / (1 - k[0] - k[1]), blue}[i%3]
					want := math.Floor(min(max(255*colour, 0), 255) + 0.5)
					if d := math.Abs(want - float64(got)); d > 0 {
						apart++
						require.LessOrEqual(t, d, 1.0, "%d bits, %v, full %v", bits, matrix, full)
					}
				}
				assert.Less(t, apart, h*w*3/50, "%d bits, %v, full %v: too many are apart", bits, matrix, full)
			}
		}
	}
}

// The answers that docs/operations.md has for each rule.
func TestKnownAnswersOfFrames(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	bytes := func(shape []int, data ...uint8) *tensor.Tensor { return tensor.Must(tensor.Of(data, shape...)) }
	// frame returns the frame of a surface, with w pixels in one row.
	frame := func(dtype tensor.DType, s ops.FrameSurface, w int, o ops.FramesOptions) []float64 {
		c := s.Format.Channels()
		o.Layout = ops.LayoutHWC
		dst := tensor.Must(tensor.New(dtype, 1, 1, w, c))
		args := ops.FramesArgs{Dst: dst, Surfaces: []ops.FrameSurface{s}, Keys: tensor.Must(tensor.Of([]int64{3, 7}, 1, 2))}
		require.NoError(t, dev.Frames(context.Background(), args, o))
		all, err := tensor.Floats(dst)
		require.NoError(t, err)
		return all
	}
	yuv := func(y, u, v uint8, matrix ops.FrameMatrix, full bool) ops.FrameSurface {
		return ops.FrameSurface{Format: ops.FrameI420, Matrix: matrix, Full: full, Planes: [3]*tensor.Tensor{bytes([]int{1, 1}, y), bytes([]int{1, 1}, u), bytes([]int{1, 1}, v)}}
	}
	for _, c := range []struct {
		matrix ops.FrameMatrix
		full   bool
		want   []float64
	}{
		{ops.MatrixUnspecified, false, []float64{254, 0, 0}}, {ops.MatrixBT601, true, []float64{238, 14, 14}},
		{ops.MatrixBT709, false, []float64{255, 24, 0}}, {ops.MatrixBT2020, false, []float64{255, 10, 0}},
	} {
		assert.Equal(t, c.want, frame(tensor.U8, yuv(81, 90, 240, c.matrix, c.full), 1, ops.FramesOptions{}), c.matrix)
	}
	gray := ops.FrameSurface{Format: ops.FrameGray, Planes: [3]*tensor.Tensor{bytes([]int{1, 5}, 0, 10, 100, 200, 255)}}
	for _, c := range []struct {
		rule                 ops.FrameResize
		down, floats, larger []float64
	}{
		{ops.ResizeAntialias, []float64{36, 186}, []float64{35.9090909, 186.1363636}, []float64{0, 4, 16, 72, 131, 194, 231, 255}},
		{ops.ResizeBilinear, []float64{8, 214}, []float64{7.5, 213.75}, []float64{0, 4, 16, 72, 131, 194, 231, 255}},
		{ops.ResizeNearest, []float64{10, 200}, []float64{10, 200}, []float64{0, 0, 10, 100, 100, 200, 255, 255}},
	} {
		assert.Equal(t, c.down, frame(tensor.U8, gray, 2, ops.FramesOptions{Resize: c.rule}), c.rule)
		assert.Equal(t, c.larger, frame(tensor.U8, gray, 8, ops.FramesOptions{Resize: c.rule}), c.rule)
		assert.InDeltaSlice(t, c.floats, frame(tensor.F32, gray, 2, ops.FramesOptions{Resize: c.rule, Float: true, White: 1}), 2e-5, c.rule)
	}
	part := gray
	part.Crop = image.Rect(1, 0, 4, 1)
	assert.Equal(t, []float64{44, 163}, frame(tensor.U8, part, 2, ops.FramesOptions{}))
	assert.Equal(t, []float64{200, 100, 10}, frame(tensor.U8, part, 3, ops.FramesOptions{FlipX: 1}))
	column := ops.FrameSurface{Format: ops.FrameGray, Planes: [3]*tensor.Tensor{bytes([]int{3, 1}, 10, 100, 200)}}
	dst := tensor.Must(tensor.New(tensor.U8, 1, 1, 3, 1))
	args := ops.FramesArgs{Dst: dst, Surfaces: []ops.FrameSurface{column}, Keys: tensor.Must(tensor.Of([]int64{3, 7}, 1, 2))}
	require.NoError(t, dev.Frames(context.Background(), args, ops.FramesOptions{FlipY: 1}))
	flipped, err := tensor.Data[uint8](dst)
	require.NoError(t, err)
	assert.Equal(t, []uint8{200, 100, 10}, flipped)
	rgb := ops.FrameSurface{Format: ops.FrameRGB, Planes: [3]*tensor.Tensor{bytes([]int{1, 1, 3}, 200, 100, 50)}}
	p, err := ops.FramesPreset("imagenet")
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{1.30704677, -0.28501397, -0.93298471}, frame(tensor.F32, rgb, 1, p), 1e-8)
	assert.Equal(t, []float64{1.3046875, -0.28515625, -0.93359375}, frame(tensor.BF16, rgb, 1, p))
	o := ops.FramesOptions{Seed: 42, Crop: ops.CropRandom, FlipX: 0.5, FlipY: 0.5, Brightness: 0.2, Contrast: 0.2, Saturation: 0.5}
	want := ops.FrameChanges{Y: 15, X: 95, FlipX: true, Brightness: 0.8636991, Contrast: 1.0185828, Saturation: 0.81103206}
	assert.Equal(t, want, o.Choose(3, 7, 0, 240, 320, 224, 224))
	assert.Equal(t, want, o.Choose(3, 7, 1, 240, 320, 224, 224), "another frame in the row")
	o.PerFrame = true
	assert.NotEqual(t, want, o.Choose(3, 7, 1, 240, 320, 224, 224), "another frame with choices of its own")
	o.Crop = ops.CropCentre
	centre := o.Choose(3, 7, 0, 227, 225, 224, 224)
	assert.Equal(t, [2]int{2, 0}, [2]int{centre.Y, centre.X}, "1.5 and 0.5, rounded to even")
	o.Crop = ops.CropNone
	assert.Equal(t, []float64{160, 88, 53}, frame(tensor.U8, rgb, 1, o))
}
