package write

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/internal/test/filetest"
)

// frameList is frames that are there already; nil is one that cannot be read.
type frameList [][]byte

func (f frameList) ReadFrame(_ context.Context, i int) ([]byte, error) {
	if f[i] == nil {
		return nil, errors.New("cannot be read")
	}
	return bytes.Clone(f[i]), nil
}

// camera is a media stream at 10 frames a second.
func camera(t *testing.T, name, encoding string, width, height int, frames ...[]byte) dataset.Media {
	times, err := dataset.StepTimes(len(frames), 10)
	require.NoError(t, err)
	return dataset.Media{Name: name, Times: times, Encoding: encoding, Width: width, Height: height, Source: frameList(frames)}
}

// painted is an image whose pixel x, y is red = x, green = y, blue = n.
func painted(width, height, n int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.NRGBA{uint8(x), uint8(y), uint8(n), 255})
		}
	}
	return img
}

func pngOf(t *testing.T, img image.Image) []byte {
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, img))
	return out.Bytes()
}

func TestImagesAreKeptByteForByte(t *testing.T) {
	ctx := context.Background()
	var jpg bytes.Buffer
	require.NoError(t, jpeg.Encode(&jpg, painted(16, 8, 3), nil))
	a, b := pngOf(t, painted(6, 4, 0)), pngOf(t, painted(6, 4, 255))
	e := &dataset.Episode{Media: []dataset.Media{
		camera(t, "observation.images.front", "png", 0, 0, a, b), camera(t, "observation.images.back", "jpeg", 0, 0, jpg.Bytes(), jpg.Bytes()),
	}}
	w, path := created(t, Options{})
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Commit(ctx))

	data := parquetColumns(t, filepath.Join(path, firstData))
	assert.Equal(t, []any{string(a), string(b)}, data["observation.images.front"])
	assert.Equal(t, []any{"frame-000000.png", "frame-000001.png"}, data["observation.images.front.path"])
	assert.Equal(t, []any{jpg.String(), jpg.String()}, data["observation.images.back"])
	assert.Equal(t, "frame-000001.jpg", data["observation.images.back.path"][1])
	features := readJSON(t, filepath.Join(path, "meta/info.json"))["features"].(map[string]any)
	assert.Equal(t, map[string]any{"dtype": "image", "shape": []any{4.0, 6.0, 3.0}, "names": []any{"height", "width", "channels"}},
		features["observation.images.front"])

	// Statistics of the channels, from 0 to 1: red 0 to 5, green 0 to 3, blue 0 or 255.
	episodes := parquetColumns(t, filepath.Join(path, firstEpisodes))
	assert.Equal(t, []any{int64(2)}, episodes["stats/observation.images.front/count"])
	assert.Equal(t, []any{2.5 / 255, 1.5 / 255, 0.5}, episodes["stats/observation.images.front/mean"])
	assert.Equal(t, []any{float64(float32(5) / 255), float64(float32(3) / 255), 1.0}, episodes["stats/observation.images.front/max"])
	assert.Equal(t, []any{0.0, 0.0, 0.0}, episodes["stats/observation.images.front/min"])
	assert.InDelta(t, 0.5, episodes["stats/observation.images.front/std"][2].(float64), 1e-15)
	stats := readJSON(t, filepath.Join(path, "meta/stats.json"))["observation.images.front"].(map[string]any)
	assert.Equal(t, []any{[]any{[]any{2.5 / 255}}, []any{[]any{1.5 / 255}}, []any{[]any{0.5}}}, stats["mean"])
	assert.Equal(t, []any{2.0}, stats["count"])
}

func TestRawPixelsBecomePNG(t *testing.T) {
	ctx := context.Background()
	rgb, bgr, grey := []byte{1, 2, 3, 4, 5, 6}, []byte{3, 2, 1, 6, 5, 4}, []byte{7, 200}
	e := &dataset.Episode{Media: []dataset.Media{
		camera(t, "rgb", "rgb8", 2, 1, rgb), camera(t, "bgr", "bgr8", 2, 1, bgr), camera(t, "grey", "mono8", 2, 1, grey),
	}}
	w, path := created(t, Options{})
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Commit(ctx))
	data := parquetColumns(t, filepath.Join(path, firstData))
	assert.Equal(t, data["rgb"], data["bgr"])
	img, err := png.Decode(bytes.NewReader([]byte(data["rgb"][0].(string))))
	require.NoError(t, err)
	assert.Equal(t, color.RGBA{4, 5, 6, 255}, color.RGBAModel.Convert(img.At(1, 0)))
	one, err := png.Decode(bytes.NewReader([]byte(data["grey"][0].(string))))
	require.NoError(t, err)
	assert.Equal(t, color.Gray{200}, one.At(1, 0))
	assert.Equal(t, []any{207.0 / 2 / 255}, parquetColumns(t, filepath.Join(path, firstEpisodes))["stats/grey/mean"])
}

