package opstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// writtenVoxels returns a grid of occupancy or counts with a long fastest dimension. A sector is 32 bytes of it. The case determines
// the sectors that groups of four points write: groups share a sector with other groups, all points or none share one, or there are
// more sectors than a block can remember. A backend may combine the writes in a sector.
func writtenVoxels(r *rand.Rand, dtype tensor.DType, reduce ops.Reduce) *voxelizing {
	n := []int{255, 1024, 1029, 2048, 2500}[r.IntN(5)]
	c := &voxelizing{Name: "written", Opts: ops.VoxelizeOptions{Reduce: reduce, Order: ops.AxisOrder(r.IntN(2))}}
	const group = 4            // points that a thread may take together
	cells, sectors := 32, 1200 // cells in a sector, and sectors
	if reduce == ops.ReduceCount {
		cells = 8
	} else if r.IntN(4) == 0 {
		c.Opts.Empty = []float64{3, 255}[r.IntN(2)]
	}
	long := 2 // the fastest axis
	if c.Opts.Order == ops.AxisZYX {
		long = 0
	}
	b := []int{1, 1, 4, 7}[r.IntN(4)]
	for a := range 3 {
		c.Box.Min[a], c.Box.Max[a], c.Box.Size[a] = -1, 0, 1
	}
	less := []int{r.IntN(cells), 1}[r.IntN(4)/3]
	c.Box.Max[long] = float64(cells*sectors-less) - 1 // the last sector, and its last group of eight cells, may be incomplete
	if b == 1 && r.IntN(2) == 0 {
		c.Box.Max[1] = 1
	}

	together := []int{0, 1, 2, 3, 4, 5, 32, 64}[r.IntN(8)] // groups at a block's start that write one sector, with one point each
	within := r.IntN(3) == 0                               // or with two points each, in a sector that only the group writes
	apart := r.Perm(sectors)
	xyz := make([]float64, 3*n)
	for i := range n {
		block, thread := i/(256*group), i/group%256
		sector := apart[i%sectors]
		switch {
		case thread < together && within && i%group >= 2:
			sector = apart[(i-i%group+2)%sectors]
		case thread < together && !within && i%group == 0:
			sector = apart[block%sectors]
		case r.IntN(16) == 0:
			sector = sectors - 1
		case together == 64: // few sectors with many points
			sector = apart[r.IntN(5)]
		}
		p := xyz[3*i:][:3]
		for a := range p {
			p[a] = -1 + r.Float64()*(c.Box.Max[a]+1)
		}
		p[long] = float64(sector*cells+r.IntN(cells)) - 1 + .25 + r.Float64()/2
		if thread >= together && r.IntN(12) == 0 {
			p[r.IntN(3)] = []float64{math.NaN(), math.Inf(1), -3, 1e9}[r.IntN(4)]
		}
	}
	c.Points = vals(dtype, xyz, n, 3)
	if r.IntN(3) == 0 {
		c.Points = c.Points.restride([]int{4, 1}, 1, 1, poison(dtype))
	}
	if b > 1 {
		offsets := make([]int64, b+1)
		for i := range offsets {
			offsets[i] = int64(n * i / b)
		}
		c.Offsets = arr(offsets, b+1)
	}
	if r.IntN(3) == 0 {
		poses := make([]float64, 16*b)
		for i := range poses {
			if i%16%5 == 0 {
				poses[i] = 1
			}
			if i%16 == 4*long+3 {
				poses[i] = float64(r.IntN(3 * cells)) // each row is shifted differently
			}
		}
		c.Poses = vals(dtype, poses, b, 4, 4)
	}
	return c
}

// written tests grids that are written point by point.
func (s *suite) written(t *testing.T) {
	for i := range 48 {
		c := writtenVoxels(rng(uint64(3000+i)), []tensor.DType{tensor.F32, tensor.F64}[i%2], []ops.Reduce{ops.ReduceCount, ops.ReduceOccupancy}[i/2%2])
		c.Number, c.Planned, c.Name = i/4, i >= 4, fmt.Sprint("written ", i)
		s.voxelCheck(t, c)
	}
}

// writtenBorders tests points on and near the borders of cells along each axis, where a product with 1/size gives another cell than a
// division, or where the last bit of the size matters.
func (s *suite) writtenBorders(t *testing.T) {
	for i, size := range []float64{.02, .05, .1, .7, 18. / 47} {
		for _, dtype := range []tensor.DType{tensor.F32, tensor.F64} {
			for axis := range 3 {
				const cells = 400
				c := &voxelizing{Name: fmt.Sprint("borders of ", size), Planned: true, Number: i + axis}
				for a := range 3 {
					c.Box.Max[a], c.Box.Size[a] = size, size
				}
				c.Box.Max[axis] = cells * size
				var xyz []float64
				for k := 1; k < cells; k++ {
					x := decode(dtype, encode(dtype, float64(k)*size))
					if dtype == tensor.F32 {
						x = float64(float32(k) * float32(size))
					}
					for _, to := range []float64{x, math.Nextafter(x, 0), float64(math.Nextafter32(float32(x), 0))} {
						p := [3]float64{size / 2, size / 2, size / 2}
						p[axis] = to
						xyz = append(xyz, p[:]...)
					}
				}
				c.Points = vals(dtype, xyz, len(xyz)/3, 3)
				for _, reduce := range []ops.Reduce{ops.ReduceCount, ops.ReduceOccupancy} {
					c.Opts.Reduce = reduce
					s.voxelCheck(t, c)
				}
			}
		}
	}
}

// writtenLast tests an occupancy grid that ends inside a group of eight bytes. Some points are in the last cells and many in the first,
// so that a backend combines writes. It must write nothing after the grid.
func (s *suite) writtenLast(t *testing.T) {
	const cells = 8*40 + 7
	for i, dtype := range []tensor.DType{tensor.F32, tensor.F32, tensor.F64} {
		var xyz []float64
		for k := range 700 {
			x := .5
			if k%9 == 0 {
				x = float64(cells-1-k/9%10) + .5
			}
			xyz = append(xyz, x, .5, .5)
		}
		c := &voxelizing{Name: fmt.Sprint("last ", i), Points: vals(dtype, xyz, 700, 3), Box: ops.VoxelGrid{Max: [3]float64{cells, 1, 1}, Size: [3]float64{1, 1, 1}}}
		if i == 1 {
			c.Points = c.Points.restride([]int{4, 1}, 1, 1, poison(dtype))
		}
		s.voxelCheck(t, c)
	}
}
