package hf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/hubtest"
)

// download calls huggingface_hub in Python, and returns a file's path, or the folder if name is empty.
func download(t *testing.T, name string) string {
	const program = `
import sys, huggingface_hub as hub
print(hub.hf_hub_download("lab/walk", sys.argv[1], repo_type="dataset") if sys.argv[1] else hub.snapshot_download("lab/walk", repo_type="dataset"))`
	cmd := exec.Command("python3", "-c", program, name)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.TrimSpace(string(out))
}

func TestPythonFindsWhatGoHasFetchedAndTheReverse(t *testing.T) {
	if exec.Command("python3", "-c", "import huggingface_hub").Run() != nil {
		t.Skip("python has no huggingface_hub")
	}
	server := hubtest.Start(t)
	t.Setenv("HF_HUB_DISABLE_XET", "1")
	sha := server.Commit("lab/walk", "main", set)
	for _, name := range []string{"meta/info.json", "data/a.parquet", "run #1/100%/ü+?&.csv"} {
		mustRead(t, newStore(), base+"/"+name)
		server.Count()
		path := download(t, name)
		assert.Equal(t, filepath.Join(server.Cache, "datasets--lab--walk", "snapshots", sha, filepath.FromSlash(name)), path)
		requests, _ := server.Count()
		assert.NotContains(t, strings.Join(requests, "\n"), "GET /datasets", "nothing is fetched twice")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(set[name], content))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(server.Cache, "datasets--lab--walk")))
	download(t, "")
	server.Count()
	for name, want := range set {
		assert.True(t, bytes.Equal(want, mustRead(t, newStore(), base+"@"+sha+"/"+name)), name)
	}
	requests, _ := server.Count()
	assert.Empty(t, requests)
}
