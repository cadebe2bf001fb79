package sim_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// What fills a grid and what then writes it point by point ask for the same division of a multiprocessor's memory, so that they run side by side; whatever
// was planned before, other chains ask for none.
func TestOnlyGridsThatAreWrittenPreferSharedMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dev, d := device(t, cudasim.Config{})
	up := func(x *tensor.Tensor) *tensor.Tensor {
		out, err := dev.Upload(context.Background(), x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, out.Close()) })
		return out
	}
	points, features := up(tensor.Must(tensor.New(tensor.F32, 40, 3))), up(tensor.Must(tensor.New(tensor.F32, 40, 2)))
	box := ops.VoxelGrid{Max: [3]float64{32, 32, 32}, Size: [3]float64{1, 1, 1}}
	plan := func(dtype tensor.DType, args ops.VoxelizeArgs, reduce ops.Reduce, last ...int) *ops.VoxelizePlan {
		args.Points, args.Grid = points, up(tensor.Must(tensor.New(dtype, append([]int{32, 32, 32}, last...)...)))
		p, err := dev.PlanVoxelize(args, box, ops.VoxelizeOptions{Reduce: reduce})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		return p
	}
	before := plan(tensor.F32, ops.VoxelizeArgs{Features: features}, ops.ReduceMean, 2)
	count := plan(tensor.I32, ops.VoxelizeArgs{}, ops.ReduceCount)
	after := plan(tensor.F32, ops.VoxelizeArgs{Features: features}, ops.ReduceMean, 2)
	for _, x := range []struct {
		plan *ops.VoxelizePlan
		want int
	}{{count, 100}, {before, -1}, {after, -1}, {count, 100}} {
		var kernels []string
		d.Watch(func(l *cudasim.Launch) {
			kernels = append(kernels, l.Kernel)
			assert.Equal(t, x.want, l.Prefers, l.Kernel)
		})
		require.NoError(t, x.plan.Run(dev.Queue()))
		require.NoError(t, dev.Synchronize(context.Background()))
		d.Watch(nil)
		assert.Equal(t, x.want == 100, slices.Equal([]string{"voxel_write_fill", "voxel_write"}, kernels), kernels)
	}
}
