package dataset_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// list is a source of frames that are given.
type list [][]byte

func (l list) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(l[i]), nil }

func media(encoding string, w, h int, frames ...[]byte) *dataset.Media {
	return &dataset.Media{Name: "cam", Times: make([]int64, len(frames)), Encoding: encoding, Width: w, Height: h, Source: list(frames)}
}

// image3x2 fills an image with colours that say where they are, and with alpha if it has that.
func image3x2[T interface {
	image.Image
	Set(x, y int, c color.Color)
}](img T) T {
	for y := range 2 {
		for x := range 3 {
			img.Set(x, y, color.NRGBA{uint8(10 + x), uint8(20 + y), uint8(30 + x + y), uint8(250 + x + y)})
		}
	}
	return img
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func decoded(t testing.TB, m *dataset.Media, i int) (shape []int, pixels []uint8) {
	t.Helper()
	got, err := m.Decode(context.Background(), i)
	require.NoError(t, err)
	pixels, err = tensor.Data[uint8](got)
	require.NoError(t, err)
	return got.Shape(), pixels
}

func TestRawPixelsAreInTheOrderOfTheirNames(t *testing.T) {
	for encoding, c := range map[string]struct{ in, want []byte }{
		"rgb8":  {[]byte{1, 2, 3, 4, 5, 6}, []byte{1, 2, 3, 4, 5, 6}},
		"bgr8":  {[]byte{3, 2, 1, 6, 5, 4}, []byte{1, 2, 3, 4, 5, 6}},
		"rgba8": {[]byte{1, 2, 3, 9, 4, 5, 6, 8}, []byte{1, 2, 3, 9, 4, 5, 6, 8}},
		"bgra8": {[]byte{3, 2, 1, 9, 6, 5, 4, 8}, []byte{1, 2, 3, 9, 4, 5, 6, 8}},
		"mono8": {[]byte{7, 8}, []byte{7, 8}},
	} {
		m := media(encoding, 1, 2, c.in, c.in[1:])
		shape, pixels := decoded(t, m, 0)
		assert.Equal(t, []int{2, 1, len(c.in) / 2}, shape, encoding)
		assert.Equal(t, c.want, pixels, encoding)
		_, err := m.Decode(context.Background(), 1)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, encoding)
		assert.ErrorContains(t, err, "frame 1 of cam")
	}
	for _, size := range [][2]int{{0, 0}, {-1, -2}, {1 << 31, 1 << 31}} {
		_, err := media("rgb8", size[0], size[1], nil).Decode(context.Background(), 0)
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
}

// Depth is exactly what was recorded: 16 bits are a float32 of the same value, and floats keep their bits.
func TestDepthIsExactlyAsRecorded(t *testing.T) {
	for encoding, c := range map[string]struct {
		in   []byte
		want []float32
	}{
		"16UC1":  {[]byte{0, 0, 255, 255, 232, 3, 1, 128}, []float32{0, 65535, 1000, 32769}},
		"mono16": {[]byte{1, 2, 3, 4, 5, 6, 7, 8}, []float32{0x0201, 0x0403, 0x0605, 0x0807}},
		"16SC1":  {[]byte{255, 255, 0, 128, 1, 0, 255, 127}, []float32{-1, -32768, 1, 32767}},
		"32FC1":  {[]byte{0, 0, 128, 63, 0, 0, 0, 192, 205, 204, 204, 61, 0, 0, 128, 127}, []float32{1, -2, 0.1, float32(math.Inf(1))}},
	} {
		m := media(encoding, 4, 1, c.in, c.in[1:])
		require.True(t, m.Decodes())
		got, err := m.Decode(context.Background(), 0)
		require.NoError(t, err, encoding)
		assert.Equal(t, []int{1, 4, 1}, got.Shape(), encoding)
		list, err := tensor.Data[float32](got)
		require.NoError(t, err)
		assert.Equal(t, c.want, list, encoding)
		_, err = m.Decode(context.Background(), 1)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, encoding)
	}
	for _, encoding := range []string{"rgb32", "webp", "8UC3", "32FC2", "h264"} {
		m := media(encoding, 1, 1, []byte{1})
		assert.False(t, m.Decodes(), encoding)
		_, err := m.Decode(context.Background(), 0)
		assert.ErrorIs(t, err, dataset.ErrUnsupported, encoding)
	}
}

