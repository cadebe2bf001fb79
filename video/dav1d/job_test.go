package dav1d

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// stream are the packets of a video.
type stream [][]byte

func (s stream) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(s[i]), nil }

func (s stream) frames() *video.Frames {
	return &video.Frames{FrameSource: s, Name: "/video", Codec: "av1", Count: len(s), Packet: func(_ context.Context, i int) (uint32, bool, error) {
		return uint32(len(s[i])), video.Begins("av1", s[i]), nil
	}}
}

// pixels decodes all frames.
func (s stream) pixels() (all []byte, err error) {
	for frame, err := range s.frames().DecodeFrames(context.Background(), 0, len(s)) {
		if err != nil {
			return nil, err
		}
		b, err := tensor.Data[uint8](frame)
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

// absent hides the library and ffmpeg during a test.
func absent(t *testing.T, noLibrary, noFFmpeg bool) {
	t.Helper()
	if noLibrary {
		old := loaded
		loaded = func() (*library, error) { return nil, &video.Refusal{Driver: driver, Reason: video.NoLibrary} }
		t.Cleanup(func() { loaded = old })
	}
	path := ""
	if noFFmpeg {
		path = filepath.Join(t.TempDir(), "none")
	}
	t.Setenv("ROBOCACHE_FFMPEG", path)
}

func TestFFmpegAndTheLibraryGiveTheSameBits(t *testing.T) {
	real(t)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no program ffmpeg")
	}
	for _, name := range []string{"8bit", "odd", "10bit", "12bit", "full", "709", "422", "444", "gray", "grain"} {
		t.Run(name, func(t *testing.T) {
			s := stream(packets(t, name))
			absent(t, false, true)
			got, err := s.pixels()
			require.NoError(t, err)
			absent(t, true, false)
			want, err := s.pixels()
			require.NoError(t, err)
			assert.NotEmpty(t, got)
			assert.True(t, bytes.Equal(want, got))
		})
	}
}

func TestWithoutBothTheErrorNamesTheirPackages(t *testing.T) {
	absent(t, true, true)
	_, err := stream(packets(t, "8bit")).pixels()
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got no program ffmpeg and no library libdav1d, want one of the packages ffmpeg and libdav1d")
}
