package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuseLife: a plan is made once and runs many times, in a graph too, without allocating; what is closed says so.
func (s *suite) fuseLife(t *testing.T) {
	p := &placed{dev: s.dev}
	c, again := &fuseCall{}, &fuseCall{}
	newFuseCall(maker{p.put}, c)
	require.NoError(t, p.err)
	plan, err := s.dev.PlanFuse(c.args, c.opts)
	require.NoError(t, err)
	c.args.Streams[1].Scale[0] = 5 // copied when the plan was made
	c.args.Streams = nil
	st := s.stream(t)
	run := func() error { return plan.Run(st) }
	require.NoError(t, run())
	require.NoError(t, st.Synchronize(background))
	first := s.read(t, c.args.Dst)
	g, err := st.Capture(run)
	require.NoError(t, err)
	for name, again := range map[string]func() error{"Run": run, "Launch": func() error { return g.Launch(st) }} {
		require.NoError(t, s.dev.Copy(context.Background(), c.args.Dst, tensor.Must(tensor.New(tensor.F32, 2, 4, 11))))
		least := 1e9
		for range 3 { // the runtime itself may allocate at any time
			var failed error
			least = min(least, testing.AllocsPerRun(10, func() { failed = errors.Join(failed, again()) }))
			require.NoError(t, failed)
			require.NoError(t, st.Synchronize(background))
		}
		assert.Zero(t, least, name)
		assert.Equal(t, first, s.read(t, c.args.Dst), name)
	}
	newFuseCall(maker{p.put}, again)
	again.args.Streams[0].SrcLengths = s.upload(t, arr([]int64{3, 2}, 2))
	require.NoError(t, s.dev.Copy(context.Background(), again.args.Streams[1].SrcTimes, tensor.Must(tensor.Of([]float64{0, 1, 3, 2, 4}, 5))))
	bad, err := s.dev.PlanFuse(again.args, again.opts)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, bad.Run(st))
		require.NoError(t, plan.Run(st))
		err := st.Synchronize(background)
		wantFault(t, err, ops.ErrUnsorted, 0, 3)
		assert.ErrorContains(t, err, "ops.Fuse: Streams[1].SrcTimes: ")
		assert.NoError(t, st.Synchronize(background), "the same error twice")
	}
	require.NoError(t, again.args.Streams[0].SrcLengths.Close())
	var e *ops.ArgError
	require.True(t, errors.As(bad.Run(st), &e))
	assert.Equal(t, [2]any{"Streams[0].SrcLengths", ops.ErrClosed}, [2]any{e.Arg, e.Kind})
	require.NoError(t, errors.Join(g.Close(), bad.Close(), plan.Close(), plan.Close()))
	assert.ErrorIs(t, plan.Run(st), ops.ErrClosed)
	require.NoError(t, p.close())
	memory := func() int64 {
		if s.cfg.MemoryInUse == nil {
			return 0
		}
		return s.cfg.MemoryInUse()
	}
	before := int64(0)
	for i := range 51 {
		if i == 1 { // what the last call freed may still be on its way
			before = memory()
		}
		f := &fusing{Name: fmt.Sprint("call ", i), Out: tensor.F32, Streams: []*part{constant(1, 3, 2), {Width: 2}}, Targets: vals(tensor.F64, []float64{0, 1}, 2)}
		f.Streams[0].Times.raw[i%3] = encode(tensor.F64, []float64{0, 1, 2}[i%3]-float64(i%2*2))
		_, err := f.call(s.dev)
		var e *ops.ValueError
		require.True(t, err == nil || errors.As(err, &e), "%v", err)
	}
	assert.LessOrEqual(t, memory(), before, "bytes of device memory in use")
}
