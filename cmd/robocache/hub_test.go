package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/hubtest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// onHub starts a Hub with a folder as dataset lab/NAME, and returns its URL.
func onHub(t *testing.T, dir string) (*hubtest.Server, string) {
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared recordings are not here: ", dir)
	}
	server := hubtest.Start(t)
	server.LFS = 100_000
	server.CommitFolder(t, "lab/"+filepath.Base(dir), "v3.0", dir)
	return server, "hf://datasets/lab/" + filepath.Base(dir) + "@v3.0"
}

// contents returns the files in a folder and its subfolders, with another name for the input.
func contents(t *testing.T, dir, in, name string) map[string]string {
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = strings.ReplaceAll(string(data), in, name)
		return err
	}))
	return files
}

func TestCommandsReadFromTheHubAsFromDisk(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	here := "../../../shared/data/lerobot_v3_g1"
	_, there := onHub(t, here)
	same := func(args ...string) {
		t.Helper()
		var printed [2]string
		for i, in := range []string{here, there} {
			stdout, _ := good(t, append(args, in)...)
			printed[i] = strings.ReplaceAll(stdout, in, "IN")
		}
		assert.Equal(t, printed[0], printed[1], args)
	}
	same("inspect")
	same("inspect", "--json")
	same("doctor", "--json")
	for _, args := range [][]string{
		{"convert", "--to=lerobot", "--episodes=0,5"}, {"convert", "--to=npz", "--episodes=0"}, // the other episodes are in the same files
		{"batches", "--episodes=0", "--batch=4", "--steps=2", "--hz=30", "--backend=cpu", "--camera=observation.images.front=64x48"},
	} {
		var written [2]map[string]string
		for i, in := range []string{here, there} {
			out := filepath.Join(t.TempDir(), "out")
			to := "-o"
			if args[0] == "batches" {
				to = "--out"
			}
			good(t, append(args, in, to, out)...)
			written[i] = contents(t, out, in, "IN")
		}
		assert.NotEmpty(t, written[0])
		assert.Equal(t, written[0], written[1], args)
	}
}

// A file that is too large for the cache is read by ranges.
func TestALargeFileOfTheHubIsReadByRanges(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	values, times := make([]float64, 2_000_000), make([]int64, 2_000_000)
	for i := range values {
		values[i], times[i] = math.Sqrt(float64(i)), int64(i)*1e6
	}
	path := writeNPZ(t, map[string]*tensor.Tensor{"x": column(values...), "x_time": vec(times...)})
	dir := filepath.Dir(path)
	server, there := onHub(t, dir)
	local, _ := good(t, "stats", path, "--json")
	remote, _ := good(t, "stats", there+"/in.npz", "--json")
	assert.Equal(t, strings.ReplaceAll(local, path, "IN"), strings.ReplaceAll(remote, there+"/in.npz", "IN"))
	entries, err := os.ReadDir(server.Cache)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestTheFirstBatchOfADatasetOnTheHubNeedsFewRequests(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	server, there := onHub(t, "../../../shared/data/lerobot_v3_g1")
	server.Delay = 30 * time.Millisecond
	args := []string{"batches", there, "--batch=4", "--steps=1", "--hz=30", "--backend=cpu"}
	start := time.Now()
	good(t, args...)
	t.Logf("the first batch after %v, with 30 ms for an answer", time.Since(start))
	requests, _ := server.Count()
	assert.LessOrEqual(t, len(requests), 24, "%s", strings.Join(requests, "\n"))
	good(t, args...)
	requests, _ = server.Count()
	assert.LessOrEqual(t, len(requests), 6, "most are in the cache: %s", strings.Join(requests, "\n"))
}

func TestCommandsPrintTheHubsErrors(t *testing.T) {
	server := hubtest.Start(t)
	server.Commit("lab/walk", "main", nil)
	code, _, stderr := execute("inspect", "hf://datasets/lab/none")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "hf://datasets/lab/none")
	assert.Contains(t, stderr, "got no dataset lab/none")
	code, _, stderr = execute("inspect", "lab/walk")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "hf://datasets/lab/walk reads it from the Hub")
	requests, _ := server.Count()
	assert.Len(t, requests, 1, "an id is local")
	server.Token, server.Gated = "a", true
	t.Setenv("HF_TOKEN", "a")
	code, _, stderr = execute("inspect", "hf://datasets/lab/walk")
	assert.Equal(t, exitOther, code)
	assert.Contains(t, stderr, "got a gated dataset, want a token of an account that has accepted the terms at "+server.URL+"/datasets/lab/walk")
	code, _, stderr = execute("convert", flight, "-o", "hf://datasets/lab/out", "--to=npz")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "hf:// is read and not written")
}
