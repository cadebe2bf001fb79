package main

import (
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

func TestStatsWritesTheFilesOfProjects(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	for _, form := range []string{"lerobot", "gr00t", "openpi", "octo"} {
		out := filepath.Join(dir, form+".json")
		stdout, _ := good(t, "stats", g1, "--to", form, "-o", out, "--plot", out+".png", "--json")
		checkKeys(t, stdout, reflect.TypeFor[computed]())
		picture, err := os.Open(filepath.Join(dir, form+".png"))
		require.NoError(t, err)
		_, err = png.Decode(picture)
		require.NoError(t, err)
		require.NoError(t, picture.Close())
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		var found map[string]any
		require.NoError(t, json.Unmarshal(text, &found))
		switch form {
		case "openpi":
			assert.Len(t, found["norm_stats"], 2)
		case "octo":
			assert.Contains(t, found, "proprio")
		default:
			assert.Contains(t, found, "observation.state")
			assert.Contains(t, found, "episode_index", "what is no stream is taken over")
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, "openpi.json"))
	require.NoError(t, err)
	code, _, stderr := execute("stats", flight, "--to", "openpi", "-o", filepath.Join(dir, "openpi.json"))
	assert.Equal(t, exitInput, code, stderr)
	assert.Contains(t, stderr, "no stream for state")
	after, err := os.ReadFile(filepath.Join(dir, "openpi.json"))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "an error leaves the file that there was")
}

func TestShardsOfStatsMergeToTheBitsOfOneRun(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	whole, _ := good(t, "stats", g1, "--to", "lerobot", "-o", filepath.Join(dir, "whole.json"), "--json")
	var parts, merged []string
	for pass := range 3 {
		parts = nil
		for i := range 3 {
			part := filepath.Join(dir, fmt.Sprintf("part-%d-%d", pass, i))
			args := []string{"stats", g1, "--shard", fmt.Sprintf("%d/3", i), "-o", part}
			if pass > 0 {
				args = append(args, "--after", merged[pass-1])
			}
			good(t, args...)
			parts = append(parts, part)
		}
		merged = append(merged, filepath.Join(dir, fmt.Sprint("merged-", pass)))
		stdout, _ := good(t, append([]string{"stats", "--merge", "-o", merged[pass], "--json"}, parts...)...)
		if unmarshal(t, stdout)["known"] == true {
			break
		}
		assert.Contains(t, stdout, "quantiles are not known yet")
		code, _, stderr := execute("stats", "--merge", merged[pass], "--to", "lerobot", "-o", filepath.Join(dir, "early.json"))
		assert.Equal(t, exitInput, code, stderr)
	}
	stdout, _ := good(t, append([]string{"stats", "--merge", "--to", "gr00t", "-o", filepath.Join(dir, "merged.json"), "--json"}, parts...)...)
	assert.Equal(t, unmarshal(t, whole)["streams"], unmarshal(t, stdout)["streams"])
	assert.Contains(t, stdout, "taken over with -o DATASET/meta/stats.json", "states do not have it")
	own := filepath.Join(dir, "stats.json")
	there, err := os.ReadFile(filepath.Join(g1, "meta", "stats.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(own, there, 0o600))
	good(t, append([]string{"stats", "--merge", "--to", "lerobot", "-o", own}, parts...)...)
	one, err := os.ReadFile(filepath.Join(dir, "whole.json"))
	require.NoError(t, err)
	again, err := os.ReadFile(own)
	require.NoError(t, err)
	assert.Equal(t, string(one), string(again), "over the dataset's own, it is the file of one run")
	for _, wrong := range [][]string{
		{"stats", "--merge", parts[0], parts[1]}, {"stats", "--merge", parts[0], parts[0], parts[2]}, {"stats", "--merge", parts[0], filepath.Join(dir, "part-0-1")}, {"stats", "--merge", g1 + "/meta/info.json"},
		{"stats", g1, "--shard", "0/3", "--after", parts[0], "-o", filepath.Join(dir, "x")}, {"stats", "--merge", filepath.Join(dir, "none")},
	} {
		code, _, stderr := execute(wrong...)
		assert.Equal(t, exitInput, code, "%q: %s", wrong, stderr)
	}
}

// A file has the numbers, so they are not printed too.
func TestStatsThatAreWrittenAreNotPrinted(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "state")
	stdout, _ := good(t, "stats", g1, "-o", out)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	assert.Contains(t, lines[len(lines)-1], "wrote "+out)
	assert.Contains(t, stdout, "observation.state: ")
	assert.NotContains(t, stdout, "mean")
	assert.Less(t, len(lines), 12)
	stdout, _ = good(t, "stats", g1)
	assert.Contains(t, stdout, "mean")
}

func TestFlagsOfStatsThatDoNotGoTogether(t *testing.T) {
	for _, args := range [][]string{
		{}, {"a", "b"}, {g1, "--to", "rlds", "-o", "x"}, {g1, "--to", "octo"}, {g1, "--to", "octo", "-o", "x", "--no-quantiles"}, {g1, "--shard", "0/2"}, {g1, "--shard", "2/2", "-o", "x"},
		{g1, "--after", "x", "-o", "y"}, {"--merge", "x", "--shard", "0/2", "-o", "y"}, {"--merge", "x", "--plan", "p"}, {g1, "--state", "x"}, {g1, "--to", "octo", "--shard", "0/2", "-o", "x"}, {"x", "-o", "x"},
		{g1, "--plot", "x.jpg"}, {g1, "-o", "x.png", "--plot", "x.png"},
	} {
		code, _, stderr := execute(append([]string{"stats"}, args...)...)
		assert.Equal(t, exitUsage, code, "%q: %s", args, stderr)
	}
	code, _, stderr := execute("stats", g1, "--stream", "acton")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "want one of those there are: action, observation.state")
}
