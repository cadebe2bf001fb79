package replay_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// TestAnExportedPlanIsThatOfTheDevice checks that a plan exported for a device's description has the launches that the CUDA backend
// makes on the device.
func TestAnExportedPlanIsThatOfTheDevice(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Setenv("ROBOCACHE_TUNED", "off")
	gputest.Both(t, func(t *testing.T) {
		drv := gputest.Require(t)
		b, err := cuda.New(drv, 0)
		require.NoError(t, err)
		dev, err := ops.NewDevice(b)
		require.NoError(t, err)
		defer func() { assert.NoError(t, dev.Close()) }()
		d, err := drv.Device(0)
		require.NoError(t, err)
		target, err := record.TargetOf(d)
		require.NoError(t, err)
		if target.Name == cudasim.Name {
			target.Kernels = simKernels
		}
		r, err := record.New(target)
		require.NoError(t, err)
		defer func() { assert.NoError(t, r.Close()) }()
		if target.Kernels == "" {
			assert.Equal(t, dev.Info().Kernels, r.Info().Kernels)
		}

		for name, of := range map[string]struct {
			tensors []record.Tensor
			plan    record.PlanFunc
		}{
			"resample, small": {
				[]record.Tensor{{Name: "Dst", DType: tensor.F32, Shape: []int{4, 50, 32}}, {Name: "Src", DType: tensor.F32, Shape: []int{4, 100, 32}}, {Name: "SrcTimes", DType: tensor.I64, Shape: []int{100}}},
				func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
					return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
				}},
			"resample, large": {
				[]record.Tensor{{Name: "Dst", DType: tensor.BF16, Shape: []int{256, 250, 14}}, {Name: "Src", DType: tensor.F32, Shape: []int{256, 500, 14}}, {Name: "SrcTimes", DType: tensor.F64, Shape: []int{256, 500}}},
				func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
					return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 250)}, ops.ResampleOptions{Launch: ops.LaunchDependent})
				}},
			"voxelize": {
				[]record.Tensor{{Name: "Grid", DType: tensor.F32, Shape: []int{64, 64, 64, 4}}, {Name: "Points", DType: tensor.F32, Shape: []int{300_000, 3}}, {Name: "Features", DType: tensor.F32, Shape: []int{300_000, 4}}},
				func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
					p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Grid: t[0], Points: t[1], Features: t[2]}, ops.VoxelGrid{Max: [3]float64{64, 64, 64}, Size: [3]float64{1, 1, 1}}, ops.VoxelizeOptions{Reduce: ops.ReduceMean})
					if err != nil {
						return nil, err
					}
					return &p.Plan, nil
				}},
		} {
			exported, err := r.Plan("some", of.tensors, of.plan)
			require.NoError(t, err, name)
			var real []*tensor.Tensor
			for _, x := range of.tensors {
				on, err := dev.Alloc(x.DType, x.Shape...)
				require.NoError(t, err)
				defer on.Close()
				real = append(real, on)
			}
			p, err := of.plan(dev, real)
			require.NoError(t, err, name)
			defer p.Close()
			launches, err := cuda.Explain(p)
			require.NoError(t, err)
			require.Len(t, exported.Launches, len(launches), name)
			for i, l := range launches {
				e := exported.Launches[i]
				assert.Equal(t, []any{l.Kernel, l.Grid, l.Block, uint32(l.Shared), l.Dependent}, []any{e.Entry, e.Grid, e.Block, e.Shared, e.Dependent}, name)
			}
		}
	})
}
