package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cutSums tests that bits more than 40 below the largest value of a voxel do not count, and that all higher bits do. Two large values
// cancel, so the sum is the rest of the small ones. The large ones come first, so that a device that divides a voxel's points into
// parts has parts without a large value.
func (s *suite) cutSums(t *testing.T) {
	last := 1 + math.Ldexp(1, -23) // the last bit of a float32
	// The value of point i among the small ones, in a voxel of n points with a largest value of 1.
	kinds := []func(i, n int) float64{
		func(i, n int) float64 { return math.Ldexp(1+float64(i), -20) }, // nothing is cut off
		func(i, n int) float64 { return kept(i == n-1, math.Ldexp(last, -16)) },
		func(i, n int) float64 { return kept(i == n-1, math.Ldexp(last, -17)) },
		func(i, n int) float64 { return kept(i == n-1, -math.Ldexp(last, -18)) },
		func(i, n int) float64 { return kept(i == n-1, math.Ldexp(last, -19)) },
		func(i, n int) float64 { return kept(i%2 == 0, math.Ldexp(last, -30)) },
		func(i, n int) float64 { return math.Ldexp(-1.5, -41) },
		func(i, n int) float64 { return kept(i == n-1, math.Inf(1)) },
		func(i, n int) float64 { return kept(i == 2, math.NaN()) + math.Ldexp(last, -30) },
	}
	sizes := []int{3, 16, 17, 257, 600}
	for _, f := range []int{1, 3, 4} {
		for first := range kinds {
			var xyz, v []float64
			for cell, n := range sizes {
				for i := range n {
					xyz = append(xyz, float64(cell)+.5, .5, .5)
					for k := range f {
						kind, large := kinds[(first+cell+k)%len(kinds)], math.Ldexp(1, 10*k-5)
						v = append(v, []float64{large, -large, large * kind(i, n)}[min(i, 2)])
					}
				}
			}
			points := len(xyz) / 3
			c := &voxelizing{Name: fmt.Sprintf("cut sums, %d features, kind %d", f, first), Points: vals(tensor.F32, xyz, points, 3), Features: vals(tensor.F32, v, points, f)}
			// Grids with fewer cells than points, and with more.
			row := ops.VoxelGrid{Max: [3]float64{float64(len(sizes)), 1, 1}, Size: [3]float64{1, 1, 1}}
			many := row
			many.Max[1] = 400
			for _, form := range []voxelizing{
				{Box: row, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceSum}},
				{Box: many, Opts: ops.VoxelizeOptions{Reduce: ops.ReduceMean}},
				{Box: row, Opts: ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceSum}},
			} {
				c.Box, c.Opts = form.Box, form.Opts
				if s.voxelCheck(t, c); t.Failed() {
					return
				}
			}
		}
	}
}

// kept returns x if keep is set, otherwise 0.
func kept(keep bool, x float64) float64 {
	if keep {
		return x
	}
	return 0
}
