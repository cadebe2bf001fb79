//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
)

// hashes returns the hashes of all windows in lines by --digest, sorted.
func hashes(stdout string) (list []string) {
	for line := range strings.Lines(stdout) {
		list = append(list, strings.Fields(line)[1:]...)
	}
	slices.Sort(list)
	return list
}

// --shuffle selects the order of the same windows. A plan has its own shuffle.
func TestBatchesHaveTheOrderThatIsAskedFor(t *testing.T) {
	orders := map[string]string{}
	for _, shuffle := range []string{"windows", "shards", "none"} {
		orders[shuffle] = batchesOf(t, kindsRLDS, "--last=short", "--shuffle", shuffle)
	}
	assert.Equal(t, orders["windows"], batchesOf(t, kindsRLDS, "--last=short"))
	assert.Equal(t, batchesOf(t, kindsRLDS, "--last=short", "--shard-windows=4", "--mix-shards=2"), batchesOf(t, kindsRLDS, "--last=short", "--shuffle=shards", "--shard-windows=4", "--mix-shards=2"))
	assert.NotEqual(t, orders["windows"], orders["shards"])
	assert.NotEqual(t, orders["none"], orders["shards"])
	assert.Equal(t, hashes(orders["windows"]), hashes(orders["shards"]))
	assert.Equal(t, hashes(orders["windows"]), hashes(orders["none"]))
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	text := "version: 1\nrate: 20\nstreams: [{name: action}, {name: reward}]\nwindows: {action: [-0.2, 0.3], reward: [-0.1, 0.0]}\nshuffle: "
	for _, shuffle := range []string{"shards", "none"} {
		require.NoError(t, os.WriteFile(plan, []byte(text+shuffle+"\n"), 0o600))
		stdout, _ := good(t, "batches", kindsRLDS, "--rate=10", "--plan", plan, "--batch=3", "--seed=7", "--backend=cpu", "--digest", "--last=short")
		assert.Equal(t, orders[shuffle], stdout)
	}
}

// Several datasets are drawn as one, or by weight. The output has each window's dataset.
func TestBatchesOfAMixture(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "kinds.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10")
	alone := hashes(batchesOf(t, store, "--last=short"))
	twice := hashes(batchesOf(t, store, kindsRLDS, "--rate=10", "--last=short"))
	assert.Equal(t, slices.Sorted(slices.Values(append(slices.Clone(alone), alone...))), twice)

	out := filepath.Join(dir, "batches")
	args := []string{"batches", store, kindsRLDS, "--rate=10", "--hz=20", "--batch=4", "--backend=cpu", "--stream=action", "--weight=3", "--weight=1", "--epoch-windows=40", "--seed=7"}
	stdout, _ := good(t, append(args, "--json", "--out", out)...)
	got := unmarshal(t, stdout)
	assert.EqualValues(t, 40, got["windows"])
	assert.EqualValues(t, 40, got["windows_drawn"])
	mixture := got["mixture"].([]any)
	assert.Equal(t, []any{30.0, 10.0}, []any{mixture[0].(map[string]any)["share"], mixture[1].(map[string]any)["share"]})
	drawn := map[any]float64{}
	for _, e := range got["by_episode"].([]any) {
		e := e.(map[string]any)
		drawn[e["dataset"]] += e["drawn"].(float64)
	}
	assert.Equal(t, map[any]float64{0.0: 30, 1.0: 10}, drawn)
	counts := map[int64]int{}
	names, err := filepath.Glob(filepath.Join(out, "*.safetensors"))
	require.NoError(t, err)
	for _, name := range names {
		f, err := safetensors.Open(name)
		require.NoError(t, err)
		for _, d := range read[int64](t, f, "datasets") {
			counts[d]++
		}
		require.NoError(t, f.Close())
	}
	assert.Equal(t, map[int64]int{0: 30, 1: 10}, counts)
	stdout, _ = good(t, args...)
	assert.Regexp(t, `(?m)^.*kinds.safetensors: 30 of an epoch's windows, weight 3: each of its \d+ is drawn [0-9.]+ times$`, stdout)
	stdout, _ = good(t, "batches", store, kindsRLDS, "--rate=10", "--hz=20", "--batch=4", "--backend=cpu", "--stream=action")
	assert.Regexp(t, `(?m)^.*kinds.safetensors: (\d+) of an epoch's windows: each of its \d+ is drawn 1 times$`, stdout)
	stdout, _ = good(t, "batches", store, "--hz=20", "--batch=4", "--backend=cpu", "--stream=action", "--weight=2", "--epoch-windows=8")
	assert.Contains(t, stdout, "drew 8 windows in 2 steps")
}

func TestBatchesRefusesMixturesThatCannotBe(t *testing.T) {
	store := filepath.Join(t.TempDir(), "other.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10", "--stream=reward")
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"--weight: got 1, want one for each of 2 datasets":              {exitUsage, []string{kindsRLDS, "--weight=1"}},
		`got "a", want numbers such as 2 or 0.5, with`:                  {exitUsage, []string{kindsRLDS, "--weight=1,a"}},
		"--weight: got -1, want a finite number":                        {exitUsage, []string{kindsRLDS, "--weight=-1,2"}},
		"--epoch-windows: got 5":                                        {exitUsage, []string{kindsRLDS, "--epoch-windows=5"}},
		"--shuffle: got shards, want windows or none":                   {exitUsage, []string{kindsRLDS, "--weight=1,2", "--shuffle=shards"}},
		"--shuffle: got \"well\"":                                       {exitUsage, []string{"--shuffle=well"}},
		"--shuffle: got none with --shard-windows":                      {exitUsage, []string{"--shuffle=none", "--shard-windows=2"}},
		"--streaming: got it with 2 datasets":                           {exitUsage, []string{kindsRLDS, "--streaming"}},
		"--check-fresh: got it with 2 datasets":                         {exitUsage, []string{kindsRLDS, "--check-fresh=" + kindsRLDS}},
		"store 1: stream action: got none":                              {exitInput, []string{store}},
		"--plan: got it with --hz, --stream, --window, --shuffle or --": {exitUsage, []string{"--plan=x.yaml", "--shuffle=none"}},
	} {
		code, _, stderr := execute(append([]string{"batches", kindsRLDS, "--rate=10", "--hz=20", "--backend=cpu", "--batch=2"}, c.args...)...)
		assert.Equal(t, c.code, code, stderr)
		assert.Contains(t, stderr, want)
	}
}
