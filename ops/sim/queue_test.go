package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// A kernel that the test holds back shows what waits for it and what does not.
func TestQueuesWaitForWhatTheyWereToldToAndForNothingElse(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	ctx := context.Background()
	dev, d := device(t, cudasim.Config{})
	gate := make(chan struct{})
	d.Watch(func(*cudasim.Launch) { <-gate })
	defer d.Watch(nil)

	up := func(x *tensor.Tensor) *tensor.Tensor {
		y, err := dev.Upload(ctx, x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, y.Close()) })
		return y
	}
	seven := up(tensor.Must(tensor.Of([]float32{7, 7}, 2, 1)))
	args := ops.ResampleArgs{Dst: up(tensor.Must(tensor.New(tensor.F32, 3, 1))), Src: seven, SrcTimes: up(tensor.Must(tensor.Of([]int64{0, 10}, 2))), Targets: ops.Uniform(0, 1e8, 3)}
	plan, err := dev.PlanResample(args, ops.ResampleOptions{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, plan.Close()) }()

	type lane struct {
		*ops.Queue
		mark *ops.Mark
		out  *tensor.Tensor
	}
	var lanes [3]lane
	for i := range lanes {
		q, err1 := dev.NewQueue()
		m, err2 := dev.NewMark()
		out, err3 := dev.AllocHost(tensor.F32, 2, 1)
		require.NoError(t, errors.Join(err1, err2, err3))
		lanes[i] = lane{q, m, out}
		defer func() { assert.NoError(t, errors.Join(q.Close(), m.Close(), out.Close())) }()
	}
	held, waits, free := lanes[0], lanes[1], lanes[2]

	require.NoError(t, held.Copy(held.out, seven))
	require.NoError(t, held.Mark(held.mark))
	require.NoError(t, plan.Run(held.Queue))
	require.NoError(t, waits.After(held.Queue))
	require.NoError(t, waits.Copy(waits.out, seven))
	require.NoError(t, waits.Mark(waits.mark))
	require.NoError(t, free.After(held.mark))
	require.NoError(t, free.Copy(free.out, seven))
	require.NoError(t, free.Mark(free.mark))
	require.NoError(t, plan.Run(free.Queue))

	soon, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, waits.mark.Wait(soon), context.DeadlineExceeded, "it was to wait for the kernel")
	for _, l := range []lane{held, free} { // the marks stand before the kernels
		require.NoError(t, l.mark.Wait(ctx))
		got, err := tensor.Data[float32](l.out)
		require.NoError(t, err)
		assert.Equal(t, []float32{7, 7}, got)
	}
	close(gate)
	require.NoError(t, waits.mark.Wait(ctx))
	got, err := tensor.Data[float32](waits.out)
	require.NoError(t, err)
	assert.Equal(t, []float32{7, 7}, got)
	require.NoError(t, errors.Join(held.Synchronize(ctx), waits.Synchronize(ctx), free.Synchronize(ctx)))
}

// A tensor that is closed while a copy of it is queued costs the device, as it would a real one: no byte is read from memory that is gone.
func TestATensorClosedUnderACopyIsFound(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	d := cudasim.New(cudasim.Config{})
	b, err := sim.New(d)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	d.Watch(func(*cudasim.Launch) { time.Sleep(2 * time.Millisecond) })
	ctx := context.Background()
	src, err := dev.Upload(ctx, tensor.Must(tensor.New(tensor.F32, 2, 1)))
	require.NoError(t, err)
	times, err := dev.Upload(ctx, tensor.Must(tensor.Of([]int64{0, 10}, 2)))
	require.NoError(t, err)
	dst, err := dev.Alloc(tensor.F32, 3, 1)
	require.NoError(t, err)
	plan, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.Uniform(0, 1e8, 3)}, ops.ResampleOptions{})
	require.NoError(t, err)
	gone, err := dev.Alloc(tensor.F32, 2, 1)
	require.NoError(t, err)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for range 10 { // between two of which the memory is freed
		require.NoError(t, plan.Run(q))
	}
	require.NoError(t, q.Copy(gone, src))
	require.NoError(t, gone.Close())
	err = q.Synchronize(ctx)
	assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	assert.ErrorContains(t, err, "use after free")
	for _, c := range []interface{ Close() error }{plan, src, times, dst} {
		assert.NoError(t, c.Close())
	}
	assert.ErrorIs(t, errors.Join(q.Close(), dev.Close()), cudadrv.ErrDeviceLost)
}
