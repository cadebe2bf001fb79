package opstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// drawLife runs what is about plans, graphs and their ends.
func (s *suite) drawLife(t *testing.T) {
	t.Run("a graph goes on by itself", s.drawGraphs)
	t.Run("plans that share a cursor take turns", s.drawTurns)
	t.Run("a batch of plans", s.drawBatch)
	t.Run("Run and Launch allocate nothing", s.drawAllocations)
	t.Run("faults are reported once, and a cursor put right goes on", s.drawFaults)
	t.Run("what is closed says so", s.drawClosed)
}

// drawRig is a plan on device tensors for a case.
type drawRig struct {
	*drawing
	p    *placed
	args ops.DrawArgs
	plan *ops.Plan
}

// drawRig makes a plan; one with a cursor takes that in place of its own.
func (s *suite) drawRig(t *testing.T, c drawing, cursor *tensor.Tensor) *drawRig {
	t.Helper()
	r := &drawRig{drawing: c.ready(), p: &placed{dev: s.dev}}
	r.args = c.args(r.p.put)
	for i, to := range c.outputs(&r.args) {
		switch {
		case i > 0:
			*to.at = r.p.put(arr(make([]int64, c.Opts.Batch), c.Opts.Batch))
		case cursor != nil:
			*to.at = cursor
		default:
			*to.at = r.p.put(arr([]int64{c.From.Epoch, c.From.Taken}, 2))
		}
	}
	require.NoError(t, r.p.err)
	var err error
	r.plan, err = s.dev.PlanDraw(r.args, c.Opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, r.plan.Close())
		assert.NoError(t, r.p.close())
	})
	return r
}

// check compares what is there with batch k of the case.
func (r *drawRig) check(t *testing.T, s *suite, k int, what string) {
	t.Helper()
	c := *r.drawing
	c.Batches = k + 1
	want, wrong := solveDrawing(&c)
	require.Nil(t, wrong)
	written := map[string]*tensor.Tensor{}
	for _, x := range c.outputs(&r.args) {
		written[x.name] = packed((*x.at).DType(), s.read(t, *x.at), (*x.at).Shape()...).host()
	}
	assert.Empty(t, resultOf(written).differAny(c.bits(want[k])), "%s, batch %d", what, k)
}

var drawStore = drawing{Counts: []int64{40, 0, 1, 25, 0, 35}, Begins: []int64{5, 4, 3, 2, 1, 0}, Samples: [][]int64{{4, 5, 6, 7, 8, 9}, {0, 3, 0, 1, 2, 5}},
	Opts: ops.DrawOptions{Batch: 31, Shuffle: true, Seed: 5}}

func (s *suite) drawGraphs(t *testing.T) {
	for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchDependent} {
		for _, b := range []int{3, 31} { // one block, and several
			c := drawStore
			c.Opts.Batch, c.Opts.Launch = b, mode
			r, st := s.drawRig(t, c, nil), s.stream(t)
			graph, err := st.Capture(func() error { return r.plan.Run(st) })
			require.NoError(t, err)
			twice, err := st.Capture(func() error { return firstError(r.plan.Run(st), r.plan.Run(st)) })
			require.NoError(t, err)
			r.checkNothing(t, s)
			k := 0
			for i, run := range []func() error{func() error { return graph.Launch(st) }, func() error { return graph.Launch(st) }, func() error { return r.plan.Run(st) },
				func() error { return graph.Launch(st) }, func() error { return twice.Launch(st) }, func() error { return twice.Launch(st) }, func() error { return graph.Launch(st) }} {
				require.NoError(t, run())
				require.NoError(t, st.Synchronize(background))
				if k++; i == 4 || i == 5 {
					k++
				}
				r.check(t, s, k-1, fmt.Sprintf("%v, %d rows, run %d", mode, b, i))
			}
			require.NoError(t, graph.Close())
			require.NoError(t, twice.Close())
		}
	}
}

