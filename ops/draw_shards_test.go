package ops_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
)

// sharded are orders of shards whose epochs can be looked at whole: with a short shard and without, one shard larger than the epoch, more
// shards at a time than there are, shards of one window, and groups of more than 4096 windows.
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
			o.Rows(begin, 0, windows, slots)
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

// Over epochs each window comes to each position as often as by chance, and two windows that follow each other in a group are of one shard
// as often as by chance. The seed is fixed; a good order exceeds the limits once in 10,000 such counts.
func TestShardsAreDrawnAsByChance(t *testing.T) {
	for _, c := range [][3]int{{2, 1, 1}, {5, 2, 1}, {10, 3, 2}, {30, 29, 1}, {64, 8, 3}, {1000, 64, 4}, {100_003, 1000, 8}, {1<<40 + 3, 1 << 20, 16}, {1<<62 - 57, 1<<50 + 1, 9}} {
		n, w, k := int64(c[0]), int64(c[1]), int64(c[2])
		o := ops.DrawOptions{Count: c[0], ShardWindows: c[1], MixShards: c[2], Shuffle: true, Seed: uint64(c[0])}
		bins := min(n, 32)
		for _, p := range []int64{0, 1, max(min(w*k, n)-2, 0), n / 2, n - 2} {
			const epochs = 4000
			places, together := make([]float64, bins), 0.0
			in := min(w*k, n-p/(w*k)*w*k) // windows of the group
			paired := p%(w*k)+1 < in && in%w == 0
			for epoch := range int64(epochs) {
				a := o.Window(epoch, p)
				places[share(a, bins, n)]++
				if !paired {
					continue
				}
				b := o.Window(epoch, p+1)
				for slot := p / (w * k) * k; slot < p/(w*k)*k+in/w; slot++ {
					first, size := o.Shard(epoch, slot)
					if (a-first+n)%n < size && (b-first+n)%n < size {
						together++
					}
				}
			}
			want := make([]float64, bins)
			for b := range bins { // as many windows as begin in it
				lo, hi := math.Ceil(float64(b)*float64(n)/float64(bins)), math.Ceil(float64(b+1)*float64(n)/float64(bins))
				want[b] = epochs * (hi - lo) / float64(n)
			}
			assert.Less(t, excess(places, want, int(bins-1)), 4.0, "%v: windows at position %d", c, p)
			if paired && in > w && w > 1 {
				same := epochs * float64(w-1) / float64(in-1)
				assert.Less(t, excess([]float64{together, epochs - together}, []float64{same, epochs - same}, 1), 10.0, "%v: positions %d and the next, %v of one shard, want %v", c, p, together, same)
			}
		}
	}
}

// share is a*b/n.
func share(a, b, n int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(n))
	return int64(q)
}
