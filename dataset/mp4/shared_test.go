package mp4

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

const sharedData = "../../../shared/data"

// shared returns the path of a shared recording.
func shared(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(sharedData, name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared recordings are not here: ", name)
	}
	return path
}

func needFFmpeg(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
}

func openVideo(t testing.TB, path string) *Track {
	t.Helper()
	f, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	v, err := f.Video()
	require.NoError(t, err)
	return v
}

// spelled is the number that a frame of lerobot_v3_g1 spells in its top 32 rows: bit b in the cell of 8x16 pixels in row b/8 and column b%8.
func spelled(t *testing.T, frame *tensor.Tensor) int {
	t.Helper()
	require.Equal(t, []int{64, 64, 3}, frame.Shape())
	pixels, err := tensor.Data[uint8](frame)
	require.NoError(t, err)
	n := 0
	for b := range 16 {
		y, x := 16*(b/8)+8, 8*(b%8)+4
		if pixels[3*(64*y+x)] > 127 {
			n |= 1 << b
		}
	}
	return n
}

// Each file's first frame has this number of all frames of its camera.
var spelling = map[string]int{
	"lerobot_v3_g1/videos/observation.images.front/chunk-000/file-000.mp4": 0,
	"lerobot_v3_g1/videos/observation.images.front/chunk-000/file-001.mp4": 1674,
	"lerobot_v3_g1/videos/observation.images.wrist/chunk-000/file-000.mp4": 0,
}

func TestEveryDecodedFrameIsTheFrameThatWasAskedFor(t *testing.T) {
	needFFmpeg(t)
	for name, first := range spelling {
		if first > 0 && !thorough.Long {
			continue // more frames of the camera that file-000 is of
		}
		t.Run(name, func(t *testing.T) {
			v := openVideo(t, shared(t, name))
			m := dataset.Media{Name: "camera", Times: v.Times(), Encoding: v.Codec, Width: v.Width, Height: v.Height, Source: v}
			i := 0
			for frame, err := range m.DecodeRange(context.Background(), 0, v.Len()) {
				require.NoError(t, err)
				require.Equal(t, first+i, spelled(t, frame))
				i++
			}
			assert.Equal(t, v.Len(), i)
			for _, i := range []int{0, 3, 101, v.Len() - 1, 1, 2, 100, v.Len() - 2}[:thorough.Of(4, 8)] {
				frame, err := m.Decode(context.Background(), i)
				require.NoError(t, err)
				assert.Equal(t, first+i, spelled(t, frame))
			}
		})
	}
}
