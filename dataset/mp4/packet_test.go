package mp4

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video"
)

// A track in memory has three samples of h264 with a length of 2 bytes before each unit. The last length is broken.
func TestPacketsHaveStartCodesAndParameterSets(t *testing.T) {
	data := []byte{0, 2, 0x65, 1, 0, 1, 6, 0, 2, 0x41, 2, 0, 9, 0x41}
	config := []byte{1, 66, 0, 10, 0xfd, 0xe1, 0, 2, 0x67, 7, 1, 0, 1, 0x68}
	track := &Track{Codec: "h264", Config: config, file: &File{source: source{r: bytes.NewReader(data), size: int64(len(data))}}, order: []int32{0, 1, 2}, ticks: make([]int64, 3),
		samples: []sample{{at: 0, size: 7, key: true}, {at: 7, size: 4, time: 1}, {at: 11, size: 3, time: 2}}}
	for i, want := range [][]byte{
		{0, 0, 0, 1, 0x67, 7, 0, 0, 0, 1, 0x68, 0, 0, 0, 1, 0x65, 1, 0, 0, 0, 1, 6}, {0, 0, 0, 1, 0x41, 2}, {0, 0, 0, 1, 0x41},
	} {
		got, err := track.Packet(t.Context(), i)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, i == 0, video.Begins("h264", got))
	}
	assert.True(t, track.Separable(0, 3))
	assert.False(t, track.Separable(1, 3), "the first frame needs another")
	assert.False(t, track.Separable(0, 4))
	track.Config = config[:len(config)-1]
	assert.False(t, track.Separable(0, 3), "a parameter set is cut")
	track.Config, track.order = config, []int32{0, 2, 1}
	assert.False(t, track.Separable(0, 3), "B-frames")
	track.order, track.samples[1].size = []int32{0, 1, 2}, 0
	assert.False(t, track.Separable(0, 3), "a frame is lost")
	_, err := track.Packet(t.Context(), 3)
	assert.Error(t, err)
}

// The configurations of hevc and av1 are before the first packet. A key frame of av1 with a sequence header stays as it is.
func TestPacketsOfOtherCodecsHaveTheirConfiguration(t *testing.T) {
	hevc := append(append(make([]byte, 21), 3, 2), 0x21, 0, 1, 0, 2, 0x42, 1, 0x22, 0, 1, 0, 1, 0x44)
	for _, c := range []struct {
		codec              string
		config, data, want []byte
	}{
		{"hevc", hevc, []byte{0, 0, 0, 2, 0x26, 1}, []byte{0, 0, 0, 1, 0x42, 1, 0, 0, 0, 1, 0x44, 0, 0, 0, 1, 0x26, 1}},
		{"av1", []byte{0x81, 0, 0, 0, 0x0a, 1, 9}, []byte{0x32, 1, 5}, []byte{0x0a, 1, 9, 0x32, 1, 5}},
		{"av1", []byte{0x81, 0, 0, 0, 0x0a, 1, 9}, []byte{0x0a, 1, 9, 0x32, 1, 5}, []byte{0x0a, 1, 9, 0x32, 1, 5}},
		{"vp9", nil, []byte{0x82, 1}, []byte{0x82, 1}},
	} {
		track := &Track{Codec: c.codec, Config: c.config, file: &File{source: source{r: bytes.NewReader(c.data), size: int64(len(c.data))}}, order: []int32{0},
			ticks: make([]int64, 1), samples: []sample{{size: uint32(len(c.data)), key: true}}}
		assert.True(t, track.Separable(0, 1), c.codec)
		before := bytes.Clone(c.config)
		got, err := track.Packet(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.codec)
		assert.Equal(t, before, c.config, "the configuration is not written to")
	}
}

// ffmpeg reads the packets of a recording without its file and shows the same frames.
func TestFFmpegDecodesThePackets(t *testing.T) {
	path := "../../../shared/data/lerobot_v3_g1/videos/observation.images.front/chunk-000/file-000.mp4"
	f, err := Open(path)
	if err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	defer f.Close()
	track, err := f.Video()
	require.NoError(t, err)
	require.True(t, track.Separable(0, 20))
	raw := filepath.Join(t.TempDir(), "a.h264")
	var all []byte
	for i := range 20 {
		p, err := track.Packet(t.Context(), i)
		require.NoError(t, err)
		all = append(all, p...)
	}
	require.NoError(t, os.WriteFile(raw, all, 0o600))
	frames := func(path string) string {
		out, err := exec.Command("ffmpeg", "-nostdin", "-loglevel", "error", "-i", path, "-frames:v", "20", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-").Output()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("ffmpeg is not here: ", err)
		}
		require.NoError(t, err)
		return string(out)
	}
	assert.True(t, frames(path) == frames(raw))
}
