package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// The statistics of a normalised stream are in the JSON and next to the batches, and invert to the recorded values.
func TestWhatNormalisesIsWrittenDown(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nshuffle: none\nstreams:\n  - {name: action, normalise: q01-q99}\n  - {name: discount}\n  - {name: reward, normalise: gr00t}\n"), 0o600))
	raw := filepath.Join(t.TempDir(), "raw.yaml")
	require.NoError(t, os.WriteFile(raw, []byte("version: 1\nrate: 10\nshuffle: none\nstreams: [{name: action}]\n"), 0o600))
	for folder, more := range map[string][]string{"": nil, ".": {"--streaming"}, "rank-00001-of-00002": {"--world=2", "--rank=1"}} {
		read := func(plan string) (object map[string]any, dir string) {
			dir = t.TempDir()
			stdout, _ := good(t, append([]string{"batches", kindsRLDS, "--rate=10", "--batch=2", "--backend=cpu", "--json", "--steps=1", "--out", dir, "--plan", plan}, more...)...)
			return unmarshal(t, stdout), filepath.Join(dir, folder)
		}
		plain, unmade := read(raw)
		assert.Empty(t, plain["normalised"])
		assert.NotNil(t, plain["normalised"])
		assert.NoFileExists(t, filepath.Join(unmade, statisticsFile))
		got, dir := read(plan)
		text, err := os.ReadFile(filepath.Join(dir, statisticsFile))
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"schema": map[string]any{"name": "robocache.statistics", "version": 1.0}, "version": 1.0, "normalised": got["normalised"]}, unmarshal(t, string(text)))
		list := got["normalised"].([]any)
		require.Len(t, list, 2)
		action, reward := list[0].(map[string]any), list[1].(map[string]any)
		assert.Equal(t, "q01-q99", action["rule"])
		assert.Equal(t, []any{"0", "1", "2", "3"}, action["names"])
		assert.NotContains(t, action, "clip_min")
		for _, key := range []string{"counts", "mean", "std", "min", "max", "q01", "q10", "q90", "q99", "shift", "scale"} {
			assert.Len(t, action[key], 4, key)
		}
		assert.Equal(t, []string{"name", "reward"}, []string{"name", reward["name"].(string)})
		assert.Len(t, reward["clip_max"], 1)

		values := func(dir string) []float32 {
			f, err := safetensors.Open(filepath.Join(dir, "batch-0000000.safetensors"))
			require.NoError(t, err)
			defer f.Close()
			v, err := f.Tensor("action.values")
			require.NoError(t, err)
			list, err := tensor.Data[float32](v)
			require.NoError(t, err)
			return append([]float32{}, list...)
		}
		want := values(unmade)
		for i, y := range values(dir) {
			x := float64(y)/action["scale"].([]any)[i%4].(float64) + action["shift"].([]any)[i%4].(float64)
			assert.InDelta(t, want[i], x, 1e-5)
		}
	}
}
