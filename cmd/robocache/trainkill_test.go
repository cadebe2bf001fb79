//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// A signal ends training after a whole step, with a checkpoint that it goes on from.
func TestASignalEndsTrainingWithACheckpoint(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, backend := range []string{"cpu", "cpu,cpu"} {
		signalEndsTraining(t, backend)
	}
}

func signalEndsTraining(t *testing.T, backend string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "policy")
	short := shortPlan(t)
	step := 0.0
	for i, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(sig) {
			continue
		}
		cmd, temp := program(t, "train", g1, short, "--steps=3000", "--batch=1", "--backend", backend, "--json", "--resume", "--out", out)
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
		_ = cmd.Wait() // its error is the code
		require.Equal(t, 0, cmd.ProcessState.ExitCode(), "it ends by itself")
		assert.Equal(t, true, last["ended_by_signal"])
		assert.Greater(t, last["steps"], step)
		step = last["steps"].(float64)
		assert.Contains(t, noteTexts(last)[0], []string{"--resume: there is no checkpoint in", "goes on after step"}[i])
		assert.Empty(t, listed(t, temp))
		assert.Equal(t, []string{"config.json", "loss.png", "model.safetensors", "training.safetensors"}, listed(t, out))
	}
}

// Where nobody reads the output any more training ends by SIGPIPE, as any program does, but with a checkpoint that it goes on from.
func TestAPipeThatNobodyReadsLeavesACheckpoint(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "policy")
	args := []string{"train", g1, "--steps=200", "--batch=1", "--backend=cpu", "--json", "--out", out}
	cmd, temp := program(t, args...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewReader(stdout)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, stdout.Close())
	_ = cmd.Wait() // its error is the signal
	assert.Equal(t, syscall.SIGPIPE, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	assert.Empty(t, listed(t, temp))
	assert.Equal(t, []string{"config.json", "loss.png", "model.safetensors", "training.safetensors"}, listed(t, out))
	printed, _ := good(t, append(args, "--resume")...)
	list := lines(t, printed)
	assert.Regexp(t, `^goes on after step \d+ of 200$`, noteTexts(list[len(list)-1])[0])
	assert.EqualValues(t, 200, list[len(list)-1]["steps"])
}

// If two programs write one checkpoint, the second fails at once.
func TestOneProgramMakesACheckpoint(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "policy")
	short := shortPlan(t)
	args := []string{"train", g1, short, "--steps=10000", "--batch=1", "--backend=cpu", "--json", "--out", out}
	first, _ := program(t, args...)
	stdout, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	in := bufio.NewReader(stdout)
	_, err = in.ReadString('\n') // the first step, after which a signal leaves a checkpoint
	require.NoError(t, err)
	code, _, stderr := execute("train", g1, short, "--backend=cpu", "--resume", "--out", out)
	assert.Equal(t, 1, code, stderr)
	assert.Contains(t, stderr, "another program is making it")
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, in)
	require.NoError(t, first.Wait())
	assert.Equal(t, []string{"policy"}, listed(t, filepath.Dir(out)), "the lock is gone")
}
