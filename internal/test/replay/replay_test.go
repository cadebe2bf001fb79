package replay_test

import (
	"context"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/replay"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// open opens a device that replays plans, and returns a function for the bytes of its memory in use.
func open(t testing.TB, drv *cudadrv.Driver, kernels string) (*ops.Device, func() int64) {
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

// simulated returns a new simulated device and its driver. The device accepts no machine code.
func simulated(t testing.TB, cfg cudasim.Config) (*cudasim.Device, *cudadrv.Driver) {
	d := cudasim.New(cfg)
	drv, err := cudadrv.NewDriver(d.FunctionTable())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, d.Leaks(), "left open on the device")
		if f := d.LastFault(); f != nil {
			t.Errorf("the device was lost: %v", f)
		}
	})
	return d, drv
}

// simKernels is the kind of image for the simulated device.
const simKernels = "sm_90.ptx"

// TestSim runs the conformance suite on replayed plans. Package ops/sim runs all cases on this device with plans that are not
// exported. The parts here are the fastest ones that launch every kernel and return every kind of error in values.
func TestSim(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	var mu sync.Mutex
	launches := map[string]int{}
	saw := func(l *cudasim.Launch) {
		mu.Lock()
		defer mu.Unlock()
		launches[l.Kernel]++
	}
	t.Run("devices", func(t *testing.T) {
		for name, parts := range map[string][]string{
			"others": {"unaligned/rounding", "fuse/golden", "fuse/small", "fuse/one to sixteen", "voxel/generated", "voxel/written"},
			"rest":   {"resample/golden", "resample/poses", "resample/cubics", "resample/values", "resample/small", "backward/literal", "backward/edges", "draw/golden", "draw/values", "tally/generated", "frames/generated", "frames/values", "deproject", "farthest", "integrate"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d, drv := simulated(t, cudasim.Config{})
				d.Watch(saw)
				dev, _ := open(t, drv, simKernels)
				opstest.Run(t, dev, opstest.Config{}, parts...)
			})
		}
		t.Run("one multiprocessor", func(t *testing.T) {
			t.Parallel()
			large(t, saw)
		})
	})
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	// Kernels that no operation launches: copies, barriers between processes, and networks, which are trained in the process that
	// makes them.
	left := strings.Fields("copy meet matmul matmul_norm matmul_norm_back attention attention_backward gradient adamw norm tokens embed loss noise")
	for _, family := range ptx.Families() {
		for _, entry := range ptx.Images(family)[0].Entries {
			if !slices.Contains(left, family) {
				assert.Positive(t, launches[entry.Name], entry.Name)
			}
		}
	}
}

// large voxelizes a cloud that counts as large on a device with one multiprocessor, in forms that need more than 48 KiB of shared
// memory.
func large(t *testing.T, saw func(*cudasim.Launch)) {
	d, drv := simulated(t, cudasim.Config{Multiprocessors: 1})
	d.Watch(saw)
	dev, _ := open(t, drv, simKernels)
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	const points = 1<<15 + 5
	cloud, features := make([]float32, 3*points), make([]float32, points)
	for i := range cloud {
		cloud[i], features[i/3] = float32(i*7919%20011)/1000, float32(i%97)/8
	}
	args := ops.VoxelizeArgs{Points: tensor.Must(tensor.Of(cloud, points, 3))}
	for _, reduce := range []ops.Reduce{ops.ReduceCount, ops.ReduceMean} {
		if reduce == ops.ReduceMean {
			args.Features = tensor.Must(tensor.Of(features, points, 1))
		}
		var grids [2][]byte
		var found [2]ops.VoxelCounts
		for i, dev := range []*ops.Device{dev, cpu} {
			got, err := dev.Voxelize(context.Background(), args, ops.VoxelGrid{Max: [3]float64{20, 20, 20}, Size: [3]float64{.5, 1, 1}}, ops.VoxelizeOptions{Reduce: reduce})
			require.NoError(t, err)
			grids[i], err = raw.Of(got.Grid)
			require.NoError(t, err)
			found[i] = got.Found
		}
		assert.Equal(t, grids[1], grids[0], reduce)
		assert.Equal(t, found[1], found[0], reduce)
		assert.Positive(t, found[0].OutOfRange)
	}
}

// TestSimLife counts allocations, so it does not run in parallel with other tests.
func TestSimLife(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	_, drv := simulated(t, cudasim.Config{})
	dev, memory := open(t, drv, simKernels)
	opened.driver, opened.kernels = drv, simKernels
	parts := []string{"life"}
	if !thorough.Long { // the other parts test calls, copies and queues, which do not involve replayed plans
		parts = []string{"life/plans and graphs run many times with changed inputs", "life/an error surfaces at the next Synchronize and once", "life/what is closed says so",
			"life/Run allocates nothing with any kind", "life/a chain of operations launched early gives the same bits", "life/independent operations launched early give the same bits",
			"life/faults after early launches are reported", "life/plans that share a cursor take turns", "life/errors of a batch name their plan", "life/10,000 calls leave nothing behind"}
	}
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memory}, parts...)
}

// TestGPU runs the whole conformance suite on a GPU.
func TestGPU(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	drv := gputest.Require(t)
	dev, memory := open(t, drv, "")
	opened.driver, opened.kernels = drv, ""
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memory})
}
