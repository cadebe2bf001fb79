package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// A stream of recordings that count steps is there: the missing rate is the reason, as of a request without names.
func TestPythonRobomimicRateError(t *testing.T) {
	for _, args := range [][]string{{"--stream=actions"}, {"--stream=actions", "--stream=rewards"}, nil} {
		code, _, stderr := execute(append([]string{"batches", robosuite, "--hz=20", "--batch=2"}, args...)...)
		assert.NotZero(t, code)
		assert.Contains(t, stderr, "want --rate HZ, the steps a second", args)
		assert.NotContains(t, stderr, "no episode has")
	}
	_, _, stderr := execute("batches", robosuite, "--hz=20", "--batch=2", "--stream=act")
	assert.Contains(t, stderr, `"act", which no episode has`)
	code, _, stderr := execute("stats", robosuite, "--rate=20", "--stream=act")
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "stream act: got no such stream, want one of those there are")
	assert.NotContains(t, stderr, "cannot be read")
}

// Train has no flag for streams that step back, so its advice is a plan, which takes them.
func TestPythonTrainUnordered(t *testing.T) {
	dir := t.TempDir()
	times, values := make([]int64, 80), make([]float32, 160)
	for i := range times {
		times[i] = int64(i) * 5e7
		values[2*i], values[2*i+1] = float32(i%7), float32(i%5)
	}
	back := append([]int64{}, times...)
	back[3], back[4] = back[4], back[3]
	rows := tensor.Must(tensor.Of(values, 80, 2))
	for name, times := range map[string][]int64{"ep0.npz": back, "ep1.npz": times} {
		file := writeNPZ(t, map[string]*tensor.Tensor{"action.values": rows, "action.times": vec(times...), "state.values": rows, "state.times": vec(times...)})
		require.NoError(t, os.Rename(file, filepath.Join(dir, name)))
	}
	_, stderr := good(t, "train", dir, "--hz=20", "--steps=1", "--batch=2", "--backend=cpu")
	assert.Contains(t, stderr, "time goes backwards at sample 4; a plan with unordered: sort takes it")
	_, _, stderr = execute("train", filepath.Join(dir, "ep0.npz"), "--hz=20", "--backend=cpu")
	assert.Contains(t, stderr, "a plan with unordered: sort takes it")
	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 20\nunordered: sort\n"), 0o600))
	_, stderr = good(t, "train", dir, "--plan", plan, "--steps=1", "--batch=2", "--backend=cpu")
	assert.NotContains(t, stderr, "left out")
}
