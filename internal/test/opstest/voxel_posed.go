package opstest

import (
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// posedPlaces tests that each step of a pose rounds to nearest. Along one axis the cells are one unit in the last place of the
// result, so a wrong rounding gives another cell.
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
			for _, c.Opts = range []ops.VoxelizeOptions{countGrid, {Reduce: ops.ReduceOccupancy}, {Mode: ops.VoxelSparse, Reduce: ops.ReduceCount}} {
				s.voxelCheck(t, c)
			}
			c.Box.Size[axis] = 8 * place // some cells have several points, for means of posed coordinates
			c.Opts = ops.VoxelizeOptions{Reduce: ops.ReduceMean}
			s.voxelCheck(t, c)
		}
	}
}

// firstCells tests that the first cell of each row gets that row's points and pose, for one point, a few, many, and so many that a
// backend divides them.
func (s *suite) firstCells(t *testing.T) {
	const rows, cells = 3, 4
	for _, each := range []int{1, 3, 20, 300} { // points in the first cell; the last cell has one
		var xyz []float64
		for range rows {
			for i := range each + 1 {
				x := .25 + .5*float64(i)/float64(each+1)
				if i == each {
					x += cells - 1
				}
				xyz = append(xyz, x, .5, .5)
			}
		}
		poses := make([]float64, 16*rows)
		for b := range rows { // each row is shifted a little further
			for k := range 4 {
				poses[16*b+5*k] = 1
			}
			poses[16*b+3] = .0625 * float64(b)
		}
		c := &voxelizing{Name: fmt.Sprint(each, " points"), Points: vals(tensor.F32, xyz, rows*(each+1), 3), Poses: vals(tensor.F32, poses, rows, 4, 4),
			Offsets: arr([]int64{0, int64(each + 1), int64(2 * (each + 1)), int64(3 * (each + 1))}, rows+1)}
		for _, wide := range []float64{1, 200} { // at most as many cells as points, and more
			c.Box = ops.VoxelGrid{Max: [3]float64{cells, wide, 1}, Size: [3]float64{1, 1, 1}}
			for _, reduce := range []ops.Reduce{ops.ReduceSum, ops.ReduceMean, ops.ReduceMax, ops.ReduceMin} {
				c.Opts = ops.VoxelizeOptions{Reduce: reduce}
				s.voxelCheck(t, c)
				c.Opts.Mode = ops.VoxelSparse
				s.voxelCheck(t, c)
			}
		}
	}
}
