package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/tensor"
)

// batchIn opens the first batch of a folder.
func batchIn(t *testing.T, folder string) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open(filepath.Join(folder, "batch-0000000.safetensors"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// Columns have names. Episodes may order them differently, and a request for some columns needs no others. A plan may request them too.
func TestBatchesTakeColumnsByTheirNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"e0": "time,b,d\n0,20,40\n0.5,20,40\n1,20,40\n", "e1": "time,a,b\n0,10,20\n0.5,10,20\n1,10,20\n", "e2": "time,b,c,a\n0,20,30,10\n0.5,20,30,10\n1,20,30,10\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".csv"), []byte(text), 0o600))
	}
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 2\nshuffle: none\nstreams: [{name: data, columns: [a, b]}]\n"), 0o600))
	for _, args := range [][]string{{"--plan", plan}, {"--hz=2", "--stream=data[a,b]", "--shuffle=none"}, {"--hz=2", "--stream=data[a,b]", "--shuffle=none", "--streaming"}} {
		out := filepath.Join(t.TempDir(), "out")
		_, stderr := good(t, append([]string{"batches", dir, "--batch=6", "--backend=cpu", "-o", out}, args...)...)
		values, err := batchIn(t, out).Tensor("data.values")
		require.NoError(t, err)
		got, err := tensor.Data[float32](values)
		require.NoError(t, err)
		assert.Equal(t, []float32{10, 20, 10, 20, 10, 20, 10, 20, 10, 20, 10, 20}, got, args)
		assert.Contains(t, stderr, `left out: episode e0: no stream that can be put on a clock, want one with samples and columns: data (got column "a"`, args)
		assert.Regexp(t, `episode e2: data: columns \[b, (c, )?a\] come in another order`, stderr, args)
		assert.NotContains(t, stderr, "c] are left out", "nobody asked for it")
	}
	code, _, stderr := execute("batches", dir, "--hz=2", "--stream=data[z]", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, `stream data: got column "z", want one of b, d`)
}

// Timestamps out of order are reported with the cure. pack reports them too, and packs the samples unsorted.
func TestBatchesSortWhatIsOutOfOrder(t *testing.T) {
	log := writeLog(t, topic{"back", "float v", []uint64{0, 200_000, 100_000, 300_000}, []any{float32(0), float32(2), float32(1), float32(3)}})
	store := filepath.Join(t.TempDir(), "store.safetensors")
	_, stderr := good(t, "pack", log, "-o", store)
	assert.Contains(t, stderr, "back: time goes backwards at sample 2; it is packed as it is, and batches --unordered sort takes it\n")
	for _, in := range []string{log, store} {
		code, _, stderr := execute("batches", in, "--hz=10", "--stream=back", "--backend=cpu")
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, "stream back: time goes backwards at sample 2; sorted it can be taken: --unordered sort")
		assert.NotContains(t, stderr, "SrcTimes")
		out := filepath.Join(t.TempDir(), "out")
		good(t, "batches", in, "--hz=10", "--stream=back", "--backend=cpu", "--unordered=sort", "--shuffle=none", "--batch=4", "-o", out)
		values, err := batchIn(t, out).Tensor("back.values")
		require.NoError(t, err)
		got, err := tensor.Data[float32](values)
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 1, 2, 3}, got)
	}
	code, _, stderr := execute("batches", log, "--hz=10", "--unordered=sometimes", "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, strings.Join([]string{"drop", "sort", "error"}, ", "))
}
