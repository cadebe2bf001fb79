//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

func read[T tensor.Element](t *testing.T, f *safetensors.File, name string) []T {
	t.Helper()
	x, err := f.Tensor(name)
	require.NoError(t, err)
	list, err := tensor.Data[T](x)
	require.NoError(t, err)
	return list
}

// A file holds the batch with the names in the help, and its index.
func TestABatchIsAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=4", "--backend=cpu", "--stream=action", "--stream=reward", "--window=reward=-200ms:0s", "--dtype=bf16", "--last=short", "--out", dir}
	for rank := range 2 {
		good(t, append(args, "--world=2", fmt.Sprintf("--rank=%d", rank))...)
	}
	assert.Equal(t, []string{"rank-00000-of-00002", "rank-00001-of-00002"}, listed(t, dir))
	seen := map[[2]int64]bool{}
	for rank := range 2 {
		folder := filepath.Join(dir, fmt.Sprintf("rank-%05d-of-00002", rank))
		files := listed(t, folder)
		require.Equal(t, []string{"batch-0000000.safetensors", "batch-0000001.safetensors", "batch-0000002.safetensors"}, files)
		for step, name := range files {
			f, err := safetensors.Open(filepath.Join(folder, name))
			require.NoError(t, err)
			assert.ElementsMatch(t, []string{"action.values", "action.valid", "action.pad", "reward.values", "reward.valid", "reward.pad", "episodes", "ticks", "anchors"}, f.Names())
			header, err := f.Header("action.values")
			require.NoError(t, err)
			assert.Equal(t, "BF16 [4,10,4]", header.String())
			header, err = f.Header("reward.pad")
			require.NoError(t, err)
			assert.Equal(t, "U8 [4,2]", header.String())
			assert.Equal(t, `["0","1","2","3"]`, f.Metadata()["action.columns"])
			var index batchIndex
			require.NoError(t, json.Unmarshal([]byte(f.Metadata()[batchKey]), &index))
			assert.Len(t, index.Run, 16)
			assert.Equal(t, batchIndex{1, int64(step), 0, 0, int64(8 * step), rank, 2, 4, "short", index.Run, 0}, index)
			ticks, anchors := read[int64](t, f, "ticks"), read[int64](t, f, "anchors")
			for i, e := range read[int64](t, f, "episodes") {
				if e < 0 {
					continue
				}
				assert.Contains(t, []int64{0, 2, 3, 4}, e, "by its number in the dataset, of which episode 1 is left out")
				assert.Equal(t, ticks[i]*100_000_000, anchors[i])
				assert.False(t, seen[[2]int64{e, ticks[i]}])
				seen[[2]int64{e, ticks[i]}] = true
			}
			require.NoError(t, f.Close())
		}
	}
	assert.Len(t, seen, 7+5+3+6, "every window once")
}

// A folder with batches from another run is rejected and not changed. The same run writes the same files. A run that resumes from a state
// may use another batch size and another number of ranks.
func TestBatchesOfTwoRunsAreNotMixed(t *testing.T) {
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out"), filepath.Join(dir, "state.json")
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=10", "--backend=cpu", "--stream=action", "--out", out}
	good(t, append(args, "--batch=4", "--seed=3", "--state", state, "--steps=3")...)
	content := func(name string) string {
		text, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		return string(text)
	}
	before := map[string]string{}
	for _, name := range listed(t, out) {
		before[name] = content(name)
	}
	require.Len(t, before, 3)
	for says, other := range map[string][]string{
		"seed 3, where this one has 4;":              {"--batch=4", "--seed=4"},
		"batch 4, where this one has 5;":             {"--batch=5", "--seed=3"},
		"last drop, where this one has short":        {"--batch=4", "--seed=3", "--last=short"},
		"ranks 1, where this one has 2;":             {"--batch=4", "--seed=3", "--world=2", "--rank=1"},
		"plan or dataset ":                           {"--batch=4", "--seed=3", "--window=action=0s:300ms"},
		"plan or dataset":                            {"--batch=4", "--seed=3", "--state", state, "--window=action=0s:300ms"},
		"want another folder, or that run's --state": {"--batch=5", "--seed=3", "--state", filepath.Join(dir, "none.json")},
	} {
		code, _, stderr := execute(append(args, other...)...)
		assert.Equal(t, exitUsage, code, says)
		assert.Contains(t, stderr, filepath.Join(out, "batch-000000"))
		assert.Contains(t, stderr, says)
	}
	good(t, append(args, "--batch=4", "--seed=3", "--steps=2")...)
	for name, text := range before {
		assert.True(t, text == content(name), name)
	}
	good(t, append(args, "--batch=2", "--seed=3", "--state", state, "--steps=1")...)
	good(t, append(args, "--batch=1", "--seed=3", "--state", state, "--steps=1", "--world=2", "--rank=0")...)
	assert.Equal(t, []string{"batch-0000000.safetensors", "batch-0000001.safetensors", "batch-0000002.safetensors", "batch-0000003.safetensors"}, listed(t, out)[:4])
	assert.Len(t, listed(t, filepath.Join(out, "rank-00000-of-00002")), 1)
	code, _, stderr := execute(append(args, "--batch=4", "--seed=3")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "batch 2, where this one has 4;")
	require.NoError(t, os.WriteFile(filepath.Join(out, "batch-0000003.safetensors"), nil, 0o600))
	code, _, stderr = execute(append(args, "--batch=4", "--seed=3")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "batch-0000003.safetensors is a batch from another run")
}

