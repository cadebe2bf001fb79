package opstest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
)

// evenly returns e counts of n windows.
func evenly(e int, n int64) []int64 {
	out := make([]int64, e)
	for i := range out {
		out[i] = n
	}
	return out
}

// drawNamed tests small inputs with batches written down, and sizes around the kernel's limits: a search step compares 64 places, and
// a block draws 4 windows.
func (s *suite) drawNamed(t *testing.T) {
	cases := []*drawing{
		{Name: "three-episodes", Counts: []int64{2, 0, 3}, Begins: []int64{1000, 2000, -3000}, Samples: [][]int64{{5, 1, 7}, {0, 9, 2}}, Opts: ops.DrawOptions{Batch: 2}, Batches: 5},
		{Name: "three-episodes, short", Counts: []int64{2, 0, 3}, Samples: [][]int64{{5, 1, 7}}, Opts: ops.DrawOptions{Batch: 2, Last: ops.LastShort}, Batches: 7},
		{Name: "shuffled", Counts: []int64{2, 0, 3}, Samples: [][]int64{{5, 1, 7}}, Opts: ops.DrawOptions{Batch: 2, Shuffle: true, Seed: 1}, Batches: 5},
		{Name: "shuffled, short", Counts: []int64{20, 0, 31}, Samples: [][]int64{{5, 1, 7}}, Opts: ops.DrawOptions{Batch: 16, Shuffle: true, Seed: 1 << 63, Last: ops.LastShort}, Batches: 9},
		{Name: "one-window", Counts: []int64{1}, Samples: [][]int64{{4}}, Opts: ops.DrawOptions{Batch: 1, Shuffle: true, Seed: 7}, Batches: 3},
		{Name: "more rows than windows", Counts: []int64{1, 1}, Samples: [][]int64{{4, 0}}, Opts: ops.DrawOptions{Batch: 9, Shuffle: true, Last: ops.LastShort}, Batches: 3},
		{Name: "empty-episodes", Counts: append(append(evenly(70, 0), 3, 0, 0, 1), evenly(200, 0)...), Samples: [][]int64{evenly(274, 2)}, Opts: ops.DrawOptions{Batch: 4}},
		{Name: "empty-episodes between", Counts: []int64{0, 0, 1, 0, 2, 0, 0, 0, 1, 1, 0, 5, 0}, Samples: [][]int64{evenly(13, 3)}, Opts: ops.DrawOptions{Batch: 10}},
		{Name: "no streams", Counts: []int64{4, 4}, Opts: ops.DrawOptions{Batch: 3, Shuffle: true}, Batches: 3},
		{Name: "bare", Counts: []int64{4, 4}, Samples: [][]int64{{1, 2}}, Bare: true, Opts: ops.DrawOptions{Batch: 3, Shuffle: true}, Batches: 3},
		{Name: "episodes without samples", Counts: []int64{4, 4}, Samples: [][]int64{{0, 0}, {0, 1}}, Opts: ops.DrawOptions{Batch: 8}},
		{Name: "far epoch", Counts: []int64{40, 4}, Samples: [][]int64{{1, 2}}, From: ops.Cursor{Epoch: 1<<40 + 3, Taken: 30}, Opts: ops.DrawOptions{Batch: 7, Shuffle: true, Seed: math.MaxUint64}, Batches: 4},
		{Name: "a cursor behind the end", Counts: []int64{40, 4}, Samples: [][]int64{{1, 2}}, From: ops.Cursor{Epoch: 2, Taken: 45}, Opts: ops.DrawOptions{Batch: 7, Last: ops.LastShort}, Batches: 2},
		{Name: "a cursor at the end", Counts: []int64{40, 4}, Samples: [][]int64{{1, 2}}, From: ops.Cursor{Epoch: 2, Taken: 44}, Opts: ops.DrawOptions{Batch: 44}, Batches: 2},
		{Name: "a cursor one before the last batch's end", Counts: []int64{40, 4}, Samples: [][]int64{{1, 2}}, From: ops.Cursor{Epoch: 2, Taken: 38}, Opts: ops.DrawOptions{Batch: 7}, Batches: 2},
		{Name: "a whole last batch", Counts: []int64{40, 4}, Samples: [][]int64{{1, 2}}, From: ops.Cursor{Taken: 22}, Opts: ops.DrawOptions{Batch: 11, Ranks: 2, Rank: 1, Last: ops.LastShort}, Batches: 2},
		{Name: "long episodes", Counts: evenly(500, math.MaxInt32), Samples: [][]int64{evenly(500, math.MaxInt32)}, Opts: ops.DrawOptions{Batch: 33, Shuffle: true, Rate: 1000}, Batches: 2},
		{Name: "slow ticks", Counts: []int64{3, 3}, Begins: []int64{-1 << 62, 1<<62 - 2_000_000_000_000}, Opts: ops.DrawOptions{Batch: 6, Rate: 1e-3}},
		{Name: "ticks of the latest time", Counts: []int64{2}, Begins: []int64{1<<62 - 1<<30}, Opts: ops.DrawOptions{Batch: 2, Rate: 1e9 / float64(1<<30)}},
		{Name: "ticks that stop at 2^62", Counts: []int64{3}, Begins: []int64{0}, Opts: ops.DrawOptions{Batch: 3, Rate: 1e-300}},
		{Name: "unequal ticks", Counts: []int64{100, 100}, Begins: []int64{1_762_550_000e9, 5}, Opts: ops.DrawOptions{Batch: 200, Rate: 29.97}},
	}
	all := &drawing{Name: "sixteen-streams", Counts: []int64{3, 4, 5}, Opts: ops.DrawOptions{Batch: 6, Shuffle: true}, Batches: 2}
	for m := range int64(ops.MaxStreams) {
		all.Samples = append(all.Samples, []int64{m, 2 * m, 100 - m})
	}
	cases = append(cases, all)
	for _, e := range []int{1, 2, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 1000, 4095, 4096, 4097, 8192, 64*64*64 + 1} {
		// If there are many episodes, use the first, the last and some between.
		ranks := max(e/40, 1)
		c := &drawing{Name: fmt.Sprint("episodes ", e), Counts: evenly(e, 1), Samples: [][]int64{evenly(e, 3)}}
		c.Opts = ops.DrawOptions{Batch: (e + ranks - 1) / ranks, Ranks: ranks, Rank: (e - 1) % ranks, Last: ops.LastShort, TrustTables: e > 5000 && s.simulated}
		cases = append(cases, c)
	}
	for _, b := range []int{1, 2, 3, 4, 5, 8, 31, 32, 33, 127, 128, 129, 1000} {
		c := &drawing{Name: fmt.Sprint("rows ", b), Counts: []int64{int64(b), 700, int64(b)}, Samples: [][]int64{{3, 1, 2}}, Opts: ops.DrawOptions{Batch: b, Shuffle: true, Seed: uint64(b)}, Batches: 3}
		cases = append(cases, c)
	}
	// The permutation's numbers gain two bits at each power of 4. It has fewer rounds above 4096.
	for _, n := range []int64{2, 3, 4, 5, 15, 16, 17, 64, 65, 1024, 1025, 4095, 4096, 4097, 1<<31 - 1, 1 << 31} {
		c := &drawing{Name: fmt.Sprint("windows ", n), Counts: []int64{n / 2, n - n/2}, Opts: ops.DrawOptions{Batch: int(min(n, 12)), Shuffle: true, Seed: 3}, Batches: 2}
		cases = append(cases, c)
	}
	for _, c := range slices.Concat(cases, shardDrawings(), mixedDrawings()) {
		t.Run(c.Name, func(t *testing.T) { s.check(t, c.ready(), layouts[1]) })
	}
}

