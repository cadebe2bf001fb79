package opstest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestDrawingsComparisonCatchesAWrongElement(t *testing.T) {
	c := (&drawing{Counts: []int64{3, 4}, Samples: [][]int64{{1, 2}, {5, 6}}, Opts: ops.DrawOptions{Batch: 3, Shuffle: true}, Batches: 2}).ready()
	want, wrong := solveDrawing(c)
	require.Nil(t, wrong)
	for _, spoil := range []func(b *batch) []int64{
		func(b *batch) []int64 { return b.Cursor[:] }, func(b *batch) []int64 { return b.Anchors }, func(b *batch) []int64 { return b.Episodes }, func(b *batch) []int64 { return b.Ticks },
		func(b *batch) []int64 { return b.Starts[1] }, func(b *batch) []int64 { return b.Lengths[0] },
	} {
		got, _ := solveDrawing(c)
		written := func() *result {
			r := &result{out: map[string]*array{}}
			for name, bits := range c.bits(got[1]) {
				r.add(name, packed(tensor.I64, bits, len(bits)))
			}
			return r
		}
		assert.Empty(t, written().differAny(c.bits(want[1])))
		list := spoil(got[1])
		list[len(list)-1]++
		assert.NotEmpty(t, written().differAny(c.bits(want[1])))
	}
}

// TestDrawingsHoldWhatTheyAreThereFor checks that the generated cases cover combinations: short and whole batches, several ranks, the
// next epoch, large and small stores.
func TestDrawingsHoldWhatTheyAreThereFor(t *testing.T) {
	seen := map[string]bool{}
	for i := range uint64(400) {
		c := generateDrawing("", i).ready()
		want, wrong := solveDrawing(c)
		require.Nil(t, wrong)
		last := want[len(want)-1]
		seen["another epoch"] = seen["another epoch"] || last.Cursor[0] > c.From.Epoch
		seen["rows without a window"] = seen["rows without a window"] || slices.Contains(last.Anchors, 0)
		seen["ranks"] = seen["ranks"] || c.Opts.Rank > 0
		seen["three steps of the search"] = seen["three steps of the search"] || len(c.Counts) > 4096
		seen["four rounds"] = seen["four rounds"] || c.Opts.Count > 4096 && c.Opts.Shuffle
		seen["eight rounds"] = seen["eight rounds"] || c.Opts.Count <= 4096 && c.Opts.Shuffle
		if w, k := c.Opts.ShardWindows, c.Opts.MixShards; w > 0 {
			last := int(c.From.Taken) / (w * k) * k * w
			seen["a short shard"] = seen["a short shard"] || c.Opts.Count%w > 0 && w > 1
			seen["a shard larger than the epoch"] = seen["a shard larger than the epoch"] || w > c.Opts.Count
			seen["several groups"] = seen["several groups"] || w*k < c.Opts.Count
			seen["a group of more shards than there are"] = seen["a group of more shards than there are"] || w*(k-1) > c.Opts.Count
			seen["a group behind the first"] = seen["a group behind the first"] || last > 0
		}
		if d := len(c.Opts.Sources); d > 0 {
			shares := c.Opts.Shares()
			seen["more than a source a lane"] = seen["more than a source a lane"] || d > 32
			seen["a source without a share"] = seen["a source without a share"] || slices.Contains(shares, 0)
			seen["a source drawn more than once an epoch"] = seen["a source drawn more than once an epoch"] || shares[0] > c.Opts.Sources[0].Windows
			seen["a mixture in order"] = seen["a mixture in order"] || !c.Opts.Shuffle
			seen["other positions than windows"] = seen["other positions than windows"] || c.Opts.Positions > 0
		}
		seen["one block"] = seen["one block"] || c.Opts.Batch <= 4
		seen["no streams"] = seen["no streams"] || len(c.Offsets) == 0
	}
	for what, is := range seen {
		assert.True(t, is, what)
	}
	assert.Len(t, seen, 18)
}
