package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAShardIsToldByArrays(t *testing.T) {
	slurm := func(id, count, least, step string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_STEP": step, "SLURM_PROCID": "0"}
	}
	both := func(a, b map[string]string) map[string]string {
		for name, value := range b {
			a[name] = value
		}
		return a
	}
	const array = "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT"
	for _, c := range []struct {
		env        map[string]string
		count      int
		begin, end int
		from, err  string
	}{
		{count: 8, begin: 0, end: 8},
		{env: slurm("3", "8", "0", "1"), count: 8, begin: 3, end: 4, from: array},
		{env: slurm("3", "8", "1", "1"), count: 8, begin: 2, end: 3, from: array},
		{env: slurm("14", "8", "0", "2"), count: 8, begin: 7, end: 8, from: array},
		{env: both(slurm("3", "8", "0", "1"), map[string]string{"SLURM_NTASKS": "1"}), count: 8, begin: 3, end: 4, from: array},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "5"}, count: 6, begin: 5, end: 6, from: "JOB_COMPLETION_INDEX"},
		{env: map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "2"}, count: 2, begin: 0, end: 1, from: "AWS_BATCH_JOB_ARRAY_INDEX and AWS_BATCH_JOB_ARRAY_SIZE"},
		{env: map[string]string{"BATCH_TASK_INDEX": "1", "BATCH_TASK_COUNT": "2"}, count: 2, begin: 1, end: 2, from: "BATCH_TASK_INDEX and BATCH_TASK_COUNT"},
		{env: map[string]string{"CLOUD_RUN_TASK_INDEX": "1", "CLOUD_RUN_TASK_COUNT": "2"}, count: 2, begin: 1, end: 2, from: "CLOUD_RUN_TASK_INDEX and CLOUD_RUN_TASK_COUNT"},
		{env: map[string]string{"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, count: 2, begin: 1, end: 2, from: "SLURM_PROCID and SLURM_NTASKS"},
		{env: slurm("3", "8", "0", "1"), count: 4, err: "--shards: got 4, where " + array + " is 8"},
		{env: slurm("3", "1", "3", "1"), count: 8, err: "is 1, want these equal, or --shard I/N"},
		{env: slurm("3", "2", "0", "2"), count: 2, err: "SLURM_ARRAY_TASK_ID: got 3, of an array from 0 in steps of 2"},
		{env: slurm("9", "3", "1", "4"), count: 3, begin: 2, end: 3, from: array},
		{env: slurm("x", "3", "1", "4"), count: 3, err: `SLURM_ARRAY_TASK_ID: got "x"`},
		{env: slurm("7", "3", "-1", "4"), count: 3, err: `SLURM_ARRAY_TASK_MIN: got "-1"`},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "6"}, count: 6, err: "JOB_COMPLETION_INDEX: got 6, want less than the number of shards, 6"},
		{env: map[string]string{"BATCH_TASK_INDEX": "1"}, count: 6, err: `BATCH_TASK_COUNT: got ""`},
		{env: both(slurm("3", "8", "0", "1"), map[string]string{"JOB_COMPLETION_INDEX": "4"}), count: 8, err: array + " sets shard 3, JOB_COMPLETION_INDEX sets 4"},
		{env: both(slurm("3", "8", "0", "1"), map[string]string{"SLURM_NTASKS": "2"}), count: 8, err: "SLURM_PROCID and SLURM_NTASKS is 2"},
		{env: map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, count: 2, err: `got "2" of "2"`},
	} {
		begin, end, from, err := shardsOf(c.count, func(name string) string { return c.env[name] })
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err, c.env)
		assert.Equal(t, []any{c.begin, c.end, c.from}, []any{begin, end, from})
	}
}

