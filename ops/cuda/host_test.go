package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkRunHost times what a plan's Run, a batch's and a graph's Launch cost the program beside the driver's own work: the
// driver's functions that launch do nothing.
func BenchmarkRunHost(b *testing.B) {
	drv, err := cudadrv.NewDriver(cudasim.New(cudasim.Config{}).Table().Wrap(func(name string, next cudadrv.Proc) cudadrv.Proc {
		if name == "cuLaunchKernel" || name == "cuGraphLaunch" {
			return func([]uintptr) uintptr { return 0 }
		}
		return next
	}))
	require.NoError(b, err)
	backend, err := cuda.New(drv, 0)
	require.NoError(b, err)
	dev, err := ops.NewDevice(backend)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, dev.Close()) })
	alloc := func(d tensor.DType, shape ...int) *tensor.Tensor {
		x, err := dev.Alloc(d, shape...)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, x.Close()) })
		return x
	}
	var plans []*ops.Plan
	for range 64 {
		p, err := dev.PlanResample(ops.ResampleArgs{Dst: alloc(tensor.F32, 1, 1, 8), Src: alloc(tensor.F32, 1, 2, 8), SrcTimes: alloc(tensor.I64, 2),
			Targets: ops.At(alloc(tensor.I64, 1))}, ops.ResampleOptions{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, p.Close()) })
		plans = append(plans, p)
	}
	st := dev.Queue()
	bench := func(name string, run func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bench("plan", func() error { return plans[0].Run(st) })
	for _, n := range []int{1, 64} {
		m, err := dev.PlanBatch(plans[:n], ops.BatchOptions{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, m.Close()) })
		bench(fmt.Sprintf("batch=%d", n), func() error { return m.Run(st) })
	}
	bench("each=64", func() error {
		for _, p := range plans {
			if err := p.Run(st); err != nil {
				return err
			}
		}
		return nil
	})
}
