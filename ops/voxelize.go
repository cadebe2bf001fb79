package ops

import (
	"fmt"
	"math"

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

// VoxelMode is the form of the result.
type VoxelMode uint8

// The modes.
const (
	// DenseVoxels fills a grid tensor, every cell of it.
	VoxelDense VoxelMode = iota
	// HardVoxels lists the voxels in the order of their first points, with the first MaxPoints points of each, in order.
	VoxelHard
	// SparseVoxels lists the voxels that hold points, in the order of their place in the grid tensor, with a reduction of each.
	VoxelSparse
	voxelModes
)

var voxelModeNames = [...]string{"dense", "hard", "sparse"}

// String returns the mode's name in lower case.
func (m VoxelMode) String() string { return nameOf(voxelModeNames[:], int(m), "mode") }

// ParseVoxelMode returns the mode of a name, as String writes it.
func ParseVoxelMode(name string) (VoxelMode, error) {
	return parse[VoxelMode]("mode", voxelModeNames[:], name)
}

// VoxelReduce says what a voxel makes of its points.
type Reduce uint8

// The reductions. In sums and means, a cell's n values x give s within ulp32(s) + n * 2^-40 * max|x|, the same bits in any
// order of the points: they are added as integers, relative to the greatest exponent in the cell. A NaN makes its
// cell's result NaN; infinities add as in IEEE; a sum of exactly zero is +0. For the greatest and the smallest -0 is less than +0.
//
// All of that is computed in float64 where what is reduced, or the output, is f64: s then lies within ulp64(s) + n * 2^-90 * max|x|, no
// sum overflows on the way to one that does not, and an f32 output gets that result, rounded once.
const (
	ReduceDefault   Reduce = iota // occupancy in a dense grid, the mean in sparse voxels
	ReduceOccupancy               // u8: 1 where there is a point
	ReduceCount                   // i32: the number of points
	ReduceSum                     // f32 or f64, each feature
	ReduceMean                    // f32 or f64, each feature
	ReduceMax                     // f32 or f64, each feature
	ReduceMin                     // f32 or f64, each feature
	ReduceMajority                // i32: the commonest of Labels; a tie takes the smallest
	voxelReduces
)

var voxelReduceNames = [...]string{"default", "occupancy", "count", "sum", "mean", "max", "min", "majority"}

// String returns the reduction's name in lower case.
func (r Reduce) String() string { return nameOf(voxelReduceNames[:], int(r), "reduce") }

// ParseVoxelReduce returns the reduction of a name, as String writes it.
func ParseReduce(name string) (Reduce, error) {
	return parse[Reduce]("reduce", voxelReduceNames[:], name)
}

// OfFeatures reports whether the reduction is made of each feature: sum, mean, max and min.
func (r Reduce) OfFeatures() bool { return r >= ReduceSum && r <= ReduceMin }

// DType returns the dtype of the reduction's values: f32 of features, though what is f64 gives f64 unless it is asked for otherwise.
func (r Reduce) DType() tensor.DType {
	switch {
	case r.OfFeatures():
		return tensor.F32
	case r == ReduceOccupancy:
		return tensor.U8
	}
	return tensor.I32
}

// AxisOrder is the order of a grid's dimensions and of the columns of coordinates.
type AxisOrder uint8

// The orders.
const (
	AxisZYX AxisOrder = iota // x is the fastest dimension
	AxisXYZ                  // z is
	axisOrders
)

var axisOrderNames = [...]string{"zyx", "xyz"}

// String returns the order's name in lower case.
func (o AxisOrder) String() string { return nameOf(axisOrderNames[:], int(o), "order") }

// ParseAxisOrder returns the order of a name, as String writes it.
func ParseAxisOrder(name string) (AxisOrder, error) {
	return parse[AxisOrder]("order", axisOrderNames[:], name)
}

// nameOf returns the name of a numbered constant.
func nameOf(names []string, i int, what string) string {
	if i >= len(names) {
		return fmt.Sprintf("%s(%d)", what, i)
	}
	return names[i]
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

// VoxelCounts says what became of every point: Points = InRange + OutOfRange + NotFinite. Caps do not lower InRange.
type VoxelCounts struct {
	Points     int64 // all that were given
	InRange    int64 // in a cell of the grid
	OutOfRange int64 // finite, outside the grid
	NotFinite  int64 // with a NaN or infinite coordinate, after the pose

	Voxels        int64 // hard, sparse: the voxels written
	DroppedVoxels int64 // hard, sparse: found, beyond MaxVoxels or the length of the outputs
	DroppedPoints int64 // hard, sparse: in range, in no voxel that was written, or beyond MaxPoints
}

// VoxelizePlan is a Voxelize bound to its tensors.
type VoxelizePlan interface {
	Plan
	// Counts returns the counters of the last run. Its stream must have been synchronised. After a run that ended in a
	// *ValueError they are unspecified, as the outputs are.
	Counts() (VoxelCounts, error)
}

// VoxelizeResult is what Device.Voxelize returns: its arguments with the outputs that it allocated, and the counters.
type VoxelizeResult struct {
	VoxelizeArgs
	Found VoxelCounts
}