func TestPNGsOfEveryKindDecodeToTheirPixels(t *testing.T) {
	r := image.Rect(0, 0, 3, 2)
	palette := color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{11, 21, 32, 255}}
	clear := color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{11, 21, 32, 0}}
	// The values are what the pixels are set to, not what another decoder gave.
	rgb := image.NewRGBA(r)
	for i := range rgb.Pix {
		rgb.Pix[i] = uint8(i)
		if i%4 == 3 {
			rgb.Pix[i] = 255
		}
	}
	gray := image.NewGray(r)
	copy(gray.Pix, []byte{1, 2, 3, 4, 5, 6})
	pal := image.NewPaletted(r, palette)
	copy(pal.Pix, []byte{0, 1, 0, 1, 1, 0})
	holes := image.NewPaletted(r, clear)
	copy(holes.Pix, pal.Pix)
	nrgba := image3x2(image.NewNRGBA(r))
	for name, c := range map[string]struct {
		img      image.Image
		channels int
		want     []byte
	}{
		"grey":               {gray, 1, gray.Pix},
		"colour":             {rgb, 3, []byte{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22}},
		"alpha":              {nrgba, 4, nrgba.Pix},
		"palette":            {pal, 3, []byte{1, 2, 3, 11, 21, 32, 1, 2, 3, 11, 21, 32, 11, 21, 32, 1, 2, 3}},
		"palette with holes": {holes, 4, []byte{1, 2, 3, 255, 11, 21, 32, 0, 1, 2, 3, 255, 11, 21, 32, 0, 11, 21, 32, 0, 1, 2, 3, 255}},
	} {
		shape, pixels := decoded(t, media("png", 0, 0, pngOf(t, c.img)), 0)
		assert.Equal(t, []int{2, 3, c.channels}, shape, name)
		assert.Equal(t, c.want, pixels, name)
	}
}

func TestJPEGsDecodeToWhatTheyShow(t *testing.T) {
	flat := image.NewRGBA(image.Rect(0, 0, 19, 9))
	for i := 0; i < len(flat.Pix); i += 4 {
		copy(flat.Pix[i:], []byte{200, 100, 50, 255})
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, flat, &jpeg.Options{Quality: 100}))
	shape, pixels := decoded(t, media("jpeg", 19, 9, b.Bytes()), 0)
	assert.Equal(t, []int{9, 19, 3}, shape)
	for i, v := range pixels {
		assert.InDelta(t, []byte{200, 100, 50}[i%3], v, 2) // one step of 8-bit YCbCr and its rounding
	}
	b.Reset()
	require.NoError(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 5, 4)), nil))
	shape, pixels = decoded(t, media("jpeg", 5, 4, b.Bytes()), 0)
	assert.Equal(t, []int{4, 5, 1}, shape)
	assert.Equal(t, make([]byte, 20), pixels)
}

func TestWhatCannotBeDecodedIsNamed(t *testing.T) {
	r := image.Rect(0, 0, 3, 2)
	ctx := context.Background()
	for name, img := range map[string]image.Image{
		"grey": image3x2(image.NewGray16(r)), "colour": image3x2(image.NewNRGBA64(r)), "opaque": image.NewRGBA64(r),
	} {
		_, err := media("png", 3, 2, pngOf(t, img)).Decode(ctx, 0)
		assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
		assert.ErrorContains(t, err, "16 bits", name)
	}
	for _, encoding := range []string{"h264", "png-f32", "rgb32", ""} {
		_, err := media(encoding, 3, 2, nil).Decode(ctx, 0)
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, `"`+encoding+`"`)
	}
	huge := pngOf(t, image.NewGray(r))
	binary.BigEndian.PutUint32(huge[16:], 1<<15)
	binary.BigEndian.PutUint32(huge[20:], 1<<15)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	_, err := media("png", 3, 2, huge).Decode(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
	whole := pngOf(t, image3x2(image.NewNRGBA(r)))
	for n := range len(whole) - 12 { // without the closing chunk the pixels are all there
		_, err := media("png", 3, 2, whole[:n]).Decode(ctx, 0)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.NotNil(t, bad.Kind)
	}
}

