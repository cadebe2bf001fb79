package cuda_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/tensor"
)

// Few points are brought together as many are, and nothing changes.
func TestGatheringChangesNoResult(t *testing.T) {
	eachDevice(t, func(t *testing.T, b ops.Backend, simulated bool) {
		cuda.GatherAll(b)
		dev, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dev.Close()) })
		config := opstest.Config{Slow: 20, Only: map[string]bool{"voxel-named": true, "voxel-generated": true, "voxel-properties": true}}
		if !simulated {
			config = opstest.Config{Slow: 4, Only: map[string]bool{"voxel": true}, Skip: map[string]bool{"voxel-misuse": true, "voxel-life": true, "voxel-sorted": true}}
		}
		opstest.Run(t, dev, config)
	})
}

// What a run that was not launched whole has left in the table does not show in the next.
func TestABrokenRunLeavesNothing(t *testing.T) {
	t.Run("sim", func(t *testing.T) { testBroken(t, cudasim.New(cudasim.Config{}).Table()) })
	t.Run("cuda", func(t *testing.T) {
		gputest.Require(t)
		table, err := cudadrv.SystemTable()
		require.NoError(t, err)
		testBroken(t, table)
	})
}

func testBroken(t *testing.T, table *cudadrv.Table) {
	for n := 1; n <= 4; n++ { // the launches of a mean
		broken, in := cudasim.Inject(table, cudasim.Failure{
			Match: func(call string) bool { return strings.HasPrefix(call, "cuLaunchKernel") }, N: n, Code: cudadrv.ErrOutOfMemory,
		})
		drv, err := cudadrv.NewDriver(broken)
		require.NoError(t, err)
		b, err := cuda.New(drv, 0)
		require.NoError(t, err)
		dev, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dev.Close()) })
		up := func(x *tensor.Tensor) *tensor.Tensor {
			out, err := dev.Upload(x)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, out.Close()) })
			return out
		}
		points := up(tensor.Must(tensor.Of([]float32{.5, .5, .5, .5, .5, .5, 1.5, .5, .5}, 3, 3)))
		features := up(tensor.Must(tensor.Of([]float32{1, 5, 7}, 3, 1)))
		grid := up(tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1)))
		box := ops.VoxelGrid{Max: [3]float64{3, 1, 1}, Size: [3]float64{1, 1, 1}}
		p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Points: points, Features: features, Grid: grid}, box, ops.VoxelizeOptions{Reduce: ops.ReduceMean})
		require.NoError(t, err)
		require.ErrorIs(t, p.Run(dev.Stream()), cudadrv.ErrOutOfMemory)
		require.Len(t, in.Hits(), 1)
		for range 2 {
			require.NoError(t, p.Run(dev.Stream()))
			require.NoError(t, dev.Synchronize(context.Background()))
			got := tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1))
			require.NoError(t, dev.Copy(got, grid))
			assert.Equal(t, []float32{3, 7, 0}, floats(t, got), "launch %d failed", n)
		}
		require.NoError(t, p.Close())
	}
}
