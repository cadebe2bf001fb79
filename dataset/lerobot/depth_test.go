package lerobot_test

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"testing"

	img "image"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/tensor"
)

// depthOf is the depth of an episode's first stream of depth images, of a frame, as float32.
func depthOf(t *testing.T, dir string, frame int) (*dataset.Media, []float32) {
	t.Helper()
	e := episode(t, open(t, dir, lerobot.Options{}), 0)
	require.Len(t, e.DepthNames(), 1)
	m := e.MediaStream(e.DepthNames()[0])
	d, err := m.DecodeDepth(context.Background(), frame)
	require.NoError(t, err)
	require.Equal(t, 2, d.Rank())
	list, err := tensor.Packed[float32](d)
	require.NoError(t, err)
	return m, list
}

// LeRobot writes depth images as png or tiff in millimetres.
func TestDepthImagesInMillimetres(t *testing.T) {
	for unit, scale := range map[string]float64{"mm": 0.001, "m": 1, "": 0.001} {
		m := make3(t)
		info := map[string]any{"is_depth_map": true}
		if unit != "" {
			info["depth_unit"] = unit
		}
		m.add(column{"observation.images.depth", nil, 0, func(row int) any {
			grey := img.NewGray16(img.Rect(0, 0, 4, 3))
			grey.SetGray16(1, 2, color.Gray16{Y: uint16(1500 + row)})
			var b bytes.Buffer
			require.NoError(t, png.Encode(&b, grey))
			return image{bytes: b.Bytes()}
		}}, map[string]any{"dtype": "image", "shape": []int{3, 4, 1}, "names": []string{"height", "width", "channels"}, "info": info})
		media, list := depthOf(t, m.write(), 2)
		assert.InDelta(t, scale, media.Depth.Scale, 0, unit)
		assert.Equal(t, []float32{0, 0, 0, 0, 0, 0, 0, 0, 0, 1502, 0, 0}, list)
	}
}

// The levels in the case's video are 100, 300, 500 and so on, which ffmpeg decodes by itself. The metres are the inverse of LeRobot's log((z + 3.5) / 3.51) / log(13.5 / 3.51).
func TestDepthVideoIsLogarithmic(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: videos are not decoded")
	}
	const folder = "../../../shared/cases/depth-video-blocks-conversion/video12"
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	for frame, level := range map[int]float64{0: 100, 2: 500} {
		media, list := depthOf(t, folder, frame)
		assert.InDelta(t, 1, media.Depth.Scale, 0)
		require.Len(t, list, 64*64)
		assert.InDelta(t, 3.51*math.Pow(13.5/3.51, level/4095)-3.5, list[0], 1e-6)
		assert.InDelta(t, list[0], list[64*64-1], 0)
	}
}
