package opstest

import (
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// leastSize are cell sizes whose rounded inverse is above the true one: half of one below Min, counted in least float32 numbers, a coordinate
// is in the first cell, as the quotient is rounded to -0, which its product with the inverse is not.
var leastSize = [3]float64{6, 10, 22}

// leastBox is a grid of such cells from 0.
func leastBox(x, y, z float64) ops.VoxelGrid {
	return ops.VoxelGrid{Max: [3]float64{x * leastSize[0], y * leastSize[1], z * leastSize[2]}, Size: leastSize}
}

// leastPoints are n points around 0, up to a cell's size away in least float32 numbers, half of them half as far below it along an axis.
func leastPoints(n int) *array {
	r := rng(79)
	xyz := make([]float64, 3*n)
	for i := range xyz {
		size := int(leastSize[i%3])
		k := r.IntN(2*size+1) - size
		if axis := i / 3 % 6; axis < 3 {
			k = max(k, 0)
			if axis == i%3 {
				k = -size / 2
			}
		}
		xyz[i] = float64(k) * math.SmallestNonzeroFloat32
	}
	return vals(tensor.F32, xyz, n, 3)
}

// leastCoordinates: where a quotient is rounded to a least number or to -0, it decides on the cell, and no product in its place.
func (s *suite) leastCoordinates(t *testing.T) {
	box := leastBox(3, 3, 3)
	for _, opts := range voxelForms {
		got := s.voxelized(t, &voxelizing{Points: leastPoints(60), Box: box, Opts: opts})
		if got.found.InRange < 30 || got.found.OutOfRange == 0 {
			t.Errorf("%+v: the cases tell no division from a product", got.found)
		}
	}
}
