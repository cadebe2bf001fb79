package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
)

// answer503 is S3's answer when it is asked too often.
const answer503 = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`

// A bucket that does not give one of several objects ends the command.
func TestAnObjectThatTheServiceDoesNotGiveEndsTheCommand(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	data, err := os.ReadFile(numpyStreams)
	require.NoError(t, err)
	server := s3test.Shared()
	for i := range 4 {
		server.Put(t, "slow", fmt.Sprintf("set/%d.npz", i), data)
	}
	defer server.Intercept(nil)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "2.npz") {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(answer503))
		return true
	})
	var all sync.WaitGroup
	for _, args := range [][]string{{"inspect"}, {"doctor"}, {"stats"}, {"pack", "-o", filepath.Join(t.TempDir(), "o.safetensors")}, {"batches", "--hz=10", "--batch=2", "--steps=1", "--backend=cpu"}} {
		all.Go(func() { // together, because the client waits between attempts
			code, _, stderr := execute(append(args, "s3://slow/set")...)
			assert.Equal(t, exitOther, code, args)
			assert.Contains(t, stderr, "SlowDown", args)
			assert.Contains(t, stderr, "2.npz", args)
		})
	}
	code, stdout, _ := execute("inspect", "--json", "s3://slow/set")
	all.Wait()
	assert.Equal(t, exitOther, code)
	assert.Equal(t, "system", unmarshal(t, stdout)["error"].(map[string]any)["kind"])
}

// Ranks of batches that have no socket meet at their state files.
func TestRanksThatDrawFromOtherEpisodesAreRefused(t *testing.T) {
	data, err := os.ReadFile(numpyStreams)
	require.NoError(t, err)
	dir := t.TempDir()
	set, state := filepath.Join(dir, "set"), filepath.Join(dir, "state.json")
	require.NoError(t, os.Mkdir(set, 0o700))
	put := func(i int) {
		require.NoError(t, os.WriteFile(filepath.Join(set, fmt.Sprintf("%d.npz", i)), data, 0o600))
	}
	run := func(rank int) (code int, stderr string) {
		code, _, stderr = execute("batches", set, "--hz=10", "--batch=1", "--steps=1", "--backend=cpu", "--state", state, "--world=2", fmt.Sprintf("--rank=%d", rank))
		return code, stderr
	}
	put(0)
	put(1)
	code, stderr := run(0)
	require.Equal(t, exitGood, code, stderr)
	put(2)
	code, stderr = run(1)
	assert.Equal(t, exitInput, code)
	text, err := os.ReadFile(stateFile(state, 0, 2))
	require.NoError(t, err)
	var first kept
	require.NoError(t, json.Unmarshal(text, &first))
	assert.Contains(t, stderr, fmt.Sprintf("got %d, of episodes with hash %s", first.Windows, first.Episodes))
	assert.Regexp(t, "of 3 episodes with hash [0-9a-f]{16}", stderr)
}

// Ranks that have no --state share --out alone: a rank that finds batches with other episodes ends, before its first batch if they are there.
func TestRanksThatWriteOtherEpisodesToOneFolderAreRefused(t *testing.T) {
	data, err := os.ReadFile(numpyStreams)
	require.NoError(t, err)
	for _, format := range []string{"safetensors", "webdataset"} {
		dir := t.TempDir()
		set, out := filepath.Join(dir, "set"), filepath.Join(dir, "out")
		require.NoError(t, os.Mkdir(set, 0o700))
		put := func(name string) {
			require.NoError(t, os.WriteFile(filepath.Join(set, name), data, 0o600))
		}
		run := func(rank int) (code int, stderr string) {
			code, _, stderr = execute("batches", set, "--hz=10", "--batch=1", "--steps=1", "--backend=cpu", "--out", out, "--format", format, "--world=2", fmt.Sprintf("--rank=%d", rank))
			return code, stderr
		}
		put("0.npz")
		put("1.npz")
		code, stderr := run(0)
		require.Equal(t, exitGood, code, stderr)
		require.NoError(t, os.Rename(filepath.Join(set, "1.npz"), filepath.Join(set, "2.npz"))) // as many episodes and windows
		code, stderr = run(1)
		assert.Equal(t, exitUsage, code, stderr)
		assert.Regexp(t, "rank-00000-of-00002.* is a batch from another run: plan or dataset [0-9a-f]{16}, where this one has [0-9a-f]{16};", stderr)
		assert.NoDirExists(t, filepath.Join(out, "rank-00001-of-00002"))
		require.NoError(t, os.Rename(filepath.Join(set, "2.npz"), filepath.Join(set, "1.npz")))
		code, stderr = run(1)
		assert.Equal(t, exitGood, code, stderr)
	}
}
