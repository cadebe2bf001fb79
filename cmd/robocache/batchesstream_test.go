package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// With --streaming, batches equal those from a dataset on the device in an order with the same shards. The dataset may be recordings or
// their store.
func TestStreamingDrawsTheSameBatches(t *testing.T) {
	store := filepath.Join(t.TempDir(), "kinds.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10")
	args := []string{"--shard-windows=4", "--mix-shards=2", "--epochs=2"}
	want := batchesOf(t, kindsRLDS, args...)
	assert.NotEqual(t, want, batchesOf(t, kindsRLDS, "--epochs=2"), "which is another order")
	for _, in := range []string{kindsRLDS, store} {
		for _, workers := range []string{"--workers=1", "--workers=16"} {
			assert.Equal(t, want, batchesOf(t, in, append(args, "--streaming", workers)...), in)
		}
	}
	stdout, _ := good(t, "batches", store, "--hz=20", "--backend=cpu", "--streaming", "--json", "--batch=4")
	got := unmarshal(t, stdout)
	assert.EqualValues(t, 4096, got["shard_windows"])
	assert.EqualValues(t, 0, got["streaming"].(map[string]any)["unread_windows"])
	assert.NotZero(t, got["reading"].(map[string]any)["bytes"])
	stdout, _ = good(t, "batches", kindsRLDS, "--rate=10", "--hz=20", "--backend=cpu", "--streaming", "--batch=4", "--out", t.TempDir())
	assert.Regexp(t, `read \d+ shards, .* MiB; readers waited for free slots \d+ % of their time`, stdout)
}

func TestStreamingRefusesWhatCannotBe(t *testing.T) {
	for want, args := range map[string][]string{
		"--mix-shards: got 1 of 2 windows, want at least the 8 windows": {"--streaming", "--batch=8", "--shard-windows=2", "--mix-shards=1"},
		"--shard-windows: got -1": {"--shard-windows=-1"},
		"--workers: got -1":       {"--workers=-1"},
		"not called":              {"--streaming", "--stream=not called"},
	} {
		code, _, stderr := execute(append([]string{"batches", kindsRLDS, "--rate=10", "--hz=20", "--backend=cpu"}, args...)...)
		assert.NotZero(t, code)
		assert.Contains(t, stderr, want)
	}
}

// If a device has too little memory, the error names the flags that need less.
func TestADeviceThatIsTooSmallIsToldTheFlags(t *testing.T) {
	memory := &ops.MemoryError{Device: "cuda:0", What: "f32 [9]", Bytes: 36, Err: errors.New("out of memory")}
	packing := batching.Packing{Spell: spelling((&app{}).batchesCommand().Flags())}
	err := (&batching.Request{Packing: packing}).Explain(memory)
	assert.ErrorContains(t, err, "--streaming keeps a small part")
	assert.ErrorIs(t, err, ops.ErrOutOfMemory)
	b := &batching.Request{Packing: packing, Streaming: true}
	assert.Equal(t, error(memory), b.Explain(memory))
	assert.ErrorContains(t, b.Explain(&loader.RoomError{ShardWindows: 8, MixShards: 4, FitWindows: 8, FitMix: 2, Err: memory}), "want --mix-shards 2 and --shard-windows 8")
}
