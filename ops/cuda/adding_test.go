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
	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/tensor"
)

// Few points are brought together as many are, and added as many that crowd are, and nothing changes.
func TestGatheringChangesNoResult(t *testing.T) {
	t.Run("gathered", func(t *testing.T) { testVoxelsBy(t, 0) })
	t.Run("added", func(t *testing.T) { testVoxelsBy(t, -1) })
}

func testVoxelsBy(t *testing.T, crowd int) {
	eachDevice(t, func(t *testing.T, b ops.Backend, simulated bool) {
		cuda.Gather(b, crowd)
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

// uploads returns a function that copies tensors to a device, for the time of the test.
func uploads(t *testing.T, dev *ops.Device) func(*tensor.Tensor) *tensor.Tensor {
	return func(x *tensor.Tensor) *tensor.Tensor {
		out, err := dev.Upload(x)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, out.Close()) })
		return out
	}
}

// A run tells whether the points of the one before crowd, and the next ones are launched accordingly, with the same bits.
func TestCrowdsAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		n, side, f int
		reduce     ops.VoxelReduce
	}{
		"a bucket a block": {20_000, 28, 5, ops.ReduceMean}, "in groups": {3000, 40, 8, ops.ReduceMin}, "sorted": {70_000, 20, 4, ops.ReduceSum},
	} {
		t.Run(name, func(t *testing.T) { testCrowds(t, c.n, c.side, c.f, c.reduce) })
	}
}

func testCrowds(t *testing.T, n, side, f int, reduce ops.VoxelReduce) {
	const crowd = 24
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	// cloud is n points in so many cells, those of each with others between them, and their features.
	cloud := func(cells int) (points, features *tensor.Tensor) {
		var at, values []float32
		for i := range n {
			cell := i * 7919 % cells
			at = append(at, float32(cell%side)+.5, float32(cell/side%side)+.5, float32(cell/side/side)+.5)
			for k := range f {
				values = append(values, float32((i*31+k*1009)%4099-2048)/float32(int(1)<<(cell%9)))
			}
		}
		return tensor.Must(tensor.Of(at, n, 3)), tensor.Must(tensor.Of(values, n, f))
	}
	box := ops.VoxelGrid{Max: [3]float64{float64(side), float64(side), float64(side)}, Size: [3]float64{1, 1, 1}}
	empty := func() *tensor.Tensor { return tensor.Must(tensor.New(tensor.F32, side, side, side, f)) }
	eachDevice(t, func(t *testing.T, b ops.Backend, _ bool) {
		cuda.Gather(b, crowd)
		dev, err := ops.NewDevice(b)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dev.Close()) })
		up := uploads(t, dev)
		few, fewFeatures := cloud(n / crowd)
		points, features, grid := up(few), up(fewFeatures), up(empty())
		options := ops.VoxelizeOptions{Reduce: reduce, Empty: -7}
		p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Points: points, Features: features, Grid: grid}, box, options)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		adds := func() bool {
			list, err := cuda.Explain(p)
			require.NoError(t, err)
			return slices.ContainsFunc(list, func(l cuda.Launch) bool { return l.Kernel == "voxel_best" })
		}
		for run, c := range []struct {
			cells        int
			before, then bool // whether it adds, and the next one does
		}{{n / crowd, false, true}, {n / 13, true, true}, {n / 11, true, false}, {n / (crowd - 1), false, false}, {1, false, true}} {
			points2, features2 := cloud(c.cells)
			require.NoError(t, dev.Copy(points, points2))
			require.NoError(t, dev.Copy(features, features2))
			want := empty()
			wanted, err := cpu.Voxelize(ops.VoxelizeArgs{Points: points2, Features: features2, Grid: want}, box, options)
			require.NoError(t, err)
			for again := range 2 {
				assert.Equal(t, c.before, adds(), "cloud %d", run)
				require.NoError(t, p.Run(dev.Stream()))
				require.NoError(t, dev.Synchronize(context.Background()))
				got := empty()
				require.NoError(t, dev.Copy(got, grid))
				assert.Equal(t, floats(t, want), floats(t, got), "cloud %d, run %d", run, again)
				counts, err := p.Counts()
				require.NoError(t, err)
				assert.Equal(t, wanted.Found, counts, "cloud %d, run %d", run, again)
			}
			assert.Equal(t, c.then, adds(), "after cloud %d", run)
		}
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
	for name, c := range map[string]struct{ crowds, dirty bool }{
		"few": {false, false}, "few, and not cleared": {false, true}, "crowds": {true, false}, "crowds, and not cleared": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= 4; n++ { // the launches of a mean
				testBrokenLaunch(t, table, n, c.crowds, c.dirty)
			}
		})
	}
}

// testBrokenLaunch fails launch n of a run, between others and replays of graphs that were recorded before and after it. dirty: so does clearing the table.
func testBrokenLaunch(t *testing.T, table *cudadrv.Table, n int, crowds, dirty bool) {
	armed := false
	fails := func(prefix string, n int) cudasim.Failure {
		return cudasim.Failure{Match: func(call string) bool { return armed && strings.HasPrefix(call, prefix) }, N: n, Code: cudadrv.ErrOutOfMemory}
	}
	failures := []cudasim.Failure{fails("cuLaunchKernel", n)}
	if dirty {
		failures = append(failures, fails("cuMemsetD8", 1))
	}
	broken, in := cudasim.Inject(table, failures...)
	drv, err := cudadrv.NewDriver(broken)
	require.NoError(t, err)
	b, err := cuda.New(drv, 0)
	require.NoError(t, err)
	if crowds {
		cuda.Gather(b, -1)
	}
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
	st := dev.Stream()
	run := func() error { return p.Run(st) }
	is := func(what string, run func() error) {
		require.NoError(t, dev.Copy(grid, tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1))))
		require.NoError(t, run(), what)
		require.NoError(t, dev.Synchronize(context.Background()))
		got := tensor.Must(tensor.New(tensor.F32, 1, 1, 3, 1))
		require.NoError(t, dev.Copy(got, grid))
		assert.Equal(t, []float32{3, 7, 0}, floats(t, got), "launch %d failed: %s", n, what)
	}
	is("before it", run)
	record := func() ops.Graph {
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
	later := record()
	if !dirty {
		is("a graph from before", func() error { return earlier.Launch(st) })
	}
	is("the next", run)
	is("a graph from after", func() error { return later.Launch(st) })
	is("the last", run)
	require.NoError(t, p.Close())
}