func TestARangeGoesOnBehindABrokenImage(t *testing.T) {
	good := pngOf(t, image.NewGray(image.Rect(0, 0, 1, 1)))
	m := media("png", 1, 1, good, []byte("none"), good)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var errs []bool
	for frame, err := range m.DecodeRange(ctx, 0, 3) {
		errs = append(errs, err != nil)
		assert.Equal(t, err == nil, frame != nil)
	}
	assert.Equal(t, []bool{false, true, false}, errs)
	n := 0
	for range m.DecodeRange(ctx, 0, 3) {
		n++
		cancel()
	}
	assert.Equal(t, 1, n, "frames before the context ended, and that of its end")
	for _, c := range [][2]int{{-1, 1}, {2, 1}, {0, 4}, {4, 4}} {
		for _, err := range m.DecodeRange(ctx, c[0], c[1]) {
			var r *dataset.RangeError
			assert.ErrorAs(t, err, &r)
		}
	}
	_, err := m.Decode(ctx, 3)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

// film decodes frame i to one pixel of value i, but for a frame that is broken, where it may end.
type film struct {
	list
	broken int
	ends   bool
}

func (f film) DecodeFrames(_ context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		for i := from; i < to; i++ {
			if i == f.broken {
				if !yield(nil, errors.New("broken")) || f.ends {
					return
				}
				continue
			}
			if !yield(tensor.Must(tensor.Of([]uint8{uint8(i)}, 1, 1, 1)), nil) {
				return
			}
		}
	}
}

func TestASourceThatDecodesIsAsked(t *testing.T) {
	m := media("av1", 1, 1, make([][]byte, 9)...)
	for _, ends := range []bool{true, false} {
		m.Source = film{broken: 7, ends: ends}
		var got []uint8
		var failed []error
		for frame, err := range m.DecodeRange(context.Background(), 3, 9) {
			if err != nil {
				failed = append(failed, err)
				continue
			}
			pixels, err := tensor.Data[uint8](frame)
			require.NoError(t, err)
			got = append(got, pixels...)
		}
		assert.Equal(t, map[bool][]uint8{true: {3, 4, 5, 6}, false: {3, 4, 5, 6, 8}}[ends], got)
		require.Len(t, failed, 1)
		assert.ErrorContains(t, failed[0], "broken")
	}
	_, pixels := decoded(t, m, 5)
	assert.Equal(t, []uint8{5}, pixels)
}

func FuzzDecode(f *testing.F) {
	f.Add(pngOf(f, image3x2(image.NewNRGBA(image.Rect(0, 0, 3, 2)))), true)
	var b bytes.Buffer
	require.NoError(f, jpeg.Encode(&b, image3x2(image.NewRGBA(image.Rect(0, 0, 3, 2))), nil))
	f.Add(b.Bytes(), false)
	f.Fuzz(func(t *testing.T, data []byte, isPNG bool) { decodeAny(t, data, isPNG) })
}

func decodeAny(t *testing.T, data []byte, isPNG bool) {
	encoding := "jpeg"
	if isPNG {
		encoding = "png"
	}
	got, err := media(encoding, 0, 0, data).Decode(context.Background(), 0)
	var bad *dataset.FormatError
	switch {
	case err != nil:
		require.ErrorAs(t, err, &bad)
		require.NotNil(t, bad.Kind)
	default:
		require.Equal(t, 3, got.Rank())
		require.Contains(t, []int{1, 3, 4}, got.Dim(2))
	}
}

func TestBrokenImagesAreErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, image3x2(image.NewRGBA(image.Rect(0, 0, 40, 30))), nil))
	for i, whole := range [][]byte{b.Bytes(), pngOf(t, image3x2(image.NewNRGBA(image.Rect(0, 0, 40, 30))))} {
		for range 2000 {
			broken := slices.Clone(whole)
			for range 1 + rng.IntN(3) {
				broken[rng.IntN(len(broken))] = byte(rng.Uint32())
			}
			decodeAny(t, broken, i == 1)
		}
	}
}

func TestASizeWhoseBytesCannotBeCountedIsAnError(t *testing.T) {
	m := dataset.Media{Name: "camera", Times: []int64{0}, Encoding: "rgba8", Width: 1 << 31, Height: 1 << 31, Source: list{nil}}
	_, err := m.Decode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}
