package opstest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// groupedVoxels compares sums, means and extremes with the CPU for clouds so large that blocks share parts of grids, cells are
// contended, queues fill more than once, and blocks have more points than they can keep. The grids have about as many cells as
// points, or many more.
func (s *suite) groupedVoxels(t *testing.T) {
	if s.isCPU() {
		t.Skip("needs a GPU, or a simulated one: it is compared with the CPU")
	}
	n, times := 9_001, 1 // three tiles; the last has one row
	if !s.simulated {
		n, times = 60_001, 30
	}
	cloud := packed(tensor.F32, largeCloud(n), n, 3)
	features := func(n, f int, dtype tensor.DType) *array {
		r := rand.New(rand.NewPCG(uint64(n), uint64(f)))
		v := make([]float64, n*f)
		for i := range v {
			v[i] = math.Ldexp(r.NormFloat64(), r.IntN(40)-20)
		}
		return vals(dtype, v, n, f)
	}
	rows := arr([]int64{0, 0, 4_097, int64(n) - 5, int64(n)}, 5)
	pose := []float64{.6, 0, .8, -.75, 0, 1, 0, 1, -.8, 0, .6, 2, 0, 0, 0, 1}
	poses := vals(tensor.F32, append(append(append(append([]float64{}, pose...), pose...), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1), pose...), 4, 4, 4)
	// Pairs: each cell of a row has two points, so that all voxels wait, and more than a warp handles together.
	pairs := 7_500 * times
	line := make([]float64, 2*3*pairs)
	for i := range 2 * pairs {
		line[3*i] = float64(i*7919%(2*pairs)/2) + .5
		if i%97 == 0 { // some cells have one point
			line[3*i+1] = 1
		}
	}
	two := vals(tensor.F32, line, 2*pairs, 3)
	row := ops.VoxelGrid{Max: [3]float64{float64(pairs), 2, 1}, Size: [3]float64{1, 1, 1}}
	// Crowds: a few cells have nearly all points: 33, hundreds or thousands.
	crowd := largeCloud(n)
	for i := range crowd {
		switch p := i / 3; {
		case p%5 < 2:
			crowd[i] = uint64(math.Float32bits(.01))
		case p%5 == 2:
			crowd[i] = uint64(math.Float32bits(float32(p%9) + .01))
		case p%5 == 3:
			crowd[i] = uint64(math.Float32bits(float32(p % 256 * 18 / 256)))
		}
	}
	contended := packed(tensor.F32, crowd, n, 3)
	// opposed returns points with values that cancel, except for one or two in each cell. The sum keeps their bits down to 2^-40 of
	// the others. sizes are the numbers of points in the cells.
	opposed := func(f int, sizes ...int) (points, features *array) {
		r, at, v := rand.New(rand.NewPCG(uint64(n), 11)), make([]float64, 3*n), make([]float64, n*f)
		large := make([]float64, f)
		for begin, cell := 0, 0; begin < n; cell++ {
			size := min(sizes[cell%len(sizes)], n-begin)
			for k := range size {
				at[3*(begin+k)] = float64(2*cell%n) + .5
				for i := range f {
					switch {
					case k+2-size%2 >= size || size == 2: // the rest
						v[(begin+k)*f+i] = math.Ldexp(1+r.Float64(), -18) * float64(1-2*r.IntN(2))
					case k%2 == 0:
						large[i] = math.Ldexp(1+r.Float64(), 20)
						v[(begin+k)*f+i] = large[i]
					default:
						v[(begin+k)*f+i] = -large[i]
					}
				}
			}
			begin += size
		}
		return vals(tensor.F32, at, n, 3), vals(tensor.F32, v, n, f)
	}
	apart, opposed4 := opposed(4, 2, 3, 5, 9, 16, 17, 40, 300, 1000)
	_, opposed3 := opposed(3, 2, 3, 5, 9, 16, 17, 40, 300, 1000)
	few, opposedFew4 := opposed(4, 3, 4, 5, 9) // more cells than a warp has lanes
	_, opposedFew1 := opposed(1, 3, 4, 5, 9)
	const near, far = 1.5, 7 // cells per point
	shaped := map[string]*voxelizing{
		"mean of 4":            {Points: cloud, Features: features(n, 4, tensor.F32), Box: cellsOf(61, 33, 29), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"max of 8, contended":  {Points: contended, Features: features(n, 8, tensor.F32), Box: cellsOf(32, 32, 32), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMax, Empty: -1}},
		"sum of 3, contended":  {Points: contended, Features: features(n, 3, tensor.F16), Box: cellsOf(40, 30, 20), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum, Order: ops.AxisXYZ}},
		"mean of 4, contended": {Points: contended, Features: features(n, 4, tensor.F32), Box: cellsOf(31, 33, 35), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"mean of coordinates":  {Points: cloud, Offsets: rows, Poses: poses, Box: cellsOf(20, 15, 31), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"f64":                  {Points: vals(tensor.F64, cloud.floats(), n, 3), Features: features(n, 2, tensor.F32), Box: cellsOf(61, 33, 30), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum}},
		"counts beside -1":     {Points: contended, Offsets: rows, Box: cellsOf(41, 31, 29), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceCount, Empty: -1}},
		"one cell":             {Points: packed(tensor.F32, make([]uint64, 3*n), n, 3), Features: features(n, 4, tensor.F32), Box: cellsOf(30, 30, 30), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"min of 33, wide":      {Points: cloud, Features: features(n, 33, tensor.BF16), Box: cellsOf(20, 21, 22), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMin}, Once: true},
	}
	if s.long {
		shaped["mean of 136, wide"] = &voxelizing{Points: cloud, Features: features(n, 136, tensor.F32), Box: cellsOf(20, 21, 22), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}, Once: true}
	}
	cases := map[string]*voxelizing{
		"mean of 1, a few cells": {Points: contended, Features: features(n, 1, tensor.F32), Box: cellsOf(5, 3, 2), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"min of 97, wide":        {Points: cloud, Features: features(n, 97, tensor.BF16), Box: cellsOf(9, 7, 11), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMin}},
		"mean of 388, wide":      {Points: cloud, Features: features(n, 388, tensor.F32), Box: cellsOf(4, 3, 5), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}, Once: true},
		"pairs":                  {Points: two, Features: features(2*pairs, 4, tensor.F32), Box: row, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"pairs in a large grid":  {Points: two, Features: features(2*pairs, 4, tensor.F32), Box: ops.VoxelGrid{Max: [3]float64{float64(pairs), 2, 9}, Size: [3]float64{1, 1, 1}}, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
		"sparse pairs":           {Points: two, Features: features(2*pairs, 4, tensor.F32), Box: row, Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceSum}},
		"many in few cells":      {Points: packed(tensor.F32, largeCloud(66_000), 66_000, 3), Box: cellsOf(16, 15, 14), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMin}, Once: true},
	}
	for _, y := range []float64{1, 6} {
		grid := ops.VoxelGrid{Max: [3]float64{float64(n), y, 1}, Size: [3]float64{1, 1, 1}}
		cases[fmt.Sprintf("sum of 4 that cancel, %g cells a point", y)] = &voxelizing{Points: apart, Features: opposed4, Box: grid, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum}}
		cases[fmt.Sprintf("mean of 3 that cancel, %g cells a point", y)] = &voxelizing{Points: apart, Features: opposed3, Box: grid, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}}
	}
	single := ops.VoxelGrid{Max: [3]float64{float64(n), 1, 1}, Size: [3]float64{1, 1, 1}}
	sparse := ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceSum}
	cases["sums of 4 that cancel, of sparse voxels"] = &voxelizing{Points: apart, Features: opposed4, Box: single, Opts: sparse}
	cases["sums of 4 that cancel, of many sparse voxels"] = &voxelizing{Points: few, Features: opposedFew4, Box: single, Opts: sparse}
	cases["sums that cancel, of many sparse voxels"] = &voxelizing{Points: few, Features: opposedFew1, Box: single, Opts: sparse}
	for name, c := range shaped {
		have := 1.0
		for a := range 3 {
			have *= math.Round((c.Box.Max[a] - c.Box.Min[a]) / c.Box.Size[a])
		}
		if c.Offsets != nil {
			have *= float64(len(c.Offsets.raw) - 1)
		}
		for _, want := range []float64{near, far} {
			by := math.Cbrt(want * float64(n) / have)
			copied := *c
			for a := range 3 {
				cells := math.Round((c.Box.Max[a] - c.Box.Min[a]) / c.Box.Size[a] * by)
				copied.Box.Size[a] = (c.Box.Max[a] - c.Box.Min[a]) / cells
			}
			cases[fmt.Sprintf("%s, %g cells a point", name, want)] = &copied
		}
	}
	if !s.simulated { // more cells than a block takes from a bucket, and more than are distributed
		cases["two parts"] = &voxelizing{Points: cloud, Features: features(n, 1, tensor.F32), Box: cellsOf(300, 200, 145), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMax}, Once: true}
		cases["large"] = &voxelizing{Points: cloud, Features: features(n, 4, tensor.F32), Box: cellsOf(330, 330, 330), Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}, Once: true}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		s.large(t, name, cases[name], 2*pairs, layouts[0])
	}
	// A grid that is not aligned to 16 bytes.
	for _, cells := range []float64{near, far} {
		name := fmt.Sprintf("mean of 4, %g cells a point", cells)
		s.large(t, name, cases[name], 0, layouts[1])
	}
}
