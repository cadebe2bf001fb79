package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// If no episode in the output has a requested camera or stream, convert ends with exit code 3. The output is whole, and has the other streams.
func TestWhatNoEpisodeOfTheOutputHasIsAnError(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} { // the second stream of both is empty
		path := writeNPZ(t, map[string]*tensor.Tensor{"state.values": column[float32](0, 1, 2), "state.times": vec[int64](0, 1e8, 2e8),
			"hand.values": tensor.Must(tensor.New(tensor.F32, 0, 1)), "hand.times": tensor.Must(tensor.New(tensor.I64, 0))})
		require.NoError(t, os.Rename(path, filepath.Join(dir, name+".npz")))
	}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams:\n  - name: state\n  - name: hand\n"), 0o600))
	depth := []string{"--rate=10", "--hz=10", "--media=observation/depth32"}
	for _, c := range []struct {
		to, in, lacks string
		has           string // a file of the output
		args          []string
	}{
		{"npz", kindsRLDS, "observation/depth32", "episode-000000.npz", depth},
		{"mcap", "depth-video-blocks-conversion/video12", "observation.images.depth", "episode-000000.mcap", []string{"--media=observation.images.depth"}},
		{"lerobot", kindsRLDS, "observation/depth32", "meta/info.json", depth},
		{"webdataset", "depth-video-blocks-conversion/video12", "observation.images.depth", "shard-00000-of-00001.tar",
			[]string{"--media=observation.images.depth"}},
		{"npz", dir, "hand", "episode-000001.npz", []string{"--plan=" + plan}},
		{"webdataset", dir, "hand", "shard-00000-of-00001.tar", []string{"--plan=" + plan}},
		{"lerobot", dir, "hand", "meta/info.json", []string{"--plan=" + plan}},
	} {
		t.Run(c.to+" "+c.lacks, func(t *testing.T) {
			if strings.HasPrefix(c.in, "depth-video") {
				c.in = sharedCase(t, c.in)
			}
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"convert", c.in, "-o", out, "--to=" + c.to, "--backend=cpu"}, c.args...)
			code, stdout, stderr := execute(args...)
			assert.Equal(t, exitInput, code, "%s %s: %s", c.to, c.in, stderr)
			assert.Contains(t, stderr, out+": no episode in the output has "+c.lacks+", which was asked for", "%s %s", c.to, c.in)
			assert.Contains(t, stdout, "converted ", c.to)
			assert.FileExists(t, filepath.Join(out, c.has), c.to)
			assert.FileExists(t, filepath.Join(out, "convert.json"), c.to)
			if c.to != "webdataset" {
				again, _ := good(t, "inspect", out)
				assert.NotContains(t, again, c.lacks+" ", c.to)
			}
			code, _, _ = execute(args...)
			assert.Equal(t, exitInput, code, "%s: a second run finds the output whole, and ends as the first", c.to)
		})
	}
}
