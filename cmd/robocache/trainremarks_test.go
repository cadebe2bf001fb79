package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// Action columns from a quaternion are regressed unchanged, with a remark.
func TestTrainRemarksActionsThatAreRotations(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	var times []int64
	var values []float32
	for i := range 12 {
		times, values = append(times, int64(i)*1e8), append(values, float32(i%5), float32(i%3), float32(i%4), float32(i%7), float32(i%2))
	}
	rows := tensor.Must(tensor.Of(values, 12, 5))
	var b bytes.Buffer
	w := npz.NewWriter(&b, npz.Options{})
	for _, name := range []string{"state", "action"} {
		require.NoError(t, w.Add(name+".values", rows))
		require.NoError(t, w.Add(name+".times", vec(times...)))
	}
	require.NoError(t, w.AddStrings("action.columns", []string{"grip", "qx", "qy", "qz", "qw"}))
	require.NoError(t, w.Close())
	dir := t.TempDir()
	episode, plan := filepath.Join(dir, "in.npz"), filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(episode, b.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-200ms, 0s], action: [0s, 300ms]}\n"), 0o600))
	_, stderr := good(t, "train", episode, "--plan", plan, "--steps=2", "--batch=2", "--backend=cpu", "--out", filepath.Join(dir, "policy"))
	assert.Contains(t, stderr, "rotations: 4 columns of the action, qx to qw, are in quaternions, and each is predicted by itself: "+
		"q and -q are two targets, and the prediction has no length 1\n")
}
