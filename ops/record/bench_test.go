package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// voxelize is a plan of the means of 4 features of 100,000 points, in a grid of 64 x 64 x 64 cells.
func voxelize() ([]record.Tensor, record.PlanFunc) {
	const points, features, cells = 100_000, 4, 64
	return []record.Tensor{{Name: "Grid", DType: tensor.F32, Shape: []int{cells, cells, cells, features}}, {Name: "Points", DType: tensor.F32, Shape: []int{points, 3}}, {Name: "Features", DType: tensor.F32, Shape: []int{points, features}}},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Grid: t[0], Points: t[1], Features: t[2]}, ops.VoxelGrid{Max: [3]float64{64, 64, 64}, Size: [3]float64{1, 1, 1}}, ops.VoxelizeOptions{Reduce: ops.ReduceMean})
			if err != nil {
				return nil, err
			}
			return &p.Plan, nil
		}
}

// What a program waits for when an operation is asked for in a shape that is new. The size of what is sent to it is bytes/plan.
func BenchmarkPlan(b *testing.B) {
	for name, of := range map[string]func() ([]record.Tensor, record.PlanFunc){"resample": resample, "voxelize": voxelize} {
		b.Run(name, func(b *testing.B) {
			r := recorder(b, h100())
			tensors, fn := of()
			size := 0
			for b.Loop() {
				p, err := r.Plan(name, tensors, fn)
				require.NoError(b, err)
				size = len(p.Encode())
			}
			b.ReportMetric(float64(size), "bytes/plan")
		})
	}
}

// What the first request of a device waits for besides: its description, the images' unpacking and the search in them.
func BenchmarkNew(b *testing.B) {
	tensors, fn := resample()
	b.Setenv("ROBOCACHE_TUNED", "off")
	for b.Loop() {
		r, err := record.New(h100())
		require.NoError(b, err)
		_, err = r.Plan("resample", tensors, fn)
		require.NoError(b, err)
		require.NoError(b, r.Close())
	}
}
