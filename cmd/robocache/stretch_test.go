package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If a log's clock was set back, no command mixes the parts before and after. Each prints the option that reads one part.
func TestClockSetBackInterleaves(t *testing.T) {
	in := filepath.Join(inCases(t, "clock-set-back-interleaves"), "reset.mcap")
	out := func() string { return filepath.Join(t.TempDir(), "out") }
	for _, args := range [][]string{
		{"inspect", in}, {"resample", in, "--hz=10", "-o", out() + ".npz"}, {"fuse", in, "--hz=10", "-o", out() + ".npz"}, {"plan", in}, {"stats", in},
		{"batches", in, "--hz=10", "--batch=2"}, {"pack", in, "-o", out() + ".safetensors"}, {"convert", in, "-o", out(), "--to=npz"},
		{"train", in, "--hz=10", "--steps=1"},
	} {
		code, _, stderr := execute(args...)
		assert.Equal(t, exitInput, code, args)
		assert.Contains(t, stderr, "want stretch 1 to 2", args)
	}
	_, _, stderr := execute("inspect", in)
	assert.Contains(t, stderr, "another clock: --stretch 1 reads the first")
	code, stdout, _ := execute("inspect", in, "--json")
	var failed struct{ Error report }
	require.NoError(t, json.Unmarshal([]byte(stdout), &failed))
	assert.Equal(t, []any{exitInput, "input", "/arm", "stretch 1 to 2"}, []any{code, failed.Error.Kind, failed.Error.Stream, failed.Error.Want})

	to := out()
	_, stderr = good(t, "convert", in, "-o", to, "--to=npz", "--stretch=2")
	assert.Contains(t, stderr, "stretch 2 of 2 was read, without 400 messages in the others")
	text, err := os.ReadFile(filepath.Join(to, "convert.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"stretch": 2`)
	code, _, stderr = execute("convert", in, "-o", to, "--to=npz", "--stretch=1")
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "stretch 2, where 1 is asked for")
	code, _, stderr = execute("inspect", in, "--stretch=3")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--stretch: got 3, want at most 2")
	code, _, stderr = execute("inspect", g1, "--stretch=1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "no logs of messages")
}
