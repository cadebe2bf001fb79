package convert

import (
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// TestEveryCameraIsTheSameInMessages converts datasets with cameras to MCAP, and compares numbers, times, texts, and all decoded frames.
// The videos of lerobot_studio have B-frames, which messages cannot have, so that they become JPEG.
func TestEveryCameraIsTheSameInMessages(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	needsFFmpeg(t)
	for name, encoding := range map[string]mcap.Encoding{
		"lerobot_v3_g1": mcap.Protobuf, "lerobot_studio/lerobotv2": mcap.JSON, "lerobot_studio/lerobotv2-image": mcap.JSON, "bridge_rlds": mcap.Protobuf,
		"rlds_kinds": mcap.JSON, "robomimic_bridge/image_gzip_latest.hdf5": mcap.Protobuf, "calvin_layout": mcap.JSON,
	} {
		t.Run(name, func(t *testing.T) {
			from := sharedFile(t, name)
			out := filepath.Join(t.TempDir(), "out")
			opt := Options{Reading: dataset.Options{Episodes: dataset.Selection{Take: dataset.Ranges{{0, 0}}}}}
			if name == "rlds_kinds" || name == "robomimic_bridge/image_gzip_latest.hdf5" {
				opt.Reading.Rate = 5
			}
			r := converts(t, out, MCAP(encoding), opt, from)
			want, got := opened(t, from, opt.Reading), episodes(t, out)
			jpeg := name == "lerobot_studio/lerobotv2"
			assert.Equal(t, jpeg, noteOf(r, dataset.CodeFramesJPEG) != nil)
			require.Len(t, got, 1)
			for i, b := range got {
				a := settest.Episode(t, want, i)
				equalStreams(t, a, b, name)
				assert.ElementsMatch(t, a.Texts, b.Texts)
				for k := range a.Media {
					x, y := &a.Media[k], b.MediaStream(a.Media[k].Name)
					require.NotNil(t, y, x.Name)
					require.Equal(t, x.Len(), y.Len(), x.Name)
					sameFrames(t, x, y, jpeg)
				}
			}
		})
	}
}

// sameFrames compares all frames: their pixels, or their bytes if they are no video. If lossy is set, only the decoded sizes.
func sameFrames(t *testing.T, a, b *dataset.Media, lossy bool) {
	t.Helper()
	if a.Encoding == "png-f32" {
		assert.Equal(t, []any{"32FC1", a.Width, a.Height}, []any{b.Encoding, b.Width, b.Height})
		return
	}
	if !a.IsVideo() {
		for i := range a.Len() {
			x, err := a.Frame(t.Context(), i)
			require.NoError(t, err)
			y, err := b.Frame(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, x, y, a.Name)
		}
		return
	}
	next, stop := iter.Pull2(b.DecodeRange(t.Context(), 0, b.Len()))
	defer stop()
	for x, err := range a.DecodeRange(t.Context(), 0, a.Len()) {
		require.NoError(t, err)
		y, err, there := next()
		require.True(t, there)
		require.NoError(t, err)
		require.Equal(t, x.Shape(), y.Shape(), a.Name)
		require.True(t, lossy || same(x, y), a.Name)
	}
}