// Tasks of an array write the same store as one process, and the folder draws the same as a file.
func TestPackShards(t *testing.T) {
	dir := t.TempDir()
	one, many, file := filepath.Join(dir, "one"), filepath.Join(dir, "many"), filepath.Join(dir, "file.safetensors")
	pack := func(args ...string) (stdout, stderr string) {
		return good(t, append([]string{"pack", "file://" + kindsRLDS, "--rate=10"}, args...)...)
	}
	pack("-o", file)
	stdout, _ := pack("-o", one, "--shards=8")
	assert.Regexp(t, `^packed 5 episodes, 12 streams, 250 samples, into .*one\n$`, stdout)
	for i := 7; i > 0; i-- {
		pack("-o", many, "--shard", fmt.Sprintf("%d/8", i))
	}
	code, _, stderr := execute("batches", many, "--hz=20", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "got 7 of 8, want [shard-00000-of-00008.safetensors] too")
	t.Setenv("SLURM_ARRAY_TASK_ID", "1")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "8")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "1")
	_, stderr = pack("-o", many, "--shards=8")
	assert.Contains(t, stderr, "shard 0 of 8, by SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT")
	for _, name := range names(t, one) {
		a, err := os.ReadFile(filepath.Join(one, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(many, name))
		require.NoError(t, err)
		assert.True(t, string(a) == string(b), name)
	}
	assert.Len(t, names(t, many), 8)
	assert.Equal(t, batchesOf(t, file), batchesOf(t, many))

	stdout, _ = pack("-o", many, "--shards=8", "--json")
	got := unmarshal(t, stdout)
	assert.Equal(t, []any{8., []any{}, []any{0.}}, []any{got["shards"], got["packed_shards"], got["fresh_shards"]})
	_, stderr = pack("-o", many, "--shard=4/8", "--stream=none", "--replace")
	assert.Contains(t, stderr, "no episode in this shard has stream none")
}

func TestPackShardsRefusesWhatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	full := filepath.Join(dir, "full")
	good(t, "pack", kindsRLDS, "--rate=10", "-o", full, "--shards=2")
	for want, args := range map[string][]string{
		`got "2/2", want a shard of so many`:       {"--shard=2/2"},
		`got "2", want a shard of so many`:         {"--shard=2"},
		"--shards: got 3 with --shard 0/2":         {"--shard=0/2", "--shards=3"},
		"--shards: got 0":                          {"--shards=0"},
		"want -o STORE, a folder":                  {"--shards=2"},
		"got the file":                             {"--shards=2", "-o", file},
		"want the name of a folder":                {"--shards=2", "-o", filepath.Join(dir, "x.safetensors")},
		"or in it":                                 {"--shards=2", "-o", filepath.Join(kindsRLDS, "store")},
		"3 shards, where":                          {"--shards=3", "-o", full},
		"media asked for [all], where":             {"--shards=2", "-o", full, "--media=all"},
		"rate 20, where":                           {"--shards=2", "-o", full, "--rate=20"},
		"want the same, another folder, or --repl": {"--shard=1/2", "-o", full, "--dtype=f16"},
		"--replace: got it without --shard":        {"--replace", "-o", file},
	} {
		code, _, stderr := execute(append([]string{"pack", kindsRLDS, "--rate=10"}, args...)...)
		assert.Equal(t, exitUsage, code, stderr)
		assert.Contains(t, stderr, want)
	}
	code, _, stderr := execute("pack", kindsRLDS, "--rate=10", "--shards=2", "-o", filepath.Join(file, "store"))
	assert.Equal(t, exitOther, code, stderr)
	assert.True(t, strings.HasPrefix(stderr, "robocache: write "), stderr)
	assert.Empty(t, listedStores(t))
	code, _, stderr = execute("pack", kindsRLDS, "--rate=10", "--shards=2", "--stream=none", "-o", filepath.Join(dir, "none"))
	assert.Equal(t, exitInput, code, stderr)
	assert.Contains(t, stderr, "none called none in any shard")
}

// The pods in examples/cluster use existing flags.
func TestManifestsRunCommands(t *testing.T) {
	manifests, err := filepath.Glob("../../examples/cluster/*-job.yaml")
	require.NoError(t, err)
	require.Len(t, manifests, 2)
	for _, name := range manifests {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		found := regexp.MustCompile(`command: \[robocache, (.*)\]`).FindSubmatch(text)
		require.NotNil(t, found, name)
		var args []string
		for _, word := range strings.Split(string(found[1]), ", ") {
			args = append(args, strings.Trim(word, `"`))
		}
		good(t, append(args, "--help")...)
		code, _, _ := execute(append(args, "--no-such-flag", "--help")...)
		assert.Equal(t, exitUsage, code)
	}
}

// listedStores are stores within the dataset of the tests.
func listedStores(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(kindsRLDS, "store*"))
	require.NoError(t, err)
	return list
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
