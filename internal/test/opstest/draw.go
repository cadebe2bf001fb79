package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawing is a case of Draw: a store, and the batches that are drawn from it one after the other.
type drawing struct {
	Name    string
	Counts  []int64   // windows of each episode
	Begins  []int64   // of each episode
	Samples [][]int64 // of each episode, by stream
	Opts    ops.DrawOptions
	From    ops.Cursor
	Batches int  // that are drawn
	Bare    bool // without Episodes and Ticks

	Windows *array   // in place of Counts' sums
	Offsets []*array // in place of the sums of Samples
}

// draw runs the parts of the suite that are about Draw.
func (s *suite) draw(t *testing.T) {
	s.parts(t, "draw", []group{
		{"named", (*suite).drawNamed},
		{"misuse", (*suite).drawMisuse},
		{"values", (*suite).drawValues},
		{"golden", (*suite).drawGolden},
		{"generated", (*suite).drawGenerated},
		{"order", (*suite).drawOrder},
		{"life", (*suite).drawLife},
	})
}

// sums are offsets: the sum of what is before each, and the whole.
func sums(counts []int64) []int64 {
	out := make([]int64, len(counts)+1)
	for i, n := range counts {
		out[i+1] = out[i] + n
	}
	return out
}

// ready fills in what the case leaves to be counted.
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

// batch is what one run wrote.
type batch struct {
	Cursor                   [2]int64
	Episodes, Ticks, Anchors []int64
	Starts, Lengths          [][]int64
}

func int64s(raw []uint64) []int64 {
	out := make([]int64, len(raw))
	for i, b := range raw {
		out[i] = int64(b)
	}
	return out
}

// args puts the inputs somewhere.
func (c *drawing) args(put func(*array) *tensor.Tensor) ops.DrawArgs {
	a := ops.DrawArgs{Windows: put(c.Windows), Begins: put(arr(c.Begins, len(c.Begins)))}
	for _, o := range c.Offsets {
		a.Streams = append(a.Streams, ops.DrawStream{Offsets: put(o)})
	}
	return a
}

// drawOuts are the places of what is written, the cursor first; Episodes and Ticks come last.
func drawOuts(a *ops.DrawArgs) []**tensor.Tensor {
	out := []**tensor.Tensor{&a.Cursor, &a.Anchors}
	for m := range a.Streams {
		out = append(out, &a.Streams[m].Starts, &a.Streams[m].Lengths)
	}
	return append(out, &a.Episodes, &a.Ticks)
}

// batchOf takes what was written, in drawOuts' order.
func (c *drawing) batchOf(written [][]int64) *batch {
	b := &batch{Cursor: [2]int64(written[0]), Anchors: written[1]}
	for m := range c.Offsets {
		b.Starts, b.Lengths = append(b.Starts, written[2+2*m]), append(b.Lengths, written[3+2*m])
	}
	if !c.Bare {
		b.Episodes, b.Ticks = written[len(written)-2], written[len(written)-1]
	}
	return b
}

// plan draws the batches by one plan on device tensors, with guards around all that it writes.
func (c *drawing) plan(dev *ops.Device) (all []*batch, kernels []string, err error) {
	p := &placed{dev: dev}
	args := c.args(p.put)
	defer func() { err = errors.Join(err, p.close()) }()
	if p.err != nil {
		return nil, nil, p.err
	}
	var outs []*guarded
	places := drawOuts(&args)
	if c.Bare {
		places = places[:len(places)-2]
	}
	for i, to := range places {
		shape := []int{c.Opts.Batch}
		if i == 0 {
			shape = []int{2}
		}
		g, err := guard(dev, tensor.I64, shape, []int{1}, 1+i%3, 5)
		if err != nil {
			return nil, nil, err
		}
		p.open = append(p.open, g.base)
		outs, *to = append(outs, g), g.view
	}
	if err := dev.Copy(context.Background(), args.Cursor, arr([]int64{c.From.Epoch, c.From.Taken}, 2).host()); err != nil {
		return nil, nil, err
	}
	plan, err := dev.PlanDraw(args, c.Opts)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	for range c.Batches {
		if err := plan.Run(dev.Queue()); err != nil {
			return nil, nil, fmt.Errorf("Run: %w", err)
		}
		if err := dev.Synchronize(context.Background()); err != nil {
			return nil, nil, err
		}
		var written [][]int64
		for _, g := range outs {
			raw, err := g.read(dev)
			if err != nil {
				return nil, nil, err
			}
			written = append(written, int64s(raw))
		}
		all = append(all, c.batchOf(written))
	}
	return all, kernelsOf(plan), nil
}

