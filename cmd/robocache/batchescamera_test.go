package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
)

// Frames come with the windows: of recordings, of a store that has them, and read meanwhile, the same.
func TestBatchesHaveFrames(t *testing.T) {
	const camera = "observations/images/cam_high"
	recording := "../../dataset/aloha/testdata/jpeg.hdf5"
	dir := t.TempDir()
	store := filepath.Join(dir, "s.safetensors")
	good(t, "pack", recording, "-o", store, "--rate=10", "--media", camera)
	flags := []string{"--hz=10", "--batch=2", "--backend=cpu", "--shard-windows=4", "--camera", camera + "=8x6", "--window", camera + "=-200ms:0s"}
	var lines []string
	for _, args := range [][]string{{store}, {recording, "--rate=10"}, {recording, "--rate=10", "--streaming"}, {store, "--streaming"}} {
		stdout, _ := good(t, append(append([]string{"batches", "--digest"}, flags...), args...)...)
		lines = append(lines, stdout)
	}
	assert.NotEmpty(t, lines[0])
	assert.Equal(t, []string{lines[0], lines[0], lines[0]}, lines[1:])

	out := filepath.Join(dir, "out")
	stdout, _ := good(t, append([]string{"batches", store, "--json", "--out", out}, flags...)...)
	report := unmarshal(t, stdout)["cameras"].([]any)[0].(map[string]any)
	assert.Equal(t, map[string]any{"name": camera, "height": 6.0, "width": 8.0, "targets": 2.0, "frames": 4.0, "empty": 0.0, "bad": 0.0}, report)
	f, err := safetensors.Open(filepath.Join(out, "batch-0000000.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	h, err := f.Header(camera + ".frames")
	require.NoError(t, err)
	assert.Equal(t, "U8 [2,2,6,8,3]", h.String())

	for text, args := range map[string][]string{
		"want NAME=WIDTHxHEIGHT":           {store, "--camera=x=8"},
		"a name of its own":                {store, "--camera", camera + "=8x6", "--camera", camera + "=8x6"},
		"which no episode has":             {recording, "--rate=10", "--camera=x=8x6"},
		"the store has no frames of it":    {store, "--camera=observations/images/cam_left_wrist=8x6"},
		"--window: got stream \"nothing\"": {store, "--camera", camera + "=8x6", "--window=nothing=0s:1s"},
	} {
		code, _, stderr := cli(append([]string{"batches", "--hz=10", "--backend=cpu"}, args...)...)
		assert.NotEqual(t, exitGood, code)
		assert.Contains(t, stderr, text)
	}
}
