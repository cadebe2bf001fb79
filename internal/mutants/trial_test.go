package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/ptx"
)

// TestTrial does the task in the environment; the command runs it so. Without one there is nothing to do.
func TestTrial(t *testing.T) {
	given := os.Getenv(TaskEnv)
	if given == "" {
		return
	}
	var task Task
	require.NoError(t, json.Unmarshal([]byte(given), &task))
	image := imageOf(task.Family)
	if task.Line > 0 {
		// A mutant is told by the whole suite or not at all: it is the family's only image.
		t.Setenv("ROBOCACHE_KERNELS", "sm_90.ptx")
	}
	cfg := cudasim.Config{Lines: task.Lines != "", MaxSteps: 1 << 26}
	replaced := task.Line == 0
	cfg.Rewrite = func(text []byte) []byte {
		if task.Line == 0 || !bytes.Equal(bytes.TrimRight(text, "\x00"), image) {
			return text
		}
		replaced = true
		return replaceLine(image, task.Line, task.New)
	}
	d := cudasim.New(cfg)
	ran := map[int]bool{}
	if task.Lines != "" {
		d.Observe(func(l *cudasim.Launch) {
			if family, _, _ := ptx.Lookup(l.Kernel); family == task.Family {
				for at, n := range l.Counters.Lines {
					if n > 0 {
						ran[at] = true
					}
				}
			}
		})
	}
	b, err := sim.New(d)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	opstest.Run(t, dev, opstest.Config{Slow: 20})
	require.True(t, replaced, "the suite never loaded the family")
	if task.Lines == "" {
		return
	}
	require.NoError(t, dev.Close())
	lines := []int{}
	for at := range ran {
		lines = append(lines, at)
	}
	slices.Sort(lines)
	text, err := json.Marshal(lines)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(task.Lines, text, 0o644))
}
