package cpu_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

func outputs(r *ops.VoxelizeResult) []*tensor.Tensor {
	return []*tensor.Tensor{r.Grid, r.Values, r.Coords, r.Counts, r.RowSplits, r.PointVoxel}
}

// A cloud that takes several pieces, lots and passes gives the same bits on one thread and on more, and with its points in another order.
func TestThreadsOfVoxelizeChangeNoResult(t *testing.T) {
	const n = 50_000
	rng := rand.New(rand.NewPCG(5, 6))
	points, labels := make([]float32, 3*n), make([]int32, n)
	for i := range points {
		points[i] = rng.Float32() * 40
		if i >= 3*n/2 {
			points[i] = 20.5 // half of the cloud in one cell
		}
	}
	for i := range labels {
		labels[i] = int32(rng.IntN(50))
	}
	order := rng.Perm(n)
	type input struct {
		points, labels *tensor.Tensor
		features       func(width int, dtype tensor.DType) *tensor.Tensor
	}
	shuffled := func(on bool) input {
		at := func(i int) int {
			if on {
				return order[i]
			}
			return i
		}
		p, l := make([]float32, 3*n), make([]int32, n)
		for i := range n {
			copy(p[3*i:3*i+3], points[3*at(i):])
			l[i] = labels[at(i)]
		}
		return input{tensor.Must(tensor.Of(p, n, 3)), tensor.Must(tensor.Of(l, n)), func(width int, dtype tensor.DType) *tensor.Tensor {
			r := rand.New(rand.NewPCG(7, uint64(width)))
			var some [1000]float32
			for i := range some {
				some[i] = float32(r.NormFloat64() * math.Pow(2, float64(r.IntN(40)-20)))
			}
			x := make([]float32, n*width)
			for i := range x {
				x[i] = some[r.Uint32()%1000]
			}
			x[n*width/3], x[n*width/5] = float32(math.Inf(1)), float32(math.NaN())
			out := make([]float32, n*width)
			for i := range n {
				copy(out[i*width:][:width], x[at(i)*width:])
			}
			if dtype == tensor.F32 {
				return tensor.Must(tensor.Of(out, n, width))
			}
			half := make([]tensor.Float16, len(out))
			for i, v := range out {
				half[i] = tensor.F16FromF32(v)
			}
			return tensor.Must(tensor.Of(half, n, width))
		}}
	}
	grid := ops.VoxelGrid{Max: [3]float64{40, 40, 40}, Size: [3]float64{1, 1, 1}}
	for _, o := range []struct {
		ops.VoxelizeOptions
		width int
		dtype tensor.DType
	}{
		{ops.VoxelizeOptions{Reduce: ops.ReduceOccupancy, Empty: 3}, 0, 0}, {ops.VoxelizeOptions{Reduce: ops.ReduceCount}, 0, 0}, {ops.VoxelizeOptions{Reduce: ops.ReduceMajority}, 0, 0},
		{ops.VoxelizeOptions{Reduce: ops.ReduceMean, Empty: math.Copysign(0, -1)}, 1, tensor.F32}, {ops.VoxelizeOptions{Reduce: ops.ReduceSum}, 3, tensor.F16},
		{ops.VoxelizeOptions{Reduce: ops.ReduceMax}, cpu.Together + 3, tensor.F32}, {ops.VoxelizeOptions{Reduce: ops.ReduceMin}, 0, 0},
		{ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceSum}, cpu.Together, tensor.F32}, {ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMean, MaxVoxels: 700}, 5, tensor.F16},
		{ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 3}, 2, tensor.F32},
	} {
		t.Run(fmt.Sprint(o.Mode, o.Reduce, o.width), func(t *testing.T) {
			run := func(workers int, in input) (ops.VoxelizeResult, error) {
				dev, err := ops.NewDevice(cpu.New(workers))
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, dev.Close()) })
				args := ops.VoxelizeArgs{Points: in.points}
				if o.width > 0 {
					args.Features = in.features(o.width, o.dtype)
				}
				if o.Reduce == ops.ReduceMajority {
					args.Labels = in.labels
				}
				return dev.Voxelize(context.Background(), args, grid, o.VoxelizeOptions)
			}
			same := func(want, got ops.VoxelizeResult, why string) {
				outs := outputs(&got)
				for i, x := range outputs(&want) {
					if x != nil {
						assert.True(t, slices.Equal(cpu.BitsOf(t, x), cpu.BitsOf(t, outs[i])), "output %d, %s", i, why)
					}
				}
				assert.Equal(t, want.Found, got.Found, why)
			}
			want, err := run(1, shuffled(false))
			require.NoError(t, err)
			got, err := run(5, shuffled(false))
			require.NoError(t, err)
			same(want, got, "five threads")
			if o.Mode == ops.VoxelDense {
				got, err = run(3, shuffled(true))
				require.NoError(t, err)
				same(want, got, "in another order")
			}
		})
	}
}