// checkNothing: what was captured has not run.
func (r *drawRig) checkNothing(t *testing.T, s *suite) {
	t.Helper()
	assert.Equal(t, []uint64{0, 0}, s.read(t, r.args.Cursor))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// drawTurns: of two plans with one cursor each draws the batch that follows the other's.
func (s *suite) drawTurns(t *testing.T) {
	one, st := s.drawRig(t, drawStore, nil), s.stream(t)
	two := s.drawRig(t, drawStore, one.args.Cursor)
	for k := range 4 {
		require.NoError(t, one.plan.Run(st))
		require.NoError(t, two.plan.Run(st))
		require.NoError(t, st.Synchronize(background))
		two.check(t, s, 2*k+1, "the second")
		first := *one
		first.args.Cursor = s.upload(t, arr([]int64{int64(2 * k / 3), int64(2*k%3+1) * 31}, 2))
		first.check(t, s, 2*k, "the first")
		require.NoError(t, first.args.Cursor.Close())
	}
	_, err := s.dev.PlanBatch([]*ops.Plan{one.plan, two.plan}, ops.BatchOptions{})
	assert.ErrorIs(t, err, ops.ErrOverlap, "they have no order in a batch")
}

func (s *suite) drawBatch(t *testing.T) {
	var rigs []*drawRig
	var plans []*ops.Plan
	for i := range 9 {
		c := drawStore
		c.Opts.Seed, c.Opts.Batch = uint64(i), 1+7*i
		r := s.drawRig(t, c, nil)
		rigs, plans = append(rigs, r), append(plans, r.plan)
	}
	m, st := s.planBatch(t, plans, 4), s.stream(t)
	for k := range 3 {
		require.NoError(t, m.Run(st))
		require.NoError(t, st.Synchronize(background))
		for i, r := range rigs {
			r.check(t, s, k, fmt.Sprint("plan ", i))
		}
	}
}

func (s *suite) drawAllocations(t *testing.T) {
	r, st := s.drawRig(t, drawStore, nil), s.stream(t)
	graph, err := st.Capture(func() error { return r.plan.Run(st) })
	require.NoError(t, err)
	assert.Zero(t, fewestAllocations(t, st, func() error { return r.plan.Run(st) }), "Run")
	assert.Zero(t, fewestAllocations(t, st, func() error { return graph.Launch(st) }), "Launch")
	require.NoError(t, graph.Close())
}

func (s *suite) drawFaults(t *testing.T) {
	r, st := s.drawRig(t, drawStore, nil), s.stream(t)
	require.NoError(t, s.dev.Copy(context.Background(), r.args.Begins, arr([]int64{0, 0, 0, 1<<62 + 5, 0, 0}, 6).host()))
	require.NoError(t, r.plan.Run(st))
	err := st.Synchronize(background)
	wantFault(t, err, ops.ErrTimeRange, 3, 0)
	assert.ErrorContains(t, err, "ops.Draw: Begins: ")
	require.NoError(t, st.Synchronize(background), "the same error twice")
	require.NoError(t, s.dev.Copy(context.Background(), r.args.Begins, arr(r.Begins, 6).host()))
	require.NoError(t, s.dev.Copy(context.Background(), r.args.Cursor, arr([]int64{0, 0}, 2).host()))
	for k := range 2 {
		require.NoError(t, r.plan.Run(st))
		require.NoError(t, st.Synchronize(background))
		r.check(t, s, k, "after a fault")
	}
}

func (s *suite) drawClosed(t *testing.T) {
	r, st := s.drawRig(t, drawStore, nil), s.stream(t)
	require.NoError(t, r.p.open[3].Close()) // the second stream's offsets, behind Windows, Begins and the first's
	err := r.plan.Run(st)
	assert.ErrorIs(t, err, ops.ErrClosed)
	assert.ErrorContains(t, err, "Streams[1].Offsets")
	require.NoError(t, r.plan.Close())
	require.NoError(t, r.plan.Close(), "twice is fine")
	assert.ErrorIs(t, r.plan.Run(st), ops.ErrClosed)
	dev, err := ops.Open(s.dev.Name())
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	_, err = dev.Draw(context.Background(), ops.DrawArgs{}, ops.DrawOptions{})
	assert.ErrorIs(t, err, ops.ErrClosed)
	_, err = dev.PlanDraw(ops.DrawArgs{}, ops.DrawOptions{})
	assert.ErrorIs(t, err, ops.ErrClosed)
}
