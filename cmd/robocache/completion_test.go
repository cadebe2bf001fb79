package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// completions returns the proposals of the shell for the last word.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	stdout, _ := good(t, append([]string{"__complete"}, words...)...)
	list := strings.Split(strings.TrimSpace(stdout), "\n")
	require.True(t, strings.HasPrefix(list[len(list)-1], ":"), stdout) // the directive
	return list[:len(list)-1]
}

// The shell completes names of streams in every format that is registered.
func TestCompletionKnowsStreamsOfEveryFormat(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "g1.safetensors")
	good(t, "pack", g1, "-o", store)
	for name, text := range map[string]string{"pose.txt": "0 1 2 3 0 0 0 1\n1 1 2 3 0 0 0 1\n", "table.csv": "time,x\n0,1\n1,2\n"} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	paths := map[string][2]string{ // a recording, and one of its streams
		"ulog": {flight, "airspeed"}, "npz": {"../../dataset/npz/testdata/streams.npz", ""}, "safetensors": {"../../dataset/safetensors/testdata/streams.safetensors", ""},
		"store": {store, "observation.state"}, "lerobot": {g1, "observation.state"}, "rosbag": {"../../examples/data/turtles.bag", "/turtle1/pose"},
		"rosbag2": {"../../examples/data/turtles2", "/turtle1/pose"}, "mcap": {"../../dataset/mcap/testdata/episode_protobuf.mcap", ""}, "rlds": {kindsRLDS, ""},
		"robomimic": {"../../dataset/robomimic/testdata/kinds.hdf5", ""}, "isaaclab": {"../../dataset/isaaclab/testdata/demos.hdf5", ""},
		"aloha": {"../../dataset/aloha/testdata/small.hdf5", ""}, "hdf5": {"../../dataset/hdf5/plain/testdata/one.hdf5", ""}, "calvin": {"../../dataset/calvin/testdata/small", ""},
		"tum": {filepath.Join(dir, "pose.txt"), ""}, "csv": {filepath.Join(dir, "table.csv"), ""}, "zarr": {"../../dataset/zarr/testdata/kinds2.zarr.zip", "i4"},
	}
	for _, f := range dataset.Formats() {
		c, listed := paths[f.Name]
		if assert.True(t, listed, "%s: no recording in this test", f.Name) {
			list := completions(t, "train", c[0], "--state", "")
			assert.NotEmpty(t, list, f.Name)
			assert.Equal(t, list, completions(t, "stats", c[0], "--stream", ""), f.Name)
			if c[1] != "" {
				assert.Contains(t, list, c[1])
			}
		}
	}
}

func TestCompletionOfCamerasAndLists(t *testing.T) {
	assert.Equal(t, []string{"observation.state", "action"}, completions(t, "convert", g1, "--action", "")[:2])
	assert.Contains(t, completions(t, "convert", g1, "--state", "action,"), "action,observation.state")
	assert.Contains(t, completions(t, "batches", g1, "--window", ""), "action=")
	assert.Empty(t, completions(t, "train", "none.ulg", "--state", ""))
	for _, words := range [][]string{{"train", "--state", ""}, {"convert", "--leave-out", ""}, {"batches", "--camera", ""}} {
		assert.Equal(t, []string{"_activeHelp_ write the recording before " + words[1] + " to list its entries"}, completions(t, words...))
	}
	for _, flag := range []string{"--episodes", "--leave-out"} {
		assert.Equal(t, []string{"0,0", "0,1", "0,2"}, completions(t, "train", g1, flag, "0,"))
	}
	camera := "../../../shared/data/lerobot_v3_g1"
	if _, err := os.Stat(camera); err != nil {
		t.Skip("the shared recordings are not here")
	}
	for flag, want := range map[string]string{"--camera": "observation.images.", "--window": "observation.images."} {
		assert.Contains(t, strings.Join(completions(t, "batches", camera, flag, ""), " "), want)
	}
	assert.Contains(t, strings.Join(completions(t, "pack", camera, "--media", ""), " "), "observation.images.")
}
