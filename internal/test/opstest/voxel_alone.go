package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// alone tests voxels with a single point, for values such as 0, -0 and NaN. There are so many voxels that threads handle several
// together, with one feature and with four.
func (s *suite) alone(t *testing.T) {
	const n = 768
	values := []float64{math.Copysign(0, -1), 0, 1, math.Copysign(0, -1), math.NaN(), -1, math.Copysign(0, -1), 1e-40}
	xyz := make([]float64, 3*n)
	for i := range n {
		xyz[3*i], xyz[3*i+1], xyz[3*i+2] = float64(i%16)+.5, float64(i/16%12)+.5, float64(i/192)+.5
	}
	r := rng(57)
	box := ops.VoxelGrid{Max: [3]float64{16, 12, 4}, Size: [3]float64{1, 1, 1}}
	for _, f := range []int{3, 4} {
		v := make([]float64, n*f)
		for i := range v {
			v[i] = values[r.IntN(len(values))]
		}
		for _, reduce := range []ops.Reduce{ops.ReduceSum, ops.ReduceMin} {
			for _, mode := range []ops.VoxelMode{ops.VoxelSparse, ops.VoxelDense} {
				s.voxelCheck(t, &voxelizing{Name: fmt.Sprint("alone, ", f), Points: cloud(xyz...), Features: vals(tensor.F32, v, n, f), Box: box, Opts: ops.VoxelizeOptions{Mode: mode, Reduce: reduce}})
			}
		}
	}
}
