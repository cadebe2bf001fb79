package cuda_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// earlyPlans runs a plan of each kernel that can wait, in each mode, and gives what was launched.
func earlyPlans(t *testing.T, dev *ops.Device) map[ops.LaunchMode][]cuda.Launch {
	t.Helper()
	up := func(x *tensor.Tensor) *tensor.Tensor {
		out, err := dev.Upload(context.Background(), x)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, out.Close()) })
		return out
	}
	src, times := up(tensor.Must(tensor.New(tensor.F32, 2, 4, 8))), up(tensor.Must(tensor.Of([]int64{0, 1, 2, 3}, 4)))
	dst := up(tensor.Must(tensor.New(tensor.F32, 2, 5, 8)))
	targets := ops.Uniform(0, 1e9, 5)
	out := map[ops.LaunchMode][]cuda.Launch{}
	for _, mode := range []ops.LaunchMode{ops.LaunchDefault, ops.LaunchDependent, ops.LaunchInputsReady} {
		add := func(p *ops.Plan, err error) {
			t.Helper()
			require.NoError(t, err)
			require.NoError(t, p.Run(dev.Queue()))
			require.NoError(t, dev.Synchronize(context.Background()))
			list, err := cuda.Explain(p)
			require.NoError(t, err)
			out[mode] = append(out[mode], list...)
			require.NoError(t, p.Close())
		}
		args := ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: targets}
		add(dev.PlanResample(args, ops.ResampleOptions{Launch: mode}))
		add(dev.PlanResample(args, ops.ResampleOptions{Launch: mode, Edge: ops.EdgeExtrapolate}))
		add(dev.PlanResample(args, ops.ResampleOptions{Launch: mode, Interp: ops.InterpPchip}))
		for _, kind := range []ops.Interp{ops.InterpLinear, ops.InterpPchip} {
			add(dev.PlanFuse(ops.FuseArgs{Dst: dst, Targets: targets, Streams: []ops.FuseStream{{Src: src, SrcTimes: times, Options: ops.ResampleOptions{Interp: kind}}}},
				ops.FuseOptions{Launch: mode}))
		}
	}
	return out
}

// A plan is launched early if it asks for it and its kernel waits, on a device that can; elsewhere it runs as ever.
func TestPlansAreLaunchedEarlyWhereTheyCanBe(t *testing.T) {
	for _, name := range []string{"sim", "cuda"} {
		t.Run(name, func(t *testing.T) {
			if name == "cuda" {
				gputest.Require(t)
			}
			dev, err := ops.Open(name)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, dev.Close()) })
			queue, err := cuda.Stream(dev.Queue())
			require.NoError(t, err)
			device := queue.Context().Device()
			major, minor := device.ComputeCapability()
			for mode, list := range earlyPlans(t, dev) {
				var kernels []string
				for _, l := range list {
					family, _, ok := ptx.Lookup(l.Kernel)
					require.True(t, ok)
					choice, err := ptx.Choose(family, major, minor, device.Driver().Version(), os.Getenv("ROBOCACHE_KERNELS"))
					require.NoError(t, err)
					can := device.DependentLaunch() && choice.Image.Waits(l.Kernel) // machine code waits as its PTX does
					assert.Equal(t, mode != ops.LaunchDefault && can, l.Dependent, "%v, %s", mode, l.Kernel)
					kernels = append(kernels, l.Kernel)
				}
				want := []string{"resample_small", "resample", "resample_curves", "fuse_small", "fuse"}
				if mode == ops.LaunchInputsReady { // where it is the work in all that counts
					want[0], want[3] = "resample_fast", "fuse_fast_few"
				}
				assert.Equal(t, want, kernels)
			}
		})
	}
}

func TestADriverWithoutExtendedLaunchesMakesPlainOnes(t *testing.T) {
	full := cudasim.New(cudasim.Config{}).FunctionTable()
	drv, err := cudadrv.NewDriver(&cudadrv.FunctionTable{Path: full.Path, Lookup: func(name string, version int) (cudadrv.Proc, bool) {
		if name == "cuLaunchKernelEx" {
			return nil, false
		}
		return full.Lookup(name, version)
	}})
	require.NoError(t, err)
	b, err := cuda.New(drv, 0)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	for mode, list := range earlyPlans(t, dev) {
		for _, l := range list {
			assert.False(t, l.Dependent, "%v, %s", mode, l.Kernel)
		}
	}
}