// call draws the batches by the convenient form, on host tensors, each into memory that the call makes.
func (c *drawing) call(dev *ops.Device) (all []*batch, err error) {
	args := c.args((*array).host)
	args.Cursor = arr([]int64{c.From.Epoch, c.From.Taken}, 2).host()
	for range c.Batches {
		out, err := dev.Draw(context.Background(), args, c.Opts)
		if err != nil {
			return nil, err
		}
		var written [][]int64
		made := ops.DrawArgs{Cursor: args.Cursor, Episodes: out.Episodes, Ticks: out.Ticks, Anchors: out.Anchors, Streams: out.Streams}
		for _, x := range drawOuts(&made) {
			written = append(written, int64s(bitsOf(*x)))
		}
		all = append(all, c.batchOf(written))
	}
	return all, nil
}

// drawn runs the case in both forms, and as a plan in every launch mode.
func (s *suite) drawn(t *testing.T, c *drawing) {
	t.Helper()
	c.ready()
	want, wrong := solveDrawing(c)
	verify := func(form string, got []*batch, err error, kernels []string) {
		if msg := differBatches(want, wrong, got, err); msg != "" {
			t.Errorf("%s: %s\ncase: %s%s", form, msg, c.describe(), (&result{kernels: kernels}).by())
		}
	}
	bare := c.Bare
	c.Bare = false
	got, err := c.call(s.dev)
	if c.Bare = bare; bare {
		for _, b := range got {
			b.Episodes, b.Ticks = nil, nil
		}
	}
	verify("call", got, err, nil)
	for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchDependent, ops.LaunchInputsReady} {
		again := *c
		again.Opts.Launch = mode
		got, kernels, err := again.plan(s.dev)
		verify(fmt.Sprintf("plan, launched %v", mode), got, err, kernels)
		if s.cpu == nil {
			break
		}
	}
}

// differBatches says what is wrong with a run, "" for nothing.
func differBatches(want []*batch, wrong *ops.ValueError, got []*batch, err error) string {
	if wrong != nil {
		var e *ops.ValueError
		if !errors.As(err, &e) || *e != *wrong {
			return fmt.Sprintf("got error %v, want %v", err, wrong)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	for k, w := range want {
		g := got[k]
		type column struct {
			name      string
			want, got []int64
		}
		columns := []column{{"Cursor", w.Cursor[:], g.Cursor[:]}, {"Anchors", w.Anchors, g.Anchors}, {"Episodes", w.Episodes, g.Episodes}, {"Ticks", w.Ticks, g.Ticks}}
		for m := range w.Starts {
			columns = append(columns, column{fmt.Sprintf("Streams[%d].Starts", m), w.Starts[m], g.Starts[m]}, column{fmt.Sprintf("Streams[%d].Lengths", m), w.Lengths[m], g.Lengths[m]})
		}
		for _, x := range columns {
			if len(x.want) != len(x.got) {
				return fmt.Sprintf("batch %d, %s: got %d rows, want %d", k, x.name, len(x.got), len(x.want))
			}
			for i := range x.want {
				if x.want[i] != x.got[i] {
					return fmt.Sprintf("batch %d, %s, row %d: got %d, want %d", k, x.name, i, x.got[i], x.want[i])
				}
			}
		}
	}
	return ""
}

func (c *drawing) describe() string {
	return fmt.Sprintf("%s: %d episodes, %d streams, from %+v, %+v", c.Name, len(c.Counts), len(c.Offsets), c.From, c.Opts)
}
