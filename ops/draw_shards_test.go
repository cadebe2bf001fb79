package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
)

// sharded are orders of shards whose epochs can be looked at whole: with a short shard and without, one shard larger than the epoch, more shards at a time
// than there are, shards of one window, and groups of more than 4096 windows.
func sharded() (all []ops.DrawOptions) {
	for _, c := range [][3]int{
		{1, 1, 1}, {1, 5, 9}, {2, 1, 1}, {5, 2, 1}, {10, 5, 2}, {10, 3, 2}, {10, 10, 1}, {10, 11, 1}, {9, 11, 7}, {17, 4, 3}, {100, 7, 4}, {100, 7, 15}, {100, 7, 16}, {100, 1, 10}, {100, 1, 1},
		{1000, 64, 4}, {4097, 64, 1000}, {10_000, 999, 5}, {20_000, 1000, 5}, {20_001, 1000, 1}, {50, math.MaxInt, math.MaxInt},
	} {
		all = append(all, ops.DrawOptions{Count: c[0], ShardWindows: c[1], MixShards: c[2], Shuffle: true, Seed: uint64(c[0] * c[1])})
	}
	return all
}

// Every window of an epoch has one position, and the windows at the positions of a group are those of its shards.
func TestAGroupHasTheWindowsOfItsShards(t *testing.T) {
	for _, o := range sharded() {
		for epoch := range int64(4) {
			what := fmt.Sprintf("%+v, epoch %d", o, epoch)
			position, slot := int64(0), int64(0)
			var seen []int64
			for position < int64(o.Count) {
				var want, got []int64
				for range min(o.MixShards, o.Count) {
					first, n := o.Shard(epoch, slot)
					slot++
					for i := range n {
						want = append(want, (first+i)%int64(o.Count))
					}
				}
				require.NotEmpty(t, want, what)
				for range want {
					got = append(got, o.Window(epoch, position))
					position++
				}
				seen = append(seen, got...)
				slices.Sort(got)
				slices.Sort(want)
				require.Equal(t, want, got, what)
			}
			slices.Sort(seen)
			require.Len(t, slices.Compact(seen), o.Count, what)
			_, n := o.Shard(epoch, slot)
			assert.Zero(t, n, what)
		}
	}
	_, n := ops.DrawOptions{Count: 10, ShardWindows: 3, MixShards: 1, Shuffle: true}.Shard(0, -1)
	assert.Zero(t, n)
	_, n = ops.DrawOptions{Count: 10, Shuffle: true}.Shard(0, 0)
	assert.Zero(t, n)
}

// Rows gives a batch what Window and Position give its rows, and each window's shard is in the slot that it says.
func TestRowsAreThoseOfTheBatch(t *testing.T) {
	for _, o := range append(sharded(), ops.DrawOptions{Count: 100, Shuffle: true, Seed: 3}, ops.DrawOptions{Count: 100}) {
		o.Batch, o.Rank, o.Ranks, o.Last = 7, 1, 3, ops.LastShort
		windows, slots := make([]int64, o.Batch), make([]int64, o.Batch)
		at := ops.Cursor{Epoch: 2}
		for range min(o.Batches(), 50) {
			var begin ops.Cursor
			begin, at = o.Next(at)
			o.Rows(begin, windows, slots)
			for i, got := range windows {
				position, drawn := o.Position(begin, i)
				if !drawn {
					assert.Equal(t, []int64{-1, -1}, []int64{got, slots[i]})
					continue
				}
				assert.Equal(t, o.Window(begin.Epoch, position), got)
				if first, n := o.Shard(begin.Epoch, slots[i]); o.ShardWindows > 0 {
					assert.Less(t, (got-first+int64(o.Count))%int64(o.Count), n)
				}
			}
		}
	}
}
