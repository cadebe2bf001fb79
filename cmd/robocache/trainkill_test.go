//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A signal ends training after a whole step, with a checkpoint that it goes on from.
func TestASignalEndsTrainingWithACheckpoint(t *testing.T) {
	for _, backend := range []string{"cpu", "cpu,cpu"} {
		signalEndsTraining(t, backend)
	}
}

func signalEndsTraining(t *testing.T, backend string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "policy")
	step := 0.0
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) {
			continue
		}
		cmd, temp := program(t, "train", g1, "--hold-out=0", "--steps=3000", "--batch=1", "--backend", backend, "--json", "--resume", "--out", out)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		in := bufio.NewScanner(stdout)
		in.Buffer(nil, 1<<20)
		var last map[string]any
		for n := 0; in.Scan(); n++ {
			last = nil
			require.NoError(t, json.Unmarshal(in.Bytes(), &last))
			if n == 0 {
				require.NoError(t, cmd.Process.Signal(sig))
			}
		}
		_ = cmd.Wait() // whose error is the code
		require.Equal(t, 0, cmd.ProcessState.ExitCode(), "it ends by itself")
		assert.Equal(t, true, last["ended_by_signal"])
		assert.Greater(t, last["steps"], step)
		step = last["steps"].(float64)
		assert.Len(t, last["remarks"], i, "the second goes on")
		assert.Empty(t, listed(t, temp))
		assert.Equal(t, []string{"config.json", "loss.png", "model.safetensors", "training.safetensors"}, listed(t, out))
	}
}
