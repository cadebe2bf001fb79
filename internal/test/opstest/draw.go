package opstest

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawing is a case for Draw: the tables of a store, and the number of batches that are drawn one after the other.
type drawing struct {
	Name    string
	Counts  []int64   // windows in each episode
	Begins  []int64   // first anchor of each episode
	Samples [][]int64 // samples in each episode, by stream
	Opts    ops.DrawOptions
	From    ops.Cursor
	Batches int  // number of batches
	Bare    bool // without the outputs Episodes, Ticks and Keys

	Windows *array   // if set, used in place of the sums of Counts
	Offsets []*array // if set, used in place of the sums of Samples
}

// drawParts returns the tests for Draw.
func drawParts() parts {
	return parts{
		"named":     (*suite).drawNamed,
		"values":    (*suite).drawValues,
		"golden":    (*suite).drawGolden,
		"generated": generated("draw"),
		"order":     (*suite).drawOrder,
	}
}

// sums returns offsets for counts: the sum of the counts before each, and the total at the end.
func sums(counts []int64) []int64 {
	out := make([]int64, len(counts)+1)
	for i, n := range counts {
		out[i+1] = out[i] + n
	}
	return out
}

// ready fills in the fields that can be computed from others.
func (c *drawing) ready() *drawing {
	n := sums(c.Counts)
	if c.Opts.Count == 0 {
		c.Opts.Count = int(n[len(n)-1])
	}
	if c.Opts.Rate == 0 {
		c.Opts.Rate = 50
	}
	if c.Begins == nil {
		c.Begins = make([]int64, len(c.Counts))
	}
	if c.Windows == nil {
		c.Windows = arr(n, len(n))
	}
	if c.Offsets == nil {
		for _, samples := range c.Samples {
			c.Offsets = append(c.Offsets, arr(sums(samples), len(n)))
		}
	}
	c.Batches = max(c.Batches, 1)
	return c
}

// batch has the outputs of one call that tests compare.
type batch struct {
	Cursor                   [2]int64
	Episodes, Ticks, Anchors []int64
	Keys                     []int64 // two for each row
	Starts, Lengths          [][]int64
}

func int64s(raw []uint64) []int64 {
	out := make([]int64, len(raw))
	for i, b := range raw {
		out[i] = int64(b)
	}
	return out
}

// args returns the inputs of Draw as tensors made by put.
func (c *drawing) args(put func(*array) *tensor.Tensor) ops.DrawArgs {
	a := ops.DrawArgs{Windows: put(c.Windows), Begins: put(arr(c.Begins, len(c.Begins)))}
	for _, o := range c.Offsets {
		a.Streams = append(a.Streams, ops.DrawStream{Offsets: put(o)})
	}
	return a
}

// place is a named field for a tensor in an operation's arguments.
type place struct {
	name string
	at   **tensor.Tensor
}

// outputs returns the places of the outputs; the first is the cursor.
func (c *drawing) outputs(a *ops.DrawArgs) []place {
	out := []place{{"Cursor", &a.Cursor}, {"Anchors", &a.Anchors}}
	for m := range a.Streams {
		out = append(out, place{fmt.Sprintf("Streams[%d].Starts", m), &a.Streams[m].Starts}, place{fmt.Sprintf("Streams[%d].Lengths", m), &a.Streams[m].Lengths})
	}
	if c.Bare {
		return out
	}
	return append(out, place{"Episodes", &a.Episodes}, place{"Ticks", &a.Ticks}, place{"Keys", &a.Keys})
}

func (c *drawing) plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put)
	for i, to := range c.outputs(&args) {
		shape, begin := []int{c.Opts.Batch}, []uint64(nil)
		switch to.name {
		case "Keys":
			shape = append(shape, 2)
		case "Cursor":
			shape, begin = []int{2}, []uint64{uint64(c.From.Epoch), uint64(c.From.Taken)}
		}
		*to.at = p.out(to.name, spaced(tensor.I64, shape, 0, 0, l.sideOffset+i%3), l.end, begin...)
	}
	opts := c.Opts
	opts.Launch = mode
	return p.dev.PlanDraw(args, opts)
}

// call draws the batches one after the other, each into new memory, and returns the last.
func (c *drawing) call(dev *ops.Device) (r *result, err error) {
	args := c.args((*array).host)
	args.Cursor = arr([]int64{c.From.Epoch, c.From.Taken}, 2).host()
	for range c.Batches {
		out, err := dev.Draw(context.Background(), args, c.Opts)
		if err != nil {
			return nil, err
		}
		tensors := map[string]*tensor.Tensor{}
		for _, x := range c.outputs(&ops.DrawArgs{Cursor: args.Cursor, Episodes: out.Episodes, Ticks: out.Ticks, Keys: out.Keys, Anchors: out.Anchors, Streams: out.Streams}) {
			tensors[x.name] = *x.at
		}
		r = resultOf(tensors)
	}
	r.round = c.Batches - 1
	return r, nil
}

func (c *drawing) name() string { return c.Name }

func (c *drawing) traits() traits {
	return traits{exact: true, runs: c.Batches, modes: []ops.LaunchMode{ops.LaunchDefault, ops.LaunchDependent, ops.LaunchInputsReady}}
}

func (c *drawing) describe() string {
	o := c.Opts
	return fmt.Sprintf("episodes=%d streams=%d windows=%d from=%v batch=%d rate=%v ranks=%d/%d last=%v shuffle=%v trust=%v shards=%d,%d positions=%d sources=%d bare=%v", len(c.Counts), len(c.Offsets), o.Count,
		c.From != ops.Cursor{}, o.Batch, o.Rate, o.Rank, o.Ranks, o.Last, o.Shuffle, o.TrustTables, o.ShardWindows, o.MixShards, o.Positions, len(o.Sources), c.Bare)
}

func (c *drawing) solve(*suite) (*ops.ValueError, func(*result) string) {
	want, fault := solveDrawing(c)
	return fault, func(got *result) string {
		if msg := got.differAny(c.bits(want[got.round])); msg != "" {
			return fmt.Sprintf("batch %d: %s", got.round, msg)
		}
		return ""
	}
}

// bits returns the outputs of a batch by name.
func (c *drawing) bits(b *batch) map[string][]uint64 {
	all := map[string][]int64{"Cursor": b.Cursor[:], "Anchors": b.Anchors}
	if !c.Bare {
		all["Episodes"], all["Ticks"], all["Keys"] = b.Episodes, b.Ticks, b.Keys
	}
	for m := range b.Starts {
		all[fmt.Sprintf("Streams[%d].Starts", m)], all[fmt.Sprintf("Streams[%d].Lengths", m)] = b.Starts[m], b.Lengths[m]
	}
	bits := map[string][]uint64{}
	for name, list := range all {
		bits[name] = arr(list, len(list)).raw
	}
	return bits
}
