package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inBucket puts a file into a bucket, and returns its URL.
func inBucket(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	key := "a folder/#1 " + filepath.Base(path) + "/" + filepath.Base(path)
	s3test.Shared().Put(t, "flights", key, data)
	return "s3://flights/" + key
}

func TestCommandsReadFromABucketAsFromDisk(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	url := inBucket(t, flight)
	same := func(args ...string) {
		t.Helper()
		here, _ := good(t, append(args, flight)...)
		there, _ := good(t, append(args, url)...)
		assert.Equal(t, here, strings.ReplaceAll(there, url, flight))
	}
	same("inspect")
	same("inspect", "--json")
	cloud := []string{"voxelize", "testdata/utm.npy", "--size", "1", "--backend", "cpu", "-o", filepath.Join(t.TempDir(), "grid.npz")}
	good(t, cloud...)
	cloud[1] = inBucket(t, cloud[1])
	good(t, cloud...)
	resampleTo(t, inBucket(t, "testdata/ramp.npz"))
	folder, _ := good(t, "inspect", url[:strings.LastIndex(url, "/")])
	assert.Contains(t, folder, "ulog")

	dir := t.TempDir()
	for _, args := range [][]string{{"fuse", "--hz", "10", "--stream", "vehicle_attitude", "--backend", "cpu"}, {"pack"}} {
		here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
		out := ".npz"
		if args[0] == "pack" {
			out = ".safetensors"
		}
		good(t, append(args, flight, "-o", here+out)...)
		good(t, append(args, url, "-o", there+out)...)
		a, err := os.ReadFile(here + out)
		require.NoError(t, err)
		b, err := os.ReadFile(there + out)
		require.NoError(t, err)
		assert.Equal(t, a, b, args)
	}
}

func TestCommandsSayWhatIsNotInABucket(t *testing.T) {
	inBucket(t, flight)
	code, _, stderr := execute("inspect", "s3://flights/none.ulg")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, `s3://flights/none.ulg`)
	assert.Contains(t, stderr, `no object "none.ulg"`)
	code, _, stderr = execute("inspect", "gs://flights/none.ulg")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "want a path, or file://, hf://, s3://")
}

func TestABucketIsNoOutput(t *testing.T) {
	url := inBucket(t, flight)
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"fuse", url, "--hz", "10", "-o", "s3://flights/out.npz"},
		{"pack", url, "-o", "s3://flights/out.safetensors"},
		{"pack", url, "--shards", "2", "-o", "s3://flights/out"},
		{"inspect", url, "--plot", "s3://flights/out.png"},
	} {
		code, _, stderr := execute(args...)
		assert.Equal(t, exitUsage, code, stderr)
		assert.Contains(t, stderr, "s3:// is read and not written", args)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left)
}
