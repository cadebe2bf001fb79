package cuda_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// Few points are made to voxels by each algorithm that supports it, and nothing changes: by one plan after the other in turn, and by each alone.
func TestEachWayGivesTheSameVoxels(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	testVoxelsBy(t, "each in turn", cuda.VoxelizeInTurn, func(t *testing.T, dev *ops.Device, simulated bool) {
		parts := []string{"voxel/generated", "voxel/batches", "voxel/bad-offsets", "voxel/caps"}
		if !simulated || thorough.Long {
			parts = append(parts, "voxel/specials", "voxel/contended")
		}
		opstest.Run(t, dev, opstest.Config{}, largeToo(simulated, parts...)...)
	})
	for i, algorithm := range cuda.VoxelAlgorithms() {
		if algorithm == "fill" || algorithm == "write" { // which take all that they can
			continue
		}
		testVoxelsBy(t, algorithm, func(b backend.Backend) backend.Backend { return cuda.VoxelizeBy(b, algorithm) }, func(t *testing.T, dev *ops.Device, simulated bool) {
			if !simulated || thorough.Long {
				opstest.Run(t, dev, opstest.Config{}, largeToo(simulated, "voxel/generated")...)
				return
			}
			sample := opstest.NewSample(t, dev, "voxel")
			for number := i; number < 72; number += 14 { // all 72 go through each algorithm in turn
				sample.Run(t, number)
			}
		})
	}
}

// largeToo adds the parts with large clouds, of which a simulated device has none here.
func largeToo(simulated bool, parts ...string) []string {
	if simulated {
		return parts
	}
	return append(parts, "large/voxels", "large/grouped")
}

func testVoxelsBy(t *testing.T, name string, by func(backend.Backend) backend.Backend, run func(t *testing.T, dev *ops.Device, simulated bool)) {
	t.Run(name, func(t *testing.T) {
		eachDevice(t, func(t *testing.T, b backend.Backend, simulated bool) {
			dev, err := ops.NewDevice(by(b))
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, dev.Close()) })
			run(t, dev, simulated)
		})
	})
}

// A plan runs as it was made, though others of its kernels were made since that take less of a block's shared memory.
func TestSmallerPlansLeaveLargerOnes(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	eachDevice(t, func(t *testing.T, b backend.Backend, _ bool) {
		dev, err := ops.NewDevice(cuda.VoxelizeBy(b, "bucket"))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dev.Close()) })
		up := uploads(t, dev)
		var shared []int
		var plans []*ops.Plan
		for _, cells := range []int{48, 20} { // an axis
			points, grid := up(tensor.Must(tensor.New(tensor.F32, 100, 3))), up(tensor.Must(tensor.New(tensor.F32, cells, cells, cells, 3)))
			most := float64(cells)
			p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Points: points, Grid: grid}, ops.VoxelGrid{Max: [3]float64{most, most, most}, Size: [3]float64{1, 1, 1}}, ops.VoxelizeOptions{Reduce: ops.ReduceMean})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, p.Close()) })
			launches, err := cuda.Explain(&p.Plan)
			require.NoError(t, err)
			i := slices.IndexFunc(launches, func(l cuda.Launch) bool { return l.Kernel == "voxel_bucket" })
			require.GreaterOrEqual(t, i, 0)
			plans, shared = append(plans, &p.Plan), append(shared, launches[i].Shared)
		}
		require.Greater(t, shared[0], shared[1])
		for _, p := range plans {
			require.NoError(t, p.Run(dev.Queue()))
			require.NoError(t, dev.Synchronize(context.Background()))
		}
	})
}

// uploads returns a function that copies tensors to a device, for the time of the test.
func uploads(t *testing.T, dev *ops.Device) func(*tensor.Tensor) *tensor.Tensor {
	return func(x *tensor.Tensor) *tensor.Tensor {
		out, err := dev.Upload(context.Background(), x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, out.Close()) })
		return out
	}
}

// What a run that was not launched whole has left in the table does not show in the next.
func TestABrokenRunLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	t.Run("sim", func(t *testing.T) { testBroken(t, cudasim.New(cudasim.Config{}).FunctionTable()) })
	t.Run("cuda", func(t *testing.T) {
		gputest.Require(t)
		table, err := cudadrv.SystemFunctionTable()
		require.NoError(t, err)
		testBroken(t, table)
	})
}

func testBroken(t *testing.T, table *cudadrv.FunctionTable) {
	for name, uncleared := range map[string]bool{"cleared": false, "not cleared": true} {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= 4; n++ { // the launches of a mean
				testBrokenLaunch(t, table, n, uncleared)
			}
		})
	}
}

// testBrokenLaunch fails launch n of a run, between others and replays of graphs that were recorded before and after it. spoilt: so does clearing the
// table, and the plan and its graphs are refused from then on.
func testBrokenLaunch(t *testing.T, table *cudadrv.FunctionTable, n int, uncleared bool) {
	armed := false
	fails := func(prefix string, n int) cudasim.Failure {
		return cudasim.Failure{Match: func(call string) bool { return armed && strings.HasPrefix(call, prefix) }, N: n, Code: cudadrv.ErrOutOfMemory}
	}
	failures := []cudasim.Failure{fails("cuLaunchKernel", n)}
	if uncleared {
		failures = append(failures, fails("cuMemsetD8", 1))
	}
	broken, in := cudasim.Inject(table, failures...)
	drv, err := cudadrv.NewDriver(broken)
	require.NoError(t, err)
	b, err := cuda.New(drv, 0)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dev.Close()) })
	up := uploads(t, dev)
	points := up(tensor.Must(tensor.Of([]float32{.5, .5, .5, .5, .5, .5, 1.5, .5, .5}, 3, 3)))
	features := up(tensor.Must(tensor.Of([]float32{1, 5, 7}, 3, 1)))
	grid := up(tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1)))
	box := ops.VoxelGrid{Max: [3]float64{3, 1, 1}, Size: [3]float64{1, 1, 1}}
	p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Points: points, Features: features, Grid: grid}, box, ops.VoxelizeOptions{Reduce: ops.ReduceMean})
	require.NoError(t, err)
	st := dev.Queue()
	run := func() error { return p.Run(st) }
	is := func(what string, run func() error) {
		require.NoError(t, dev.Copy(context.Background(), grid, tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1))))
		require.NoError(t, run(), what)
		require.NoError(t, dev.Synchronize(context.Background()))
		got := tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1))
		require.NoError(t, dev.Copy(context.Background(), got, grid))
		assert.Equal(t, []float32{3, 7, 0}, floats(t, got), "launch %d failed: %s", n, what)
	}
	is("before it", run)
	record := func() *ops.Graph {
		g, err := st.Capture(run)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, g.Close()) })
		return g
	}
	earlier := record()
	armed = true
	require.ErrorIs(t, run(), cudadrv.ErrOutOfMemory)
	armed = false
	require.NoError(t, dev.Synchronize(context.Background())) // with the kernels in front of it, which write the grid
	require.Len(t, in.Hits(), len(failures))
	if uncleared {
		for _, again := range []func() error{run, func() error { return earlier.Launch(st) }, run} {
			err := again()
			require.ErrorIs(t, err, cudadrv.ErrOutOfMemory)
			require.ErrorContains(t, err, "cannot be used any more")
		}
		require.NoError(t, p.Close())
		return
	}
	later := record()
	is("a graph from before", func() error { return earlier.Launch(st) })
	is("the next", run)
	is("a graph from after", func() error { return later.Launch(st) })
	is("the last", run)
	require.NoError(t, p.Close())
}