// If a command fails, it reports why, and leaves complete files and a matching state.
func TestWhatCannotBeWrittenLeavesWholeFiles(t *testing.T) {
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out"), filepath.Join(dir, "state.json")
	args := []string{"batches", kindsRLDS, "--rate=10", "--hz=100", "--batch=4", "--backend=cpu", "--stream=action", "--digest"}
	whole, _ := good(t, append(args, "--steps=5")...)
	args = append(args, "--out", out, "--state", state)
	first, _ := good(t, append(args, "--steps=2")...)
	// The disk takes a few kilobytes per file: enough for the state, too little for a batch.
	cmd, _ := program(t, args...)
	cmd.Args = append([]string{"sh", "-c", `ulimit -f 8; exec "$0" "$@"`}, cmd.Args...)
	cmd.Path = "/bin/sh"
	text, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Equal(t, exitOther, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(text), "robocache: write "+filepath.Join(out, "batch-0000002.safetensors")+": file too large\n")
	assert.Equal(t, []string{"batch-0000000.safetensors", "batch-0000001.safetensors"}, listed(t, out))
	assert.Equal(t, []string{"out", "state.json"}, listed(t, dir))
	rest, _ := good(t, append(args, "--steps=3")...)
	assert.Equal(t, whole, first+rest)

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	defer full.Close()
	cmd, _ = program(t, args...)
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = full, &stderr
	assert.Error(t, cmd.Run())
	assert.Contains(t, stderr.String(), "no space left")
	last, err := lastSpot(state, 0, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 5, last.at.Step, "a line that is not out is not done")
}

// Outputs that cannot be written are found before the dataset is read.
func TestOutputsOfBatchesAreFoundBeforeTheWork(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, args := range [][]string{{"--state", filepath.Join(dir, "none", "s.json")}, {"--state", dir}, {"--out", file}, {"--out", filepath.Join(file, "below")}} {
		code, _, stderr := execute(append([]string{"batches", "none", "--hz=1", "--backend=cpu"}, args...)...)
		assert.Equal(t, exitOther, code, stderr)
		assert.Regexp(t, "^robocache: write "+dir, stderr)
		assert.Equal(t, []string{"file"}, listed(t, dir))
	}
	state := filepath.Join(dir, "s.json")
	for text, want := range map[string]string{"{": "unexpected end of JSON input", `{"version":1,"seed":0,"windows":19,"step":-1}`: "step: got less than 0", `{"version":3}`: "version: got 3, want 1"} {
		require.NoError(t, os.WriteFile(state, []byte(text), 0o600))
		code, _, stderr := execute("batches", kindsRLDS, "--rate=10", "--hz=10", "--batch=2", "--backend=cpu", "--stream=action", "--state", state)
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, state)
		after, err := os.ReadFile(state)
		require.NoError(t, err)
		assert.Equal(t, text, string(after))
	}
}

