package loader_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func shards() align.Plan {
	p := plan()
	p.Shuffle = "shards"
	return p
}

func stream2(t *testing.T, backend string, d dataset.Dataset, p align.Plan, opt loader.Options) *loader.Loader {
	t.Helper()
	l, err := loader.NewStreaming(context.Background(), open(t, backend), d, p, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// A loader that reads meanwhile gives the windows of one that keeps its store, in the same order, to the bit: from recordings or their store, on every
// device, with any number of workers, shards and ranks.
func TestStreamingGivesTheBitsOfAResidentStore(t *testing.T) {
	m := recordings(t)
	store, err := loader.Build(context.Background(), m, loader.BuildOptions{})
	require.NoError(t, err)
	for _, c := range []struct{ windows, mix int }{{16, 3}, {30, 2}, {64, 2}, {1000, 1}, {100, 9}} {
		opt := loader.Options{Batch: 8, Seed: 5, Last: ops.LastShort, ShardWindows: c.windows, MixShards: c.mix}
		want := map[int64]uint64{}
		digests(t, load(t, "cpu", m, shards(), opt), want, 0, 1, 8)
		require.True(t, len(want) == 402)
		for _, d := range []dataset.Dataset{store, m} {
			for _, workers := range []int{1, 16} {
				opt.Workers = workers
				got := map[int64]uint64{}
				digests(t, stream2(t, "cpu", d, shards(), opt), got, 0, 1, 8)
				same(t, want, got, "%+v, %d workers, %T", c, workers, d)
			}
		}
		for _, ranks := range []int{2, 4, 7} {
			got := map[int64]uint64{}
			for rank := range ranks {
				opt.Batch, opt.Rank, opt.Ranks = 3, rank, ranks
				digests(t, stream2(t, "cpu", store, shards(), opt), got, rank, ranks, 3)
			}
			same(t, want, got, "%d ranks", ranks)
		}
	}
}

// same compares digests by position.
func same(t *testing.T, want, got map[int64]uint64, what string, args ...any) {
	t.Helper()
	require.Equal(t, len(want), len(got), fmt.Sprintf(what, args...))
	for position := range int64(len(want)) {
		require.Equal(t, want[position], got[position], "position %d, %s", position, fmt.Sprintf(what, args...))
	}
}

var _ = fmt.Sprint
var _ = runtime.NumGoroutine
var _ = time.Second
var _ = tensor.F32
var _ = assert.Equal
