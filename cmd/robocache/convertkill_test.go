//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
)

// tree maps names in and next to a folder to contents, without files that no output depends on.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(b)
		return err
	}))
	return all
}

// A conversion killed at any moment leaves only complete files. A second run ends with the files of an undisturbed one and no others. With
// ROBOCACHE_LONG=1 there are 200 moments.
func TestAConversionThatIsKilledIsGoneOnWith(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	moments := thorough.Of(3, 200)
	for _, c := range [][]string{
		{"--to=safetensors", "--rate=10", "--hz=20"},
		{"--to=webdataset", "--rate=10", "--hz=20", "--shards=2"},
		{"--to=lerobot", "--rate=10", "--hz=20", "--media=none"},
		{"--to=lerobot-2.1", "--rate=10", "--hz=20", "--media=none"},
		{"--to=rlds", "--rate=10", "--hz=20", "--shards=2"},
		{"--to=zarr", "--rate=10", "--hz=20", "--shards=2"},
	} {
		dir := t.TempDir()
		args := append([]string{"convert", kindsRLDS, "-o"}, "")
		run := func(out string) []string { return append(append(args[:len(args)-1:len(args)-1], out), c...) }
		want := filepath.Join(dir, "want", "out") // a dataset may have the output's name
		begin := time.Now()
		good(t, run(want)...)
		took := time.Since(begin)
		undisturbed := tree(t, want)
		random, parts, kept := rand.New(rand.NewPCG(1, 2)), 0, 0
		for range moments / 3 {
			root := filepath.Join(dir, "killed")
			require.NoError(t, os.RemoveAll(root))
			out := filepath.Join(root, "out")
			cmd, _ := program(t, run(out)...)
			require.NoError(t, cmd.Start())
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			whenWriting(root, false, ended)
			time.Sleep(time.Duration(random.Int64N(int64(took) + 1)))
			cmd.Process.Kill() // which may have ended
			<-ended
			there := 0
			if _, err := os.Stat(out); err == nil {
				for name, content := range tree(t, out) {
					if !strings.Contains(name, "/.") {
						assert.True(t, content == undisturbed[name], "%s after a kill", name)
						there++
					}
				}
			}
			if there > 0 && there < len(undisturbed) {
				parts++
			}
			text, _ := good(t, append(run(out), "--json")...)
			if !strings.Contains(text, "\"before\": [\n    0") {
				kept++
			}
			assert.Equal(t, len(undisturbed), len(tree(t, root)), "what the killed one left is gone: %v", names(t, root))
			for name, content := range tree(t, out) {
				assert.True(t, content == undisturbed[name], "%s in the end", name)
			}
		}
		t.Logf("%v: %d moments, %d with a part of the output there, %d with some that was kept", c, moments/3, parts, kept)
	}
}

// An interrupted conversion reports that it can be resumed. Its dataset is on a server that does not answer any more once it has begun to write.
func TestAnInterruptedConversionSaysSo(t *testing.T) {
	server, root, waits := s3test.Shared(), t.TempDir(), make(chan struct{})
	server.PutFolder(t, "interrupted", "set", kindsRLDS)
	var once sync.Once
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if list, err := os.ReadDir(root); err != nil || len(list) == 0 {
			return false
		}
		once.Do(func() { close(waits) })
		<-r.Context().Done()
		return true
	})
	defer server.Intercept(nil)
	out := filepath.Join(root, "out")
	cmd, _ := program(t, "convert", "s3://interrupted/set", "-o", out, "--to=safetensors", "--rate=10", "--hz=20")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-waits:
	case <-ended:
	}
	_ = cmd.Process.Signal(os.Interrupt)
	<-ended
	assert.False(t, cmd.ProcessState.Success())
	assert.Contains(t, stderr.String(), "ended by a signal before "+out+" was done: its finished parts stay, and the same command resumes it\n")
}