// shardDrawings returns cases with shards: the numbers of windows, of windows in a shard, and of shards in a group are near each
// other's multiples, so that batches cross the borders of groups and reach the last group.
func shardDrawings() (cases []*drawing) {
	for _, x := range [][3]int{
		{1, 1, 1}, {1, 2, 2}, {30, 1, 1}, {30, 1, 30}, {30, 5, 2}, {30, 7, 2}, {30, 29, 1}, {30, 30, 1}, {30, 31, 1}, {31, 30, 9}, {31, 5, 6}, {31, 5, 7}, {30, math.MaxInt, math.MaxInt}, {9001, 4096, 1},
		{9001, 4097, 1}, {9001, 64, 70},
	} {
		n, w, k := int64(x[0]), x[1], x[2]
		c := &drawing{Name: fmt.Sprintf("shards of %d, %d of %d windows at a time", w, k, n), Counts: []int64{n / 3, 0, n - n/3}, Samples: [][]int64{{3, 1, 2}}}
		c.Opts = ops.DrawOptions{Batch: 10, Shuffle: true, Seed: uint64(n), ShardWindows: w, MixShards: k, Last: ops.LastShort}
		if n > 1000 {
			c.From.Taken = n - 25
		}
		c.Batches = 5
		cases = append(cases, c)
	}
	far := &drawing{Name: "shards of long episodes", Counts: evenly(500, math.MaxInt32), Samples: [][]int64{evenly(500, math.MaxInt32)}, From: ops.Cursor{Epoch: 1<<33 + 1, Taken: 1<<39 + 5}, Batches: 2}
	far.Opts = ops.DrawOptions{Batch: 33, Shuffle: true, Rate: 1000, ShardWindows: 1<<33 + 1, MixShards: 3, Seed: math.MaxUint64}
	ranks := &drawing{Name: "shards by the last of three ranks", Counts: []int64{400, 90}, Samples: [][]int64{{3, 1}}, Batches: 30}
	ranks.Opts = ops.DrawOptions{Batch: 7, Ranks: 3, Rank: 2, Shuffle: true, ShardWindows: 20, MixShards: 4}
	return append(cases, far, ranks)
}

