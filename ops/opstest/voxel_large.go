package opstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// largeVoxels has clouds and grids of a size at which a backend may go another way, against the CPU: a slow device, if it has one or
// two multiprocessors. Half of the points are drawn to the middle.
func (s *suite) largeVoxels(t *testing.T) {
	if s.isCPU() {
		t.Skip("needs a GPU, or a simulated one: it is compared with the CPU")
	}
	points := func(n int) *array {
		r := rng(uint64(n))
		xyz := make([]uint64, 3*n)
		for i := range xyz {
			x := r.Float32()*20 - 10
			if i/3%2 == 0 {
				x *= x * x * .001
			}
			xyz[i] = uint64(math.Float32bits(x))
		}
		return packed(tensor.F32, xyz, n, 3)
	}
	box := func(x, y, z int) ops.VoxelGrid {
		return ops.VoxelGrid{Min: [3]float64{-9, -9, -9}, Max: [3]float64{9, 9, 9}, Size: [3]float64{18 / float64(x), 18 / float64(y), 18 / float64(z)}}
	}
	many := points(70_000)
	if s.cfg.Slow <= 1 {
		many = points(1<<22 + 1<<18)
	}
	// Sorted points come in many tiles. Spans of the grid are full, empty, and of a few; some cells are crowded.
	n := 70_000
	if s.cfg.Slow > 1 {
		n = 20_000
	}
	few := points(n)
	features := func(width int) *array {
		r := rng(uint64(width))
		values := make([]uint64, n*width)
		for i := range values {
			values[i] = uint64(math.Float32bits(r.Float32()*2 - 1))
		}
		return packed(tensor.F32, values, n, width)
	}
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(i*i%7 - 3)
	}
	for name, c := range map[string]*voxelizing{
		"means":                   {Points: few, Features: features(4), Box: box(100, 90, 80), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"greatest of three":       {Points: few, Features: features(3), Box: box(1, 400, 300), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMax, Empty: -1}},
		"sums of points":          {Points: few, Offsets: arr([]int64{0, int64(n) - 9_999, int64(n)}, 3), Box: box(60, 50, 40), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum, Order: ops.XYZ}},
		"commonest labels":        {Points: few, Labels: arr(labels, n), Box: box(40, 50, 60), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMajority, Empty: -7}},
		"hard":                    {Points: few, Box: box(64, 64, 64), Opts: ops.VoxelizeOptions{Mode: ops.HardVoxels, MaxPoints: 4, MaxVoxels: 5000}},
		"sparse":                  {Points: few, Features: features(4), Box: box(300, 300, 300), Opts: ops.VoxelizeOptions{Mode: ops.SparseVoxels}},
		"counts":                  {Points: many, Box: box(61, 33, 129), Opts: countGrid},
		"counts of a large grid":  {Points: many, Box: box(256, 300, 128), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceCount, Order: ops.XYZ}},
		"counts of rows of a few": {Points: few, Offsets: arr([]int64{0, int64(n) - 9_999, int64(n)}, 3), Box: box(40, 30, 20), Opts: countGrid},
		"cells of a few":          {Points: few, Box: box(40, 30, 20), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceOccupancy}},
	} {
		want, err := c.call(s.cpu)
		require.NoError(t, err, name)
		got, err := c.call(s.dev)
		require.NoError(t, err, name)
		assert.Empty(t, got.same(want), name)
		// Outputs of the caller's own may begin anywhere.
		for _, front := range []int{64, 3} {
			got, err := c.plan(s.dev, 0, front)
			require.NoError(t, err, name)
			want, err := c.plan(s.cpu, 0, front)
			require.NoError(t, err, name)
			assert.Empty(t, got.same(want), "%s, %d elements into its memory", name, front)
		}
	}
}