func TestAStoreThatIsStaleOrCutIsRefused(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "kinds")
	require.NoError(t, os.CopyFS(data, os.DirFS(kindsRLDS)))
	store := filepath.Join(dir, "kinds.safetensors")
	good(t, "pack", data, "-o", store, "--rate=10")
	args := []string{"batches", store, "--batch=2", "--backend=cpu", "--check-fresh", data}
	good(t, args...)
	require.NoError(t, os.WriteFile(filepath.Join(data, "more.txt"), nil, 0o600))
	code, _, stderr := execute(args...)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, store+": loader: the store is stale: in "+data+" 1 files differ: [more.txt]")
	code, _, stderr = execute(append(args[:5], filepath.Join(dir, "none"))...)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "no such file")

	whole, err := os.ReadFile(store)
	require.NoError(t, err)
	for _, size := range []int{len(whole) - 1, len(whole) / 2, 100, 0} {
		require.NoError(t, os.WriteFile(store, whole[:size], 0o600))
		out := filepath.Join(dir, "out")
		code, stdout, stderr := execute("batches", store, "--hz=10", "--batch=2", "--backend=cpu", "--stream=action", "--out", out)
		assert.Equal(t, exitInput, code, "%d bytes", size)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, store)
		assert.NoDirExists(t, out)
	}
	spoilt := slices.Clone(whole)
	copy(spoilt[11:], "XXXX")
	for says, text := range map[string][]byte{
		"after the last tensor: corrupt: got 2 more bytes": append(slices.Clip(whole), "x\n"...),
		`corrupt: got "robocache.store"`:                   spoilt,
		"header: truncated":                                whole[:20],
	} {
		require.NoError(t, os.WriteFile(store, text, 0o600))
		for _, args := range [][]string{{"batches", store, "--hz=10", "--backend=cpu"}, {"batches", store, "--hz=10", "--backend=cpu", "--streaming"}, {"inspect", store}} {
			code, _, stderr := execute(args...)
			assert.Equal(t, exitInput, code)
			assert.Contains(t, stderr, says, args)
		}
	}
	shards := filepath.Join(dir, "shards")
	good(t, "pack", data, "-o", shards, "--rate=10", "--shards=2")
	require.NoError(t, os.WriteFile(filepath.Join(shards, "shard-00000-of-00002.safetensors"), whole[:20], 0o600))
	for _, args := range [][]string{{"batches", shards, "--backend=cpu"}, {"batches", shards, "--backend=cpu", "--streaming"}, {"inspect", shards}} {
		code, _, stderr := execute(args...)
		assert.Equal(t, exitInput, code, "the others are no dataset of their own")
		assert.Contains(t, stderr, "shard-00000-of-00002.safetensors: byte 20: header: truncated")
	}
}

// simulated is a device of a simulated card.
func simulated(t *testing.T, c cudasim.Config, failures ...cudasim.Failure) *ops.Device {
	t.Helper()
	table, _ := cudasim.Inject(cudasim.New(c).FunctionTable(), failures...)
	driver, err := cudadrv.NewDriver(table)
	require.NoError(t, err)
	b, err := cuda.NewAs("sim:0", driver, 0)
	require.NoError(t, err)
	d, err := ops.NewDevice(b)
	require.NoError(t, err)
	return d
}

// If a card is lost or too small, the command fails with that error, and its files match the state.
func TestACardThatIsLostOrTooSmallIsSaid(t *testing.T) {
	dir := t.TempDir()
	batch := func(device *ops.Device, seed uint64) (stdout string, err error) {
		var out strings.Builder
		a := newApp(strings.NewReader(""), &out, &strings.Builder{})
		b := &asking{asked: []string{"action"}, epochs: 1, world: 1, digest: true, out: filepath.Join(dir, "out"), state: filepath.Join(dir, "state.json")}
		b.Paths, b.Rate, b.Options = []string{kindsRLDS}, 10, loader.Options{Batch: 4, Seed: seed}
		require.NoError(t, b.check())
		err = a.batchesOn(b, []*ops.Device{device})
		_ = device.Close() // a lost device repeats its error
		return out.String(), err
	}
	first, err := batch(simulated(t, cudasim.Config{}, cudasim.Failure{Call: "cuGraphLaunch", N: 3, Code: cudadrv.ErrLaunchFailed}), 0)
	require.ErrorIs(t, err, cudadrv.ErrLaunchFailed)
	assert.Equal(t, exitOther, describe(err).Code)
	assert.Equal(t, 2, strings.Count(first, "\n"))
	assert.Len(t, listed(t, filepath.Join(dir, "out")), 2)
	last, err := lastSpot(filepath.Join(dir, "state.json"), 0, 1)
	require.NoError(t, err)
	assert.Equal(t, spot{0, 8, 2, 0}, last.at)
	rest, err := batch(simulated(t, cudasim.Config{}), 0)
	require.NoError(t, err)
	whole, _ := good(t, "batches", kindsRLDS, "--rate=10", "--batch=4", "--backend=cpu", "--digest", "--stream=action")
	assert.Equal(t, whole, first+rest)

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o700))
	_, err = batch(simulated(t, cudasim.Config{Memory: 1 << 10}), 1)
	require.ErrorIs(t, err, ops.ErrOutOfMemory)
	assert.Equal(t, exitInput, describe(err).Code)
	assert.Equal(t, []string{"out"}, listed(t, dir))
}