// mixedDrawings returns cases with mixtures: of one source and of the maximum number, with a source that one batch uses several
// times, a source that is never drawn, and sources with epochs that begin and end inside the mixture's epoch.
func mixedDrawings() (cases []*drawing) {
	add := func(name string, shuffle bool, positions int, sources ...ops.DrawSource) {
		c := &drawing{Name: fmt.Sprintf("%s, shuffled %t", name, shuffle), Batches: 7}
		for _, s := range sources {
			c.Counts = append(c.Counts, int64(s.Windows)/2, int64(s.Windows)-int64(s.Windows)/2)
		}
		c.Samples = [][]int64{evenly(len(c.Counts), 3)}
		c.Opts = ops.DrawOptions{Batch: 10, Ranks: 2, Rank: 1, Last: ops.LastShort, Shuffle: shuffle, Seed: 77, Positions: positions, Sources: sources}
		cases = append(cases, c)
	}
	of := func(windows int, weight float64) ops.DrawSource {
		return ops.DrawSource{Windows: windows, Weight: weight}
	}
	var most []ops.DrawSource
	for d := range ops.MaxSources {
		most = append(most, of(1+3*d%17, float64(d%5)))
	}
	for _, shuffle := range []bool{true, false} {
		add("a mixture of one", shuffle, 0, of(30, 0.5))
		add("a mixture of two", shuffle, 0, of(30, 2), of(20, 1))
		add("a mixture with a source that has no share", shuffle, 0, of(30, 1), of(7, 0), of(20, 1), of(5, 0))
		add("a mixture that draws a window several times", shuffle, 100, of(3, 9), of(50, 1))
		add("a mixture of short epochs", shuffle, 12, of(31, 1), of(50, 1))
		add("a mixture of as many as can be", shuffle, 0, most...)
		add("a mixture of 33", shuffle, 0, most[:33]...)
		add("a mixture of many windows", shuffle, 1<<40, of(1<<31, 3), of(1<<31+5, 1))
	}
	far := *cases[0]
	far.Name, far.From = "a mixture in a far epoch", ops.Cursor{Epoch: math.MaxInt64 - 3, Taken: 3}
	return append(cases, &far)
}

