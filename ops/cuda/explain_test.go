package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// resamplePlan makes a plan of b rows of 4 samples onto t targets.
func resamplePlan(t *testing.T, dev *ops.Device, b, targets int) *ops.Plan {
	t.Helper()
	alloc := func(d tensor.DType, shape ...int) *tensor.Tensor {
		out, err := dev.Alloc(d, shape...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, out.Close()) })
		return out
	}
	p, err := dev.PlanResample(ops.ResampleArgs{Dst: alloc(tensor.F32, b, targets, 8), Src: alloc(tensor.F32, b, 4, 8), SrcTimes: alloc(tensor.F32, b, 4),
		Targets: ops.At(alloc(tensor.F32, b, targets))}, ops.ResampleOptions{})
	require.NoError(t, err)
	return p
}

func TestExplainTellsTheLaunchesOfAPlan(t *testing.T) {
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	p := resamplePlan(t, dev, 3, 1000)
	list, err := cuda.Explain(p)
	require.NoError(t, err)
	require.Len(t, list, 1)
	l := list[0]
	assert.Equal(t, "resample_small", l.Kernel)
	// All variants of the operation, in the order in which they are asked; those that cannot make the job say why.
	considered := map[string]string{}
	for _, c := range l.Considered {
		considered[c.Variant] = c.Why
	}
	assert.Equal(t, cuda.Considered{Variant: "resample_small"}, l.Considered[0])
	assert.Len(t, considered, 13)
	assert.Empty(t, considered["resample_fast"])
	assert.NotEmpty(t, considered["resample_f64"])
	assert.Positive(t, l.Grid[0])
	assert.Positive(t, l.Block[0])
	assert.Positive(t, l.Resident)
	assert.Positive(t, l.Waves)
	require.NoError(t, p.Close())
	_, err = cuda.Explain(p)
	assert.ErrorIs(t, err, ops.ErrClosed)

	empty := resamplePlan(t, dev, 3, 0)
	list, err = cuda.Explain(empty)
	require.NoError(t, err)
	require.Len(t, list, 1, "the timestamps are checked")
	assert.Equal(t, "resample", list[0].Kernel)
	assert.Empty(t, list[0].Considered, "one kernel checks")
	assert.Equal(t, uint32(1), list[0].Grid[0])
	require.NoError(t, empty.Close())

	host, err := ops.Open("cpu")
	require.NoError(t, err)
	defer host.Close()
	other := resamplePlan(t, host, 1, 1)
	_, err = cuda.Explain(other)
	assert.ErrorIs(t, err, ops.ErrWrongDevice)
	require.NoError(t, other.Close())
}
