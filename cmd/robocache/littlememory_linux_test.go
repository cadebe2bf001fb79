package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// The address space that docs/limits.md states for two processors, KiB, and 512 MiB more.
const (
	leastSpace  = "2000000"
	littleSpace = "2524288"
)

func TestACommandRunsInTheLeastAddressSpace(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	t.Setenv("GOMAXPROCS", "2")
	text, err := os.ReadFile("../../docs/limits.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "`ulimit -v "+leastSpace+"`")
	for range thorough.Of(3, 50) {
		code, _, stderr := measured(t, leastSpace, "inspect", "../../examples/data/turtles.bag")
		assert.Equal(t, exitGood, code, stderr)
	}
}

// Each command reads each recording in 512 MiB, or refuses it in words.
func TestRecordingsAreReadOrRefusedInLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const data = "../../../shared/data/"
	paths := []string{data + "ros1_bag/example.bag", data + "px4_ulog/sample_log_small.ulg", data + "lerobot_v3_g1"}
	if _, err := os.Stat(paths[0]); err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	if thorough.Long {
		paths = nil
		require.NoError(t, filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
			if err == nil && (d.IsDir() || filepath.Ext(path) != "") && !strings.Contains(path, ".zarr/") {
				paths = append(paths, path)
			}
			return err
		}))
	}
	t.Setenv("GOMAXPROCS", "2")
	read := 0
	for _, path := range paths {
		for i, command := range []string{
			"inspect", "doctor", "convert --to=mcap -o OUT/c", "batches --hz=5 --batch=1 --steps=3 --backend=cpu --out=OUT/b",
		} {
			for limit, flag := range map[string][]string{littleSpace: nil, "unlimited": {"--max-memory=512MiB"}} {
				if !thorough.Long && (limit == littleSpace) != (i%2 == 0) {
					continue
				}
				args := append(strings.Fields(strings.ReplaceAll(command, "OUT", t.TempDir())), path)
				if !thorough.Long && args[0] == "convert" && strings.HasSuffix(path, "_g1") {
					args = append(args, "--shard=0/8") // an episode, because all of them are seconds of decoded video
				}
				code, rss, stderr := measured(t, limit, slices.Concat(args, flag)...)
				assert.Contains(t, []int{exitGood, exitInput}, code, "%s %s: %s", limit, args, stderr)
				assert.NotContains(t, stderr, "goroutine ", "%s %s", limit, args)
				assert.NotContains(t, stderr, "out of memory", "%s %s: no recording is so large", limit, args)
				assert.Less(t, rss, int64(512<<20), "%s %s", limit, args)
				if code == exitGood {
					read++
				}
			}
		}
	}
	assert.Greater(t, read, thorough.Of(len(paths), 2*len(paths)))
}
