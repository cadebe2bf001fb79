package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/ops/record/replay"
)

// device opens a device on which plans are replayed.
func device(t testing.TB, drv *cudadrv.Driver, kernels string) (*ops.Device, func() int64) {
	b, err := replay.New(drv, 0, kernels)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	return dev, func() int64 {
		require.NoError(t, b.Ctx.Synchronize(context.Background()))
		_, used, err := b.Ctx.PoolInfo()
		require.NoError(t, err)
		return int64(used)
	}
}

// simulated is device on a simulated device of the test's own, which has no machine code.
func simulated(t testing.TB, cfg cudasim.Config) (*ops.Device, func() int64) {
	d := cudasim.New(cfg)
	drv, err := cudadrv.NewDriver(d.FunctionTable())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, d.Leaks(), "left open on the device")
		if f := d.LastFault(); f != nil {
			t.Errorf("the device was lost: %v", f)
		}
	})
	return device(t, drv, "sm_90.ptx")
}

func TestSim(t *testing.T) {
	dev, memory := simulated(t, cudasim.Config{})
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memory, Slow: 60})
}

// The conformance suite as a whole, on a GPU.
func TestGPU(t *testing.T) {
	drv := gputest.Require(t)
	dev, memory := device(t, drv, "")
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memory})
}
