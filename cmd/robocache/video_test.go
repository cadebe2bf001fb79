package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// decoders returns the decoder of each codec, and the packages that info names. The program has both drivers, here or absent.
func decoders(t *testing.T) (of map[string]string, cures map[string]bool) {
	t.Helper()
	stdout, _ := good(t, "info", "--json", "--backend=cpu")
	of, cures = map[string]string{}, map[string]bool{}
	known := map[any]bool{}
	for _, c := range unmarshal(t, stdout)["video"].([]any) {
		choice := c.(map[string]any)
		of[choice["codec"].(string)], _ = choice["decoder"].(string)
		known[choice["decoder"]] = true
		absent, _ := choice["absent"].([]any)
		for _, a := range absent {
			known[a.(map[string]any)["decoder"]] = true
			if cure, ok := a.(map[string]any)["cure"].(string); ok {
				cures[cure] = true
			}
		}
	}
	assert.True(t, known["nvdec"] && known["dav1d"], "%v", known)
	return of, cures
}

func TestInfoNamesTheDecoderOfEachCodec(t *testing.T) {
	of, _ := decoders(t)
	assert.Len(t, of, 6)
	path := filepath.Join(t.TempDir(), "ffmpeg")
	t.Setenv("ROBOCACHE_FFMPEG", path)
	of, cures := decoders(t)
	assert.Empty(t, of["vp9"])
	assert.True(t, cures["the package ffmpeg"])
	stdout, _ := good(t, "info", "--backend=cpu")
	assert.Regexp(t, `\n  vp9 +no decoder; ffmpeg: no program, install the package ffmpeg\n`, stdout)
	assert.Contains(t, stdout, "\n  ROBOCACHE_FFMPEG is "+path+"\n")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho ' V....D vp9 Google VP9'; echo ' V....D av1 Alliance for Open Media AV1'\n"), 0o755))
	of, cures = decoders(t)
	assert.Equal(t, "ffmpeg", of["vp9"])
	assert.NotEqual(t, "ffmpeg", of["av1"], "ffmpeg's own one needs hardware")
	assert.Empty(t, of["mpeg4"])
	assert.False(t, cures["the package ffmpeg"])
}

func TestAV1NeedsNoFFmpeg(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	recording := "../../../shared/data/lerobot_v3_g1"
	if _, err := os.Stat(recording); err != nil {
		t.Skip("the shared recordings are not here: ", recording)
	}
	if of, _ := decoders(t); of["av1"] != "dav1d" {
		t.Skip("libdav1d is not installed")
	}
	t.Setenv("ROBOCACHE_FFMPEG", filepath.Join(t.TempDir(), "none"))
	for _, to := range []string{"webdataset", "mcap"} {
		good(t, "convert", recording, "-o", filepath.Join(t.TempDir(), "out"), "--to", to, "--media=observation.images.wrist", "--episodes=0")
	}
	args := []string{"batches", "--digest", "--backend=cpu", "--steps=1", "--stream=action", "--shuffle=none", "--camera=observation.images.wrist=8x6", recording}
	kept, _ := good(t, args...)
	ahead, _ := good(t, append(args, "--streaming")...)
	assert.NotEmpty(t, kept)
	assert.Equal(t, ahead, kept)
}

func TestDoctorNamesTheDecoderThatIsMissing(t *testing.T) {
	if of, _ := decoders(t); of["h264"] == "nvdec" {
		t.Skip("the GPU decodes it")
	}
	recording := greyLog(t, 0)
	found := func() []any {
		stdout, _ := good(t, "doctor", recording, "--json", "--fail-on=warning")
		return unmarshal(t, stdout)["findings"].([]any)
	}
	path := filepath.Join(t.TempDir(), "ffmpeg")
	t.Setenv("ROBOCACHE_FFMPEG", path)
	list := found()
	require.Len(t, list, 1)
	f := list[0].(map[string]any)
	assert.Equal(t, []any{"undecoded", "frames-undecoded", "/video", "information"}, []any{f["kind"], f["code"], f["stream"], f["severity"]})
	assert.Contains(t, f["why"], "ffmpeg: no program, want the package ffmpeg")
	assert.Contains(t, f["what_to_do"], "ROBOCACHE_FFMPEG")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	assert.Empty(t, found(), "doctor decodes no frame")
}