// drawValues tests that wrong values in the tables are found when the work runs. If there are several, the error is for the first by
// class, stream and episode.
func (s *suite) drawValues(t *testing.T) {
	far := int64(1<<62 + 1<<20)
	c := func(name string, edit func(*drawing)) *drawing {
		c := &drawing{Name: name, Counts: []int64{2, 0, 3}, Samples: [][]int64{{5, 1, 7}, {0, 9, 2}}, Opts: ops.DrawOptions{Batch: 2}}
		c.ready()
		edit(c)
		return c
	}
	windows := func(x ...int64) func(*drawing) { return func(c *drawing) { c.Windows = arr(x, len(x)) } }
	begins := func(x ...int64) func(*drawing) { return func(c *drawing) { c.Begins = x } }
	offsets := func(m int, x ...int64) func(*drawing) { return func(c *drawing) { c.Offsets[m] = arr(x, len(x)) } }
	from := func(epoch, taken int64) func(*drawing) {
		return func(c *drawing) { c.From = ops.Cursor{Epoch: epoch, Taken: taken} }
	}
	and := func(edits ...func(*drawing)) func(*drawing) {
		return func(c *drawing) {
			for _, e := range edits {
				e(c)
			}
		}
	}
	cases := []*drawing{
		c("an epoch below 0", from(-1, 0)), c("positions below 0", from(0, -1)), c("both below 0", from(math.MinInt64, math.MinInt64)),
		c("windows that begin late", windows(1, 2, 2, 5)), c("windows that begin early", windows(-1, 2, 2, 5)), c("windows that end early", windows(0, 2, 2, 4)),
		c("windows that end late", windows(0, 2, 2, 6)), c("windows that go back", windows(0, 3, 2, 5)), c("windows far outside", windows(0, math.MaxInt64, 2, 5)),
		c("windows far below", windows(0, math.MinInt64, 2, 5)),
		c("another count", func(c *drawing) { c.Opts.Count = 6 }),
		c("too many windows in an episode", func(c *drawing) {
			c.Windows, c.Opts.Count = arr([]int64{0, 2, 1<<31 + 2, 1<<31 + 3}, 4), 1<<31+3
		}),
		c("a beginning too late", begins(0, far, 0)), c("a beginning too early", begins(0, 0, -far)), c("a beginning at 2^62 without windows", begins(0, 1<<62, 0)),
		c("a beginning just beyond 2^62 without windows", begins(0, 1<<62+1, 0)),
		c("a last tick too late", begins(0, 0, 1<<62-30_000_000)), c("a last tick in time", begins(0, 0, 1<<62-40_000_000)),
		c("a last tick beyond 2^63", and(begins(1<<62, 0, 0), func(c *drawing) { c.Opts.Rate = 1e-300 })),
		c("offsets that begin late", offsets(1, 1, 1, 9, 11)), c("offsets that go back", offsets(0, 0, 6, 5, 13)), c("offsets below 0", offsets(0, 0, -6, 5, 13)),
		c("offsets that all are below 0", offsets(0, -4, -3, -2, -1)), c("an episode of too many samples", offsets(0, 0, 1<<31, 1<<31, 1<<31)),
		c("an end below 0", offsets(1, 0, 0, 9, -1)),
		c("offsets of both streams", and(offsets(1, 1, 1, 9, 11), offsets(0, 0, 5, 13, 6))),
		c("a beginning and offsets", and(begins(0, 0, far), offsets(0, 0, 6, 5, 13))),
		c("windows and beginnings", and(windows(0, 2, 6, 5), begins(far, 0, 0))),
		c("all of them", and(from(3, -7), windows(0, 2, 6, 5), begins(far, 0, 0), offsets(0, 0, 6, 5, 13))),
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { s.check(t, c.ready(), layouts[1]) })
	}
	t.Run("trusted wrong tables write nothing else", func(t *testing.T) {
		for _, c := range cases {
			c.Opts.TrustTables, c.Opts.Shuffle = true, true
			_, err := planned(s.dev, c, layouts[1], ops.LaunchDefault, 1)
			assert.NoError(t, err, c.Name)
		}
	})
	t.Run("a fault far behind the first block's episodes", func(t *testing.T) {
		for _, at := range []int{511, 512, 5000, 8998} {
			c := &drawing{Name: fmt.Sprint("episode ", at), Counts: evenly(9000, 1), Samples: [][]int64{evenly(9000, 1)}, Opts: ops.DrawOptions{Batch: 2}}
			c.ready()
			c.Offsets[0].raw[at+1] = 0
			s.check(t, c.ready(), layouts[1])
		}
	})
}
