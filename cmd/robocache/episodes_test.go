package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Demonstrations without times need --rate for a clock.
func TestDemonstrations(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, c := range []struct {
		path, format, stream, episode string
		episodes, steps, width        int
	}{
		{"../../dataset/rlds/testdata/kinds", "rlds", "action", "train_0", 5, 5, 4},
		{"../../dataset/rlds/testdata/kinds/kinds-train.tfrecord-00000-of-00002", "rlds", "action", "train_0", 2, 5, 4},
		{"../../dataset/robomimic/testdata/demo.hdf5", "robosuite", "actions", "demo_1", 1, 174, 6},
	} {
		stdout, _ := good(t, "inspect", c.path, "--json")
		got := unmarshal(t, stdout)
		assert.Equal(t, c.format, got["format"])
		assert.EqualValues(t, c.episodes, got["episodes"], c.path)
		remarks := got["notes"].([]any)
		assert.Equal(t, dataset.CodeStepsOnly.String(), remarks[len(remarks)-1].(map[string]any)["code"])
		stdout, _ = good(t, "inspect", c.path, "--json", "--episode=0")
		assert.Equal(t, c.episode, unmarshal(t, stdout)["episode"].(map[string]any)["name"])

		out := filepath.Join(t.TempDir(), "o.npz")
		for _, op := range []string{"resample", "fuse"} {
			args := []string{op, c.path, "-o", out, "--backend=cpu", "--hz=20", "--episode=0", "--stream", c.stream}
			code, _, stderr := execute(args...)
			assert.Equal(t, exitUsage, code, stderr)
			assert.Contains(t, stderr, "--rate")
			assert.NoFileExists(t, out)
			good(t, append(args, "--rate=10")...)
			name := "values"
			if op == "resample" {
				name = c.stream + ".values"
			}
			f := open(t, out)
			assert.Equal(t, []int{2*c.steps - 1, c.width}, shape(t, f, name))
			require.NoError(t, os.Remove(out))
		}
		code, _, stderr := execute("resample", c.path, "-o", out, "--hz=20", "--episode=99")
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, "--episode: got 99")
	}
}
