package opstest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawCall is a Draw that would work, to be spoiled: 3 episodes of 5 windows, two streams, batches of 2.
type drawCall struct {
	call // its put and its ways to make tensors
	args ops.DrawArgs
	opts ops.DrawOptions
}

func newDrawCall(put func(*array) *tensor.Tensor) *drawCall {
	c := &drawCall{call: call{put: put}, opts: ops.DrawOptions{Rate: 50, Count: 5, Batch: 2}}
	c.args.Windows, c.args.Begins, c.args.Cursor = c.ints(0, 2, 2, 5), c.ints(0, 0, 0), c.ints(0, 0)
	c.args.Episodes, c.args.Ticks, c.args.Anchors = c.ints(7, 7), c.ints(7, 7), c.ints(7, 7)
	for range 2 {
		c.args.Streams = append(c.args.Streams, ops.DrawStream{Starts: c.ints(7, 7), Lengths: c.ints(7, 7), Offsets: c.ints(0, 1, 2, 3)})
	}
	return c
}

type drawMisuse struct {
	name, arg string
	kind      error
	spoil     func(*drawCall)
	plan      bool // only the plan refuses it
}

func drawMisuses() (all []drawMisuse) {
	add := func(name, arg string, kind error, spoil func(*drawCall)) {
		all = append(all, drawMisuse{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	for _, slot := range []struct {
		name     string
		n        int
		made, no bool // by the call if it is missing; optional
		at       func(*ops.DrawArgs) **tensor.Tensor
	}{
		{"Episodes", 2, true, true, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Episodes }},
		{"Ticks", 2, true, true, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Ticks }},
		{"Anchors", 2, true, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Anchors }},
		{"Cursor", 2, false, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Cursor }},
		{"Streams[1].Starts", 2, true, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Streams[1].Starts }},
		{"Streams[0].Lengths", 2, true, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Streams[0].Lengths }},
		{"Streams[1].Offsets", 4, false, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Streams[1].Offsets }},
		{"Windows", 4, false, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Windows }},
		{"Begins", 3, false, false, func(a *ops.DrawArgs) **tensor.Tensor { return &a.Begins }},
	} {
		set := func(what string, kind error, make func(*drawCall) *tensor.Tensor) {
			add(slot.name+" "+what, slot.name, kind, func(c *drawCall) { *slot.at(&c.args) = make(c) })
		}
		set("closed", ops.ErrClosed, func(c *drawCall) *tensor.Tensor { return c.closed(tensor.I64, slot.n) })
		set("of another device", ops.ErrWrongDevice, func(c *drawCall) *tensor.Tensor { return c.foreign(tensor.I64, slot.n) })
		set("of i32", ops.ErrDType, func(c *drawCall) *tensor.Tensor { return c.new(tensor.I32, slot.n) })
		set("not contiguous", ops.ErrStride, func(c *drawCall) *tensor.Tensor { return c.apart(tensor.I64, slot.n) })
		set("of rank 2", ops.ErrShape, func(c *drawCall) *tensor.Tensor { return c.new(tensor.I64, 1, slot.n) })
		set("of rank 0", ops.ErrShape, func(c *drawCall) *tensor.Tensor { return c.put(packed(tensor.I64, []uint64{0})) })
		if slot.name != "Windows" { // which decides the others' length
			set("too long", ops.ErrShape, func(c *drawCall) *tensor.Tensor { return c.new(tensor.I64, slot.n+1) })
		}
		if !slot.no {
			set("missing", ops.ErrMissing, func(*drawCall) *tensor.Tensor { return nil })
			all[len(all)-1].plan = slot.made
		}
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
	add("a cursor among the outputs", "Anchors", ops.ErrOverlap, func(c *drawCall) { c.args.Anchors = c.args.Cursor })
	add("an output that is an input", "Streams[1].Lengths", ops.ErrOverlap, func(c *drawCall) {
		c.args.Streams[1].Lengths = tensor.Must(c.args.Begins.Slice(0, 0, 2))
	})
	add("a cursor in a table", "Cursor", ops.ErrOverlap, func(c *drawCall) { c.args.Cursor = tensor.Must(c.args.Streams[0].Offsets.Slice(0, 2, 4)) })
	return all
}

// drawMisuse: every wrong call is a typed error that names the argument before anything is written.
func (s *suite) drawMisuse(t *testing.T) {
	p := &placed{dev: s.dev}
	defer func() { assert.NoError(t, p.close()) }()
	for _, m := range drawMisuses() {
		check := func(form string, c *drawCall, run func() error) {
			m.spoil(c)
			s.refused(t, m.name+", "+form, "Draw", m.arg, m.kind, run, c.args.Episodes, c.args.Ticks, c.args.Anchors, c.args.Cursor)
		}
		c := newDrawCall(p.put)
		check("plan", c, func() error { _, err := s.dev.PlanDraw(c.args, c.opts); return err })
		if !m.plan {
			c := newDrawCall((*array).host)
			check("call", c, func() error { _, err := s.dev.Draw(context.Background(), c.args, c.opts); return err })
		}
	}
	require.NoError(t, p.err)
	c := newDrawCall((*array).host)
	out, err := s.dev.Draw(context.Background(), c.args, c.opts)
	require.NoError(t, err, "the call that was spoiled")
	assert.Equal(t, ops.DrawResult{Episodes: c.args.Episodes, Ticks: c.args.Ticks, Anchors: c.args.Anchors, Streams: c.args.Streams}, out, "a call that makes nothing returns what it was given")
	assert.Equal(t, []uint64{0, 2}, bitsOf(c.args.Cursor))
	_, err = ops.ParseLastBatch("some")
	assert.ErrorIs(t, err, ops.ErrOption)
}
