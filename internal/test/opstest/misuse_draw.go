package opstest

import (
	"context"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawCall is a Draw with 3 episodes, 5 windows, two streams and a batch of two rows.
type drawCall struct {
	maker
	args ops.DrawArgs
	opts ops.DrawOptions
}

// drawMisuses returns the wrong calls of Draw.
func drawMisuses() *misuses[drawCall] {
	x := &misuses[drawCall]{
		op: "Draw",
		good: func(m maker, c *drawCall) {
			c.maker, c.opts = m, ops.DrawOptions{Rate: 50, Count: 5, Batch: 2}
			c.args.Windows, c.args.Begins, c.args.Cursor = c.ints(0, 2, 2, 5), c.ints(0, 0, 0), c.ints(0, 0)
			c.args.Episodes, c.args.Ticks, c.args.Anchors, c.args.Keys = c.ints(7, 7), c.ints(7, 7), c.ints(7, 7), c.new(tensor.I64, 2, 2)
			for range 2 {
				c.args.Streams = append(c.args.Streams, ops.DrawStream{Starts: c.ints(7, 7), Lengths: c.ints(7, 7), Offsets: c.ints(0, 1, 2, 3)})
			}
		},
		places: func(c *drawCall) []place {
			a := &c.args
			one, two := &a.Streams[0], &a.Streams[1]
			return []place{{"Episodes", &a.Episodes}, {"Ticks", &a.Ticks}, {"Keys", &a.Keys}, {"Anchors", &a.Anchors}, {"Cursor", &a.Cursor}, {"Streams[1].Starts", &two.Starts}, {"Streams[0].Lengths", &one.Lengths},
				{"Streams[1].Offsets", &two.Offsets}, {"Windows", &a.Windows}, {"Begins", &a.Begins}}
		},
		free: []string{"Windows"}, needed: []string{"Cursor", "Streams[1].Offsets", "Windows", "Begins"}, made: []string{"Anchors", "Streams[1].Starts", "Streams[0].Lengths"},
		plan: func(dev *ops.Device, c *drawCall) error { _, err := dev.PlanDraw(c.args, c.opts); return err },
		call: func(dev *ops.Device, c *drawCall) error {
			_, err := dev.Draw(context.Background(), c.args, c.opts)
			return err
		},
	}
	add := func(name, arg string, kind error, spoil func(*drawCall)) {
		x.wrong = append(x.wrong, wrong[drawCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	option := func(name, arg string, edit func(*ops.DrawOptions)) {
		add(name, "Options."+arg, ops.ErrOption, func(c *drawCall) { edit(&c.opts) })
	}
	for name, rate := range map[string]float64{"no rate": 0, "a rate below 0": -1, "an infinite rate": math.Inf(1), "a NaN of a rate": math.NaN()} {
		option(name, "Rate", func(o *ops.DrawOptions) { o.Rate = rate })
	}
	option("no windows", "Count", func(o *ops.DrawOptions) { o.Count = 0 })
	option("windows below 0", "Count", func(o *ops.DrawOptions) { o.Count = -5 })
	option("more than 2^62 windows", "Count", func(o *ops.DrawOptions) { o.Count = 1<<62 + 1 })
	option("no rows", "Batch", func(o *ops.DrawOptions) { o.Batch = 0 })
	option("2^31 rows", "Batch", func(o *ops.DrawOptions) { o.Batch, o.Last = 1<<31, ops.LastShort })
	option("ranks below 0", "Ranks", func(o *ops.DrawOptions) { o.Ranks = -1 })
	option("2^31 ranks", "Ranks", func(o *ops.DrawOptions) { o.Ranks = 1 << 31 })
	option("a rank beyond the ranks", "Rank", func(o *ops.DrawOptions) { o.Ranks, o.Rank = 2, 2 })
	option("a rank of one", "Rank", func(o *ops.DrawOptions) { o.Rank = 1 })
	option("a rank below 0", "Rank", func(o *ops.DrawOptions) { o.Rank = -1 })
	option("a batch that no epoch fills", "Batch", func(o *ops.DrawOptions) { o.Ranks = 3 })
	option("a bad rule for the last batch", "Last", func(o *ops.DrawOptions) { o.Last = 2 })
	shards := func(name, arg string, windows, mix int, shuffle bool) {
		option(name, arg, func(o *ops.DrawOptions) { o.ShardWindows, o.MixShards, o.Shuffle = windows, mix, shuffle })
	}
	shards("shards of windows below 0", "ShardWindows", -1, 1, true)
	shards("shards of no windows", "ShardWindows", 0, 1, true)
	shards("shards below 0 at a time", "MixShards", 1, -1, true)
	shards("no shards at a time", "MixShards", 1, 0, true)
	shards("shards in order", "ShardWindows", 1, 1, false)
	mixture := func(name, arg string, positions int, sources ...ops.DrawSource) {
		option(name, arg, func(o *ops.DrawOptions) { o.Positions, o.Sources = positions, sources })
	}
	mixture("positions below 0", "Positions", -1, ops.DrawSource{Windows: 5, Weight: 1})
	mixture("more than 2^62 positions", "Positions", 1<<62+1, ops.DrawSource{Windows: 5, Weight: 1})
	mixture("positions without sources", "Positions", 5)
	mixture("65 sources", "Sources", 0, make([]ops.DrawSource, ops.MaxSources+1)...)
	mixture("a source without windows", "Sources[1].Windows", 0, ops.DrawSource{Windows: 5, Weight: 1}, ops.DrawSource{Weight: 1})
	mixture("sources of more windows than there are", "Sources[1].Windows", 0, ops.DrawSource{Windows: 3, Weight: 1}, ops.DrawSource{Windows: 3, Weight: 1})
	mixture("sources of fewer windows than there are", "Sources", 0, ops.DrawSource{Windows: 3, Weight: 1}, ops.DrawSource{Windows: 1, Weight: 1})
	mixture("a weight below 0", "Sources[0].Weight", 0, ops.DrawSource{Windows: 5, Weight: -1})
	mixture("an infinite weight", "Sources[0].Weight", 0, ops.DrawSource{Windows: 5, Weight: math.Inf(1)})
	mixture("a NaN of a weight", "Sources[0].Weight", 0, ops.DrawSource{Windows: 5, Weight: math.NaN()})
	mixture("no weight", "Sources", 0, ops.DrawSource{Windows: 3}, ops.DrawSource{Windows: 2})
	mixture("fewer positions than a batch", "Batch", 1, ops.DrawSource{Windows: 5, Weight: 1})
	option("a mixture in shards", "ShardWindows", func(o *ops.DrawOptions) {
		o.ShardWindows, o.MixShards, o.Shuffle, o.Sources = 1, 1, true, []ops.DrawSource{{Windows: 5, Weight: 1}}
	})
	option("a bad launch", "Launch", func(o *ops.DrawOptions) { o.Launch = 3 })
	add("17 streams", "Streams", ops.ErrShape, func(c *drawCall) { c.args.Streams = make([]ops.DrawStream, 17) })
	add("no episodes", "Windows", ops.ErrShape, func(c *drawCall) { c.args.Windows = c.ints(0) })
	add("one tensor for two outputs", "Ticks", ops.ErrOverlap, func(c *drawCall) { c.args.Ticks = c.args.Episodes })
	add("keys among the outputs", "Anchors", ops.ErrOverlap, func(c *drawCall) {
		c.args.Anchors = tensor.Must(tensor.Must(c.args.Keys.Reshape(4)).Slice(0, 1, 3))
	})
	add("a cursor among the outputs", "Anchors", ops.ErrOverlap, func(c *drawCall) { c.args.Anchors = c.args.Cursor })
	add("an output that is an input", "Streams[1].Lengths", ops.ErrOverlap, func(c *drawCall) {
		c.args.Streams[1].Lengths = tensor.Must(c.args.Begins.Slice(0, 0, 2))
	})
	add("a cursor in a table", "Cursor", ops.ErrOverlap, func(c *drawCall) { c.args.Cursor = tensor.Must(c.args.Streams[0].Offsets.Slice(0, 2, 4)) })
	return x
}
