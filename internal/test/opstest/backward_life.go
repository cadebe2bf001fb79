package opstest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// gradientLife: a plan runs again with other gradients, in a batch and in a graph, allocates nothing, and says what is closed.
func (s *suite) gradientLife(t *testing.T) {
	times, grad := s.upload(t, arr([]int64{0, 10, 20}, 3)), s.upload(t, vals(tensor.F32, []float64{1, 2, 4, 8}, 4, 1))
	targets, out := s.upload(t, arr([]int64{0, 5, 20, 25}, 4)), s.alloc(t, tensor.F32, 3, 1)
	args := ops.ResampleBackwardArgs{SrcGrad: out, DstGrad: grad, SrcTimes: times, Targets: ops.At(targets)}
	plan, err := s.dev.PlanResampleBackward(args, ops.ResampleOptions{})
	require.NoError(t, err)
	st := s.stream(t)
	look := func(scale float64) {
		t.Helper()
		require.NoError(t, st.Synchronize(background))
		assert.Equal(t, vals(tensor.F32, []float64{2 * scale, scale, 12 * scale}, 3).raw, s.read(t, out))
	}
	require.NoError(t, plan.Run(st))
	look(1)
	require.NoError(t, s.dev.Copy(context.Background(), grad, vals(tensor.F32, []float64{3, 6, 12, 24}, 4, 1).host()))
	batch, err := s.dev.PlanBatch([]*ops.Plan{plan}, ops.BatchOptions{})
	require.NoError(t, err)
	require.NoError(t, batch.Run(st))
	look(3)
	require.NoError(t, s.dev.Copy(context.Background(), grad, vals(tensor.F32, []float64{2, 4, 8, 16}, 4, 1).host()))
	graph, err := st.Capture(func() error { return plan.Run(st) })
	require.NoError(t, err)
	require.NoError(t, graph.Launch(st))
	look(2)
	assert.Zero(t, fewestAllocations(t, st, func() error { return plan.Run(st) }), "Run allocates")
	other, err := s.dev.PlanResampleBackward(args, ops.ResampleOptions{})
	require.NoError(t, err)
	_, err = s.dev.PlanBatch([]*ops.Plan{plan, other}, ops.BatchOptions{})
	assert.ErrorIs(t, err, ops.ErrOverlap, "two that write one gradient")
	require.NoError(t, s.dev.Copy(context.Background(), targets, arr([]int64{0, 5, 4, 25}, 4).host()))
	for range 2 {
		require.NoError(t, plan.Run(st))
		wantFault(t, st.Synchronize(background), ops.ErrUnsorted, 0, 2)
	}
	require.NoError(t, grad.Close())
	var e *ops.ArgError
	if assert.True(t, errors.As(plan.Run(st), &e)) {
		assert.Equal(t, [2]string{"ResampleBackward", "DstGrad"}, [2]string{e.Op, e.Arg})
	}
	for _, c := range []interface{ Close() error }{graph, batch, other, plan, times, targets, out} {
		assert.NoError(t, c.Close())
	}
}
