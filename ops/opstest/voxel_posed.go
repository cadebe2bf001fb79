package opstest

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// posedPlaces: each step of a pose is rounded, to nearest. Cells are as long as the last place of what a pose gives, along one axis, so
// that a result one place off is in another cell.
func (s *suite) posedPlaces(t *testing.T) {
	const cells, points = 1 << 12, 400
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F64} {
		place := 0x1p-23
		if dtype == tensor.F64 {
			place = 0x1p-52
		}
		for axis := range 3 {
			r := rng(uint64(70 + axis))
			c := &voxelizing{Name: fmt.Sprint("axis ", axis), Box: ops.VoxelGrid{Min: [3]float64{-64, -64, -64}, Max: [3]float64{64, 64, 64}, Size: [3]float64{128, 128, 128}}}
			c.Box.Min[axis], c.Box.Max[axis], c.Box.Size[axis] = 1, 1+cells*place, place
			pose := make([]float64, 16)
			for k := range 12 {
				pose[k] = r.Float64() - .5
			}
			row := pose[4*axis:][:4]
			row[axis] = .75 + r.Float64()/8
			xyz := make([]float64, 0, 3*points)
			for range points {
				p := [3]float64{r.Float64() - .5, r.Float64() - .5, r.Float64() - .5}
				p[axis] = 0
				rest := row[0]*p[0] + row[1]*p[1] + row[2]*p[2] + row[3]
				p[axis] = (1 + r.Float64()*cells*place - rest) / row[axis]
				xyz = append(xyz, p[:]...)
			}
			c.Points, c.Poses = vals(dtype, xyz, points, 3), vals(dtype, pose, 4, 4)
			for _, c.Opts = range []ops.VoxelizeOptions{countGrid, {Reduce: ops.ReduceOccupancy}, {Mode: ops.SparseVoxels, Reduce: ops.ReduceCount}} {
				s.voxelCheck(t, c)
			}
			if dtype == tensor.F32 { // means of posed coordinates, where cells have more than a point
				c.Box.Size[axis] = 0x1p-20
				c.Opts = ops.VoxelizeOptions{Reduce: ops.ReduceMean}
				s.voxelCheck(t, c)
			}
		}
	}
}
