package opstest

import (
	"testing"

	"github.com/robocache/robocache/ops"
)

// drawDraw returns the generated cases with a number: stores of random shape, and random positions in the order.
func drawDraw(i int) []trial {
	return []trial{{generateDrawing(numbered("draw", i), uint64(i)).ready(), layouts[i%2]}}
}

func generateDrawing(name string, seed uint64) *drawing {
	g := &generator{Rand: rng(3000 + seed)}
	c := &drawing{Name: name, Batches: 1 + g.IntN(4), Bare: g.one(5)}
	episodes := []int{1, 2, 3, 1 + g.IntN(64), 1 + g.IntN(300), 1 + g.IntN(5000)}[g.IntN(6)]
	most := []int64{2, 20, 1000, 1 << 20, 1<<31 - 1}[g.IntN(5)]
	n := int64(0)
	for range episodes {
		count := g.Int64N(most + 1)
		if g.one(4) {
			count = 0
		}
		c.Counts, n = append(c.Counts, count), n+count
		c.Begins = append(c.Begins, g.Int64N(1<<60)-1<<59)
	}
	if n == 0 {
		c.Counts[g.IntN(episodes)], n = 1, 1
	}
	for range g.IntN(4) {
		samples := make([]int64, episodes)
		for e := range samples {
			samples[e] = g.Int64N(1 << (1 + g.IntN(30)))
		}
		c.Samples = append(c.Samples, samples)
	}
	o := &c.Opts
	*o = ops.DrawOptions{Rate: []float64{30, 50, 29.97, 1e3, 1e9 / 3, 0.7}[g.IntN(6)], Batch: 1 + g.IntN(70), Ranks: g.IntN(4), Last: ops.LastBatch(g.IntN(2)), Shuffle: !g.one(4), Seed: g.Uint64()}
	if o.Ranks > 1 {
		o.Rank = g.IntN(o.Ranks)
	}
	if o.Last == ops.LastDrop && int64(max(o.Ranks, 1)*o.Batch) > n {
		o.Last = ops.LastShort
	}
	o.TrustTables = g.one(3)
	c.From = ops.Cursor{Epoch: g.Int64N(1 << (1 + g.IntN(50)))}
	if g.one(2) {
		c.From.Taken = g.Int64N(n + 1)
	}
	switch {
	case g.one(3):
		g.mixture(c, n)
	case o.Shuffle && g.one(2):
		o.ShardWindows = 1 + int(g.Int64N([]int64{n, n + 3, min(n, 100), max(n/50, 1)}[g.IntN(4)]))
		o.MixShards = 1 + g.IntN(1+min(20, 2*int(n)/o.ShardWindows))
	}
	return c
}

// mixture divides n windows of a case into sources.
func (g *generator) mixture(c *drawing, n int64) {
	o := &c.Opts
	sources := 1 + g.IntN(min(ops.MaxSources, int(n)))
	for left := int(n); len(o.Sources) < sources; {
		s := ops.DrawSource{Windows: left, Weight: float64(g.IntN(1<<20)) / 1024}
		if more := sources - len(o.Sources) - 1; more > 0 {
			s.Windows = 1 + g.IntN(left-more)
		}
		o.Sources, left = append(o.Sources, s), left-s.Windows
	}
	o.Sources[g.IntN(sources)].Weight = 1
	if g.one(2) {
		o.Positions = 1 + int(g.Int64N(1<<(1+g.IntN(60))))
	}
	if p := int64(o.Positions); p > 0 {
		c.From.Taken = g.Int64N(p + 1)
		if int64(max(o.Ranks, 1)*o.Batch) > p {
			o.Last = ops.LastShort
		}
	}
}

// FuzzDraw draws from stores and cursors of any seed on the devices and compares the results.
func FuzzDraw(f *testing.F, devs ...*ops.Device) {
	for i := range uint64(20) {
		f.Add(i, int64(i), int64(3*i))
	}
	all := suites(devs)
	f.Fuzz(func(t *testing.T, seed uint64, epoch, taken int64) {
		c := generateDrawing("fuzz", seed)
		if c.From = (ops.Cursor{Epoch: epoch, Taken: taken}); c.Opts.TrustTables && (epoch < 0 || taken < 0) {
			c.Opts.TrustTables = false // with trusted tables the result for a wrong cursor is unspecified
		}
		for _, s := range all {
			s.check(t, c.ready(), layouts[1])
		}
	})
}
