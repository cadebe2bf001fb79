package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
)

// Every window of an epoch has one position.
func TestAnEpochHasEveryWindowOnce(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4095, 4096, 4097, 100_000, 1 << 18, 1<<18 + 1} {
		for _, seed := range []uint64{0, 1, math.MaxUint64} {
			o := ops.DrawOptions{Count: n, Shuffle: true, Seed: seed}
			seen := make([]bool, n)
			for p := range n {
				w := o.Window(int64(seed&7), int64(p))
				if seen[w] {
					t.Fatalf("%d windows, seed %d: window %d twice", n, seed, w)
				}
				seen[w] = true
			}
		}
	}
}

// excess is by how many standard deviations the chi-square of counts is above its mean, where so many of them are free.
func excess(counts, want []float64, free int) float64 {
	chi := 0.0
	for i, n := range counts {
		chi += (n - want[i]) * (n - want[i]) / want[i]
	}
	return (chi - float64(free)) / math.Sqrt(2*float64(free))
}

// Over seeds and epochs each window comes to each position, and neighbours come to lie each distance apart, as often as by chance. Of
// many windows they are counted by 64ths. Seeds are fixed; a good permutation exceeds 4 standard deviations once in 10,000 such counts.
func TestWindowsAreDrawnAsByChance(t *testing.T) {
	for _, n := range []int{2, 3, 8, 16, 30, 64, 100, 1000, 4096, 4097, 10_000, 1 << 20, 1_000_003, 1 << 40, 1<<62 - 57} {
		bins := min(n, 64)
		// Bin b holds the numbers from begin(b) on, to begin(b+1)-1.
		begin := func(b int) float64 { return math.Ceil(float64(b) / float64(bins) * float64(n)) }
		bin := func(x int64) int {
			b := int(float64(x) / float64(n) * float64(bins))
			for b+1 < bins && begin(b+1) <= float64(x) {
				b++
			}
			for begin(b) > float64(x) {
				b--
			}
			return b
		}
		at, draws := min(n, 400), 0.0
		places, apart, visits := make([]float64, bins*bins), make([]float64, bins), make([]float64, bins)
		for k := range 400 {
			o := ops.DrawOptions{Count: n, Shuffle: true, Seed: uint64(k) * 0x12345 << (k % 30)}
			epoch := int64(k % 20)
			for i := range int64(at) {
				p := i
				if n > at { // one of each stretch of positions
					p = int64(n/at)*i + int64(n%at)*i/int64(at) + int64(k)*7919%int64(n/at)
				}
				a, b := o.Window(epoch, p), o.Window(epoch, (p+1)%int64(n))
				if a == b {
					t.Fatalf("%d windows: %d twice", n, a)
				}
				places[bin(p)*bins+bin(a)]++
				visits[bin(p)]++
				apart[bin((b-a+int64(n))%int64(n))]++
				draws++
			}
		}
		wantPlaces, wantApart := make([]float64, bins*bins), make([]float64, bins)
		for b := range bins {
			width := begin(b+1) - begin(b)
			for p := range bins {
				wantPlaces[p*bins+b] = visits[p] * width / float64(n)
			}
			if b == 0 {
				width-- // no two windows are 0 apart
			}
			wantApart[b] = draws * width / float64(n-1)
		}
		free := bins * (bins - 1)
		if n <= at { // all positions: each window once an epoch
			free = (bins - 1) * (bins - 1)
		}
		assert.Less(t, excess(places, wantPlaces, free), 4.0, "%d windows at their positions", n)
		if n == bins {
			apart, wantApart = apart[1:], wantApart[1:]
		}
		if len(apart) > 1 {
			assert.Less(t, excess(apart, wantApart, len(apart)-1), 4.0, "neighbours of %d windows", n)
		}
	}
}

func TestEpochsAreCounted(t *testing.T) {
	for _, c := range []struct {
		count, batch, ranks       int
		last                      ops.LastBatch
		batches, dropped, missing int
	}{
		{100, 10, 1, ops.LastDrop, 10, 0, 0}, {100, 10, 1, ops.LastShort, 10, 0, 0}, {101, 10, 0, ops.LastDrop, 10, 1, 0}, {101, 10, 0, ops.LastShort, 11, 0, 9},
		{100, 7, 3, ops.LastDrop, 4, 16, 0}, {100, 7, 3, ops.LastShort, 5, 0, 5}, {5, 7, 3, ops.LastShort, 1, 0, 16}, {1, 1, 1, ops.LastDrop, 1, 0, 0},
		{1 << 62, 1<<31 - 1, 1<<31 - 1, ops.LastDrop, 1, 1<<62 - (1<<31-1)*(1<<31-1), 0}, {1 << 62, 1 << 30, 1, ops.LastShort, 1 << 32, 0, 0},
	} {
		o := ops.DrawOptions{Count: c.count, Batch: c.batch, Ranks: c.ranks, Last: c.last}
		assert.Equal(t, []int{c.batches, c.dropped, c.missing}, []int{o.Batches(), o.Dropped(), o.Missing()}, "%+v", o)
		// Each rank has floor(floor(n/w)/B) batches, or ceil(ceil(n/w)/B).
		w := max(c.ranks, 1)
		if c.last == ops.LastDrop {
			assert.Equal(t, c.count/w/c.batch, o.Batches())
		} else {
			assert.Equal(t, ((c.count+w-1)/w+c.batch-1)/c.batch, o.Batches())
		}
		at := ops.Cursor{Epoch: 3}
		for range min(c.batches, 20) {
			var begin ops.Cursor
			begin, at = o.Next(at)
			assert.EqualValues(t, 3, begin.Epoch)
		}
		if c.batches <= 20 {
			assert.EqualValues(t, c.count-c.dropped, at.Taken)
			begin, _ := o.Next(at)
			assert.Equal(t, ops.Cursor{Epoch: 4}, begin)
		}
	}
}

func TestWithoutShuffleWindowsComeInOrder(t *testing.T) {
	o := ops.DrawOptions{Count: 10, Batch: 2, Ranks: 2, Rank: 1, Seed: 5}
	assert.EqualValues(t, 7, o.Window(3, 7))
	p, ok := o.Position(ops.Cursor{Taken: 4}, 1)
	assert.True(t, ok)
	assert.EqualValues(t, 7, p)
	_, ok = o.Position(ops.Cursor{Taken: 8}, 1)
	assert.False(t, ok)
}
