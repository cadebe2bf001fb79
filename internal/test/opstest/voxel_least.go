package opstest

import (
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// leastSize has cell sizes with a rounded inverse above the exact one. A coordinate that is half a size below Min, in units of the
// smallest subnormal float32, lies in the first cell, because the quotient rounds to -0. Its product with the inverse does not round
// to -0.
var leastSize = [3]float64{6, 10, 22}

// leastBox returns a grid of such cells that begins at 0.
func leastBox(x, y, z float64) ops.VoxelGrid {
	return ops.VoxelGrid{Max: [3]float64{x * leastSize[0], y * leastSize[1], z * leastSize[2]}, Size: leastSize}
}

// leastPoints returns n points near 0, up to a cell's size away in units of the smallest subnormal float32. Half of them are half as
// far below 0 along one axis.
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

// leastCoordinates tests that the cell is decided by the rounded quotient, even if it is subnormal or -0, and not by a product with
// the inverse.
func (s *suite) leastCoordinates(t *testing.T) {
	box := leastBox(3, 3, 3)
	for _, opts := range voxelForms {
		got := s.voxelized(t, &voxelizing{Points: leastPoints(60), Box: box, Opts: opts})
		if got.found.InRange < 30 || got.found.OutOfRange == 0 {
			t.Errorf("%+v: the cases tell no division from a product", got.found)
		}
	}
}
