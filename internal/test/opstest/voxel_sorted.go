package opstest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sortedVoxels compares with the CPU for clouds that a backend sorts in many tiles. Neighbouring cells are full, empty or partly
// filled; some are contended.
func (s *suite) sortedVoxels(t *testing.T) {
	if s.isCPU() {
		t.Skip("needs a GPU, or a simulated one: it is compared with the CPU")
	}
	n := 300_000
	if s.simulated {
		n = 17_000
	}
	few := packed(tensor.F32, largeCloud(n), n, 3)
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
	rows := arr([]int64{0, int64(n) - 9_999, int64(n)}, 3)
	cases := map[string]*voxelizing{
		"means":             {Points: few, Features: features(4), Box: cellsOf(100, 90, 80), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"greatest of three": {Points: few, Features: features(3), Box: cellsOf(1, 400, 300), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMax, Empty: -1}},
		"sums of points":    {Points: few, Offsets: rows, Box: cellsOf(60, 50, 40), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum, Order: ops.AxisXYZ}},
		"commonest labels":  {Points: few, Labels: arr(labels, n), Box: cellsOf(40, 50, 60), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMajority, Empty: -7}},
		"hard":              {Points: few, Box: cellsOf(64, 64, 64), Opts: ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 4, MaxVoxels: 5000}},
		"sparse":            {Points: few, Features: features(4), Box: cellsOf(300, 300, 300), Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse}},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		s.large(t, name, cases[name], n, layouts[0])
	}
	// With this many points per multiprocessor (one or 132), a thread has its maximum of points. The cases end the cloud, and the
	// points in the grid, at different turns of a thread.
	base := 15 * 512 * 132
	if s.simulated {
		base = 15 * 512
	}
	for k := range 24 {
		if !s.long && k%5 > 0 {
			continue
		}
		n := base + 32*(k%16) + 5
		c := &voxelizing{Points: packed(tensor.F32, largeCloud(n), n, 3), Box: cellsOf(7, 6, 9), Once: true, Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceCount}}
		in := base - 256 + 32*(k%8) + 7
		if k >= 16 {
			in = n
		}
		for i, x := range c.Points.raw { // the points in the grid come last
			v := math.Float32frombits(uint32(x)) * .8
			if i < 3*(n-in) && i%3 == 0 {
				v = 12
			}
			c.Points.raw[i] = uint64(math.Float32bits(v))
		}
		s.large(t, fmt.Sprint(n, " points, ", in, " of them in range"), c, 400, layouts[1])
	}
}