func TestImagesThatCannotBeCarried(t *testing.T) {
	ctx := context.Background()
	good, small := pngOf(t, painted(6, 4, 0)), pngOf(t, painted(5, 4, 0))
	deep := pngOf(t, image.NewGray16(image.Rect(0, 0, 6, 4)))
	alpha := image.NewNRGBA(image.Rect(0, 0, 6, 4))
	for what, c := range map[string]struct {
		m    dataset.Media
		kind error
		text string
	}{
		"video":              {camera(t, "a", "av1", 6, 4, good), dataset.ErrUnsupported, `encoding "av1"`},
		"16 bits":            {camera(t, "a", "png", 6, 4, deep), dataset.ErrUnsupported, "frame 0: PNG of 16 bits"},
		"alpha":              {camera(t, "a", "png", 6, 4, pngOf(t, alpha)), dataset.ErrUnsupported, "colour type 6"},
		"another size":       {camera(t, "a", "png", 6, 4, good, small), dataset.ErrShape, "frame 1: [4,5,3], want [4,6,3]"},
		"no PNG":             {camera(t, "a", "png", 6, 4, good, []byte("nothing")), dataset.ErrCorrupt, "frame 1"},
		"half a PNG":         {camera(t, "a", "png", 6, 4, good[:60]), dataset.ErrCorrupt, "frame 0"},
		"no JPEG":            {camera(t, "a", "jpeg", 6, 4, good), dataset.ErrCorrupt, "frame 0"},
		"too few pixels":     {camera(t, "a", "rgb8", 6, 4, good[:5]), dataset.ErrShape, "5 bytes"},
		"no size":            {camera(t, "a", "rgb8", 0, 0, []byte{}), dataset.ErrShape, "0 bytes"},
		"no source":          {dataset.Media{Name: "a", Times: []int64{0}, Encoding: "png"}, dataset.ErrMissing, "no source"},
		"a frame is missing": {camera(t, "a", "png", 6, 4, good, nil), dataset.ErrMissing, "frame 1 cannot be read"},
	} {
		w, _ := created(t, Options{})
		err := w.Add(ctx, &dataset.Episode{Media: []dataset.Media{c.m}})
		var bad *Error
		require.ErrorAs(t, err, &bad, what)
		assert.Equal(t, "a", bad.Feature, what)
		assert.ErrorIs(t, err, c.kind, what)
		assert.ErrorContains(t, err, c.text, what)
		require.NoError(t, w.Add(ctx, &dataset.Episode{Media: []dataset.Media{camera(t, "a", "png", 0, 0, good)}}), "it costs itself only")
	}
}

func TestFramesAreSampledAsLeRobotDoes(t *testing.T) {
	text := filetest.Read(t, "../../../internal/summary/testdata/numpy.json")
	var golden struct {
		Frames []struct {
			Frames, Sampled, Sum, Last int
			Head                       []int
		}
	}
	require.NoError(t, json.Unmarshal(text, &golden))
	require.NotEmpty(t, golden.Frames)
	for _, c := range golden.Frames {
		list := sampleFrames(c.Frames)
		sum := 0
		for _, i := range list {
			sum += i
		}
		assert.Len(t, list, c.Sampled, fmt.Sprint(c.Frames))
		assert.Equal(t, c.Sum, sum, fmt.Sprint(c.Frames))
		assert.Equal(t, c.Head, list[:len(c.Head)])
		assert.Equal(t, c.Last, list[len(list)-1])
	}
}

func TestLargeImagesAreSampled(t *testing.T) {
	ctx := context.Background()
	w, path := created(t, Options{})
	e := &dataset.Episode{Media: []dataset.Media{camera(t, "a", "png", 0, 0, pngOf(t, painted(300, 10, 9)))}}
	require.NoError(t, w.Add(ctx, e))
	require.NoError(t, w.Commit(ctx))
	// Every second row and column of 300: red is 0, 2, .. 254, and 0, 2, .. 42 again; green 0, 2, 4, 6, 8.
	sum := 127*128 + 21*22
	mean := parquetColumns(t, filepath.Join(path, firstEpisodes))["stats/a/mean"]
	assert.InDelta(t, float64(sum)/150/255, mean[0].(float64), 1e-15)
	assert.InDelta(t, 4.0/255, mean[1].(float64), 1e-15)
}

// FuzzPicture has frames of any bytes: they are an image of the size that they say, or an error.
func FuzzPicture(f *testing.F) {
	f.Add("png", []byte("\x89PNG\r\n\x1a\n"))
	f.Add("jpeg", []byte("\xff\xd8\xff"))
	f.Add("rgb8", make([]byte, 12))
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, painted(3, 2, 1), nil); err != nil {
		f.Fatal(err)
	}
	f.Add("jpeg", jpg.Bytes())
	f.Fuzz(func(t *testing.T, encoding string, frame []byte) {
		m := &dataset.Media{Name: "a", Times: []int64{0}, Encoding: encoding, Width: 2, Height: 2}
		p, err := pictureOf(context.Background(), m, frame)
		if err != nil {
			return
		}
		levels := make([]summary.Levels, p.channels)
		if p.count(context.Background(), m, frame, levels) == nil && p.width < 300 && p.height < 300 {
			n := uint64(0)
			for _, k := range levels[0] {
				n += k
			}
			assert.EqualValues(t, p.width*p.height, n)
		}
	})
}
