package opstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
)

// drawGoldenJSON is written by scripts/gen_draw_golden.py.
//
//go:embed testdata/draw_golden.json
var drawGoldenJSON []byte

// drawGolden tests that Go's order of windows, on the host and on the device, equals the order computed by a Python script.
func (s *suite) drawGolden(t *testing.T) {
	var file struct {
		Cases []struct {
			Seed                      uint64
			Epoch, Count, First, Step int64
			Shard, Mix, Positions     int
			InOrder                   bool `json:"in_order"`
			Sources                   []ops.DrawSource
			Shares                    []int
			Windows                   []int64
		}
	}
	require.NoError(t, json.Unmarshal(drawGoldenJSON, &file))
	require.NotEmpty(t, file.Cases)
	for _, g := range file.Cases {
		what := fmt.Sprintf("seed %d, epoch %d, %d windows, shards of %d, %d at a time, %d positions of %v", g.Seed, g.Epoch, g.Count, g.Shard, g.Mix, g.Positions, g.Sources)
		o := ops.DrawOptions{Rate: 50, Count: int(g.Count), Batch: len(g.Windows), Shuffle: !g.InOrder, Seed: g.Seed, Last: ops.LastShort, ShardWindows: g.Shard, MixShards: g.Mix, Sources: g.Sources, Positions: g.Positions}
		assert.Equal(t, g.Shares, o.Shares(), what)
		for i, want := range g.Windows {
			assert.Equal(t, want, o.Window(g.Epoch, g.First+int64(i)*g.Step), what)
		}
		if g.Step > math.MaxInt32 || g.Count > math.MaxInt32 {
			continue // a store with so many windows per episode, or a rank for each step, does not fit into memory
		}
		o.Ranks = int(g.Step)
		c := (&drawing{Counts: []int64{g.Count}, From: ops.Cursor{Epoch: g.Epoch, Taken: g.First}, Opts: o}).ready()
		got := s.once(t, s.dev, c, layouts[1])
		assert.Equal(t, g.Windows, int64s(got.out["Ticks"].raw), "%s%s", what, got.by())
	}
}

// numbers returns the windows that a batch drew, without the rows that have no window.
func (c *drawing) numbers(b *batch) (list []int64) {
	first := sums(c.Counts)
	for i, e := range b.Episodes {
		if e >= 0 {
			list = append(list, first[e]+b.Ticks[i])
		}
	}
	return list
}

// drawAll draws batches on each of the ranks in turn. It returns the windows in the order of their positions, and the last cursor.
func (s *suite) drawAll(t *testing.T, c drawing, batches int) (list []int64, at ops.Cursor) {
	t.Helper()
	c.Batches = batches
	byRank := make([][]*batch, max(c.Opts.Ranks, 1))
	for r := range byRank {
		one := c
		one.Opts.Rank = r
		all, err := planned(s.dev, &one, layouts[1], ops.LaunchDefault, batches)
		require.NoError(t, err)
		for _, got := range all {
			of := func(name string) []int64 { return int64s(got.out[name].raw) }
			byRank[r] = append(byRank[r], &batch{Cursor: [2]int64(of("Cursor")), Episodes: of("Episodes"), Ticks: of("Ticks")})
		}
	}
	for k := range batches {
		for i := range c.Opts.Batch {
			for _, of := range byRank {
				assert.Equal(t, byRank[0][k].Cursor, of[k].Cursor, "the ranks' cursors")
				row := *of[k]
				row.Episodes, row.Ticks = row.Episodes[i:i+1], row.Ticks[i:i+1]
				list = append(list, c.numbers(&row)...)
			}
		}
	}
	last := byRank[0][batches-1].Cursor
	return list, ops.Cursor{Epoch: last[0], Taken: last[1]}
}

// drawOrder tests that every rank has the same number of batches, that the ranks together draw each window of an epoch once, except
// for those counted as dropped, and that a run from a saved cursor with another number of ranks or another batch size continues in
// the same order.
func (s *suite) drawOrder(t *testing.T) {
	t.Run("all windows", func(t *testing.T) { s.drawOrderOf(t, ops.DrawOptions{Shuffle: true}) })
	t.Run("a mixture", func(t *testing.T) {
		s.drawOrderOf(t, ops.DrawOptions{Shuffle: true, Sources: []ops.DrawSource{{Windows: 41, Weight: 2}, {Windows: 60, Weight: 1}}})
	})
	t.Run("shards", func(t *testing.T) { s.drawOrderOf(t, ops.DrawOptions{Shuffle: true, ShardWindows: 8, MixShards: 3}) })
}

func (s *suite) drawOrderOf(t *testing.T, o ops.DrawOptions) {
	o.Batch, o.Ranks, o.Seed = 7, 2, 99
	store := drawing{Counts: []int64{40, 0, 1, 25, 0, 35}, Samples: [][]int64{{4, 5, 6, 7, 8, 9}}, Opts: o}
	store.ready()
	n := store.Opts.Count
	want := func(epoch int64) (list []int64) {
		for p := range n {
			list = append(list, store.Opts.Window(epoch, int64(p)))
		}
		return list
	}
	t.Run("an epoch of two ranks", func(t *testing.T) {
		for _, last := range []ops.LastBatch{ops.LastDrop, ops.LastShort} {
			for epoch := range int64(3) {
				c := store
				c.Opts.Last, c.From.Epoch = last, epoch
				list, at := s.drawAll(t, c, c.Opts.Batches())
				drawn := n - c.Opts.Dropped()
				assert.Equal(t, want(epoch)[:drawn], list, "%v, epoch %d", last, epoch)
				assert.Equal(t, ops.Cursor{Epoch: epoch, Taken: int64(drawn)}, at)
				assert.Equal(t, n+c.Opts.Missing(), c.Opts.Batches()*14+c.Opts.Dropped(), "rows of all batches")
				if slices.Sort(list); len(c.Opts.Sources) == 0 {
					assert.Len(t, slices.Compact(list), drawn, "windows drawn twice")
				}
				c.From = at
				next, _ := s.drawAll(t, c, 1)
				assert.Equal(t, want(epoch + 1)[:14], next, "%v, the epoch after %d", last, epoch)
			}
		}
	})
	t.Run("other ranks and batches from the middle", func(t *testing.T) {
		for _, more := range []struct{ ranks, batch, batches int }{{1, 7, 8}, {3, 5, 3}, {5, 1, 11}, {2, 8, 3}, {1, 59, 1}} {
			c := store
			c.From.Epoch = 6
			list, at := s.drawAll(t, c, 3)
			c.From, c.Opts.Ranks, c.Opts.Batch = at, more.ranks, more.batch
			rest, _ := s.drawAll(t, c, more.batches)
			assert.Equal(t, want(6)[:42+more.ranks*more.batch*more.batches], append(list, rest...), "%+v", more)
		}
	})
	t.Run("epochs and seeds differ", func(t *testing.T) {
		assert.NotEqual(t, want(0), want(1))
		seed := store.Opts.Seed
		one := want(0)
		store.Opts.Seed++
		assert.NotEqual(t, one, want(0))
		store.Opts.Seed = seed + 1<<32
		assert.NotEqual(t, one, want(0))
		store.Opts.Seed = seed
		assert.NotEqual(t, one, want(1<<32))
		assert.Equal(t, one, want(0))
	})
}
