package ops

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// VoxelGrid is a box of equal cells. Components are in the order x, y, z, whatever the order of the output's axes.
//
// There are round((Max - Min) / Size) cells along an axis, computed in float64, halves away from zero. A point's cell is
// floor((p - Min) / Size), each step rounded in the points' own type. It is in range if it is one of the cells; nothing
// else decides, so that a point on Max usually is not.
type VoxelGrid struct {
	Min, Max, Size [3]float64
}

const (
	maxCells = 1 << 40       // of a grid
	maxAxis  = math.MaxInt32 // cells along an axis: coordinates are i32
	maxKeys  = 1 << 62       // cells of all rows of a batch together
)

// Cells returns the number of cells along x, y and z. The error is an *ArgError: a size that is not positive, a range without
// cells, more than 2^31-1 cells along an axis, more than 2^40 in all.
func (g VoxelGrid) Cells() ([3]int, error) {
	c := checker{op: "Voxelize"}
	return g.cells(&c), c.err
}

func (g VoxelGrid) cells(c *checker) (n [3]int) {
	all := 1.0
	for i, axis := range []string{"x", "y", "z"} {
		lo, hi, size := g.Min[i], g.Max[i], g.Size[i]
		switch count := math.Round((hi - lo) / size); {
		case !(float32(size) > 0) || math.IsInf(float64(float32(size)), 1):
			c.set("Grid.Size", ErrOption, fmt.Sprintf("%g along %s", size, axis), "a positive float32")
		case math.IsInf(float64(float32(lo)), 0) || math.IsInf(hi, 0) || math.IsNaN(hi-lo):
			c.set("Grid", ErrOption, fmt.Sprintf("%g to %g along %s", lo, hi, axis), "finite float32 numbers")
		case count < 1:
			c.set("Grid", ErrOption, fmt.Sprintf("%g to %g in cells of %g along %s", lo, hi, size, axis), "at least one cell")
		case count > maxAxis:
			c.set("Grid", ErrTooLarge, fmt.Sprintf("%.0f cells along %s", count, axis), "at most 2^31-1")
		default:
			n[i] = int(count)
			all *= count
		}
	}
	if c.err == nil && all > maxCells {
		c.set("Grid", ErrTooLarge, fmt.Sprintf("%d x %d x %d cells", n[0], n[1], n[2]), "at most 2^40")
	}
	return n
}

// VoxelizeArgs are the tensors of Voxelize. What is written comes first. N points, F features, V voxels that fit the
// outputs, P points a voxel.
//
// A batch is packed: Offsets [B+1] i64 says where each row's points begin. Dense grids then have a leading dimension B and
// coordinates a leading column, the row. Without Offsets there is one row, and neither.
//
// Inputs may be strided in every dimension but the last, so that Points and Features can be columns of one tensor [N,3+F], and
// may overlap each other: give the whole of it as Features to reduce the coordinates too. Outputs are contiguous.
//
// Where Grid or Values may be f32 or f64, the tensor that is given decides. One that is allocated is f64 if what goes into it is: what is
// reduced, or the points or features of hard voxels.
type VoxelizeArgs struct {
	Grid *tensor.Tensor // dense: [Z,Y,X] of the reduction's dtype, or [Z,Y,X,F] f32 or f64 where it is of features

	Values *tensor.Tensor // hard: [V,P,3+F] f32 or f64, x, y, z, then the features; sparse: [V,F] f32 or f64, or [V] i32 for a majority
	Coords *tensor.Tensor // hard, sparse: [V,3] i32, in the order of the grid's dimensions, or [V,4] with the row in front
	Counts *tensor.Tensor // hard, sparse: [V] i32, the points in each voxel; hard: at most P

	RowSplits  *tensor.Tensor // hard, sparse: [B+1] i64, optional: where each row's voxels begin, and the end of the last
	PointVoxel *tensor.Tensor // hard, sparse: [N] i32, optional: each point's voxel, -1 if none kept it

	Points   *tensor.Tensor // [N,3] f32, or f64, which is binned in float64
	Features *tensor.Tensor // [N,F] f32, f64, f16 or bf16; where a reduction has none, the points themselves
	Labels   *tensor.Tensor // [N] i32, for the majority
	Offsets  *tensor.Tensor // [B+1] i64
	// Poses is [4,4], or [B,4,4], of the points' dtype; f64 points take f32 too, widened. p' = ((m0*x + m1*y) + m2*z) + m3, each step in the
	// points' type, is what is binned, and what values are made of.
	Poses *tensor.Tensor
}

// VoxelizeOptions says what voxels are made. The zero value is a dense grid of occupancy.
type VoxelizeOptions struct {
	Mode   VoxelMode
	Reduce Reduce // dense, sparse. Sparse voxels with occupancy or count have no Values
	Order  AxisOrder
	// MaxPoints is P, for hard voxels: points beyond it are dropped, and counted.
	MaxPoints int
	// MaxVoxels bounds the voxels of each row, hard or sparse: those beyond it in order are dropped, and counted. 0 is no bound.
	MaxVoxels int
	// Empty is the value of a dense grid's empty cells.
	Empty float64
}

// VoxelPreset returns the options that give another library's voxels: "mmcv" or "open3d".
//
// "mmcv" is mmcv's deterministic hard voxelisation, with its defaults of 35 points and 20000 voxels, which the caller may
// change. Its batches are one call a sample, so a row here is a sample there.
//
// "open3d" is Open3D's PointCloud.voxel_down_sample: the mean of each voxel, on the grid that [Open3DGrid] lays. Open3D
// computes in float64, so its cells and means need f64 points, and f64 features; its order of voxels is unspecified, here it is that of
// the cells.
func VoxelPreset(name string) (VoxelizeOptions, error) {
	switch name {
	case "mmcv":
		return VoxelizeOptions{Mode: VoxelHard, MaxPoints: 35, MaxVoxels: 20000}, nil
	case "open3d":
		return VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceMean, Order: AxisXYZ}, nil
	}
	return VoxelizeOptions{}, &ArgError{Op: "Voxelize", Arg: "preset", Kind: ErrOption, Got: fmt.Sprintf("%q", name), Want: "mmcv or open3d"}
}

// VoxelCounts says what became of the points. Its fields, all int64, are
//
//	Points         all that were given
//	InRange        in a cell of the grid
//	OutOfRange     finite, outside the grid
//	NotFinite      with a NaN or infinite coordinate, after the pose
//	Voxels         hard, sparse: the voxels written
//	DroppedVoxels  hard, sparse: found, beyond MaxVoxels or the length of the outputs
//	DroppedPoints  hard, sparse: in range, in no voxel that was written, or beyond MaxPoints
//
// Points = InRange + OutOfRange + NotFinite.
type VoxelCounts = backend.VoxelCounts

// VoxelizeResult is what Voxelize wrote, as in [VoxelizeArgs], and what became of the points.
type VoxelizeResult struct {
	Grid, Values, Coords, Counts, RowSplits, PointVoxel *tensor.Tensor

	Found VoxelCounts
}
