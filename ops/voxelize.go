package ops

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// VoxelGrid is a box with equal cells. Components are in the order x, y, z, whichever order the output's axes have.
//
// Along an axis there are round((Max - Min) / Size) cells, computed in float64, with halves rounded away from zero. A
// point's cell is floor((p - Min) / Size), and each step rounds in the points' own dtype. The point is in range exactly
// if that cell exists. So a point on Max is usually out of range. Example: Min 0, Max 4 and Size 0.5 give 8 cells along
// an axis.
//
// Border cuts that many cells off at each end of an axis: there are 2 * Border cells fewer, a point's cell is floor((p -
// Min) / Size) - Border, and the points in the cells that are cut off are out of range.
type VoxelGrid struct {
	Min, Max, Size [3]float64
	Border         int
}

// PerActGrid returns PerAct's grid of 100 cells along each axis, for bounds in metres. Its cells begin one cell before
// min, and it has a border of one. As in PerAct, a cell has the size (max - min) / 100, and 1e-12 is added to the
// divisor, all in float32.
func PerActGrid(min, max [3]float64) (VoxelGrid, error) {
	g := VoxelGrid{Border: 1}
	for a := range 3 {
		size := (float32(max[a]) - float32(min[a])) / 100
		if !(size > 0) {
			got := fmt.Sprintf("%g to %g along %s", min[a], max[a], "xyz"[a:a+1])
			return g, &ArgError{Op: "Voxelize", Arg: "Grid", Kind: ErrOption, Got: got, Want: "a maximum above the minimum"}
		}
		g.Min[a], g.Size[a] = float64(float32(min[a])-size), float64(size+1e-12)
		g.Max[a] = g.Min[a] + float64(102*g.Size[a])
	}
	_, err := g.Cells()
	return g, err
}

const (
	maxCells = 1 << 40       // of a grid
	maxAxis  = math.MaxInt32 // cells along an axis: coordinates are i32
	maxKeys  = 1 << 62       // cells of all rows of a batch together
)

// Cells returns the number of cells along x, y and z. It returns an *ArgError if a size is not positive, if a range has
// no cells, or if there are more than 2^31-1 cells along an axis or 2^40 in all.
func (g VoxelGrid) Cells() ([3]int, error) {
	c := checker{op: "Voxelize"}
	return g.cells(&c), c.err
}

func (g VoxelGrid) cells(c *checker) (n [3]int) {
	all := 1.0
	for i, axis := range []string{"x", "y", "z"} {
		lo, hi, size := g.Min[i], g.Max[i], g.Size[i]
		switch count := math.Round((hi-lo)/size) - 2*float64(g.Border); {
		case g.Border < 0 || g.Border > maxAxis/4:
			c.set("Grid.Border", ErrOption, fmt.Sprint(g.Border), "0 or a small number of cells")
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

// VoxelizeArgs has the tensors for [Device.Voxelize]. The outputs come first. N is the number of points, F of features,
// V of voxels that fit the outputs, and P of points per voxel.
//
// A batch is packed: Offsets [B+1] i64 has the position where each row's points begin. Dense grids then have a leading
// dimension B, and coordinates have a leading column with the row. Without Offsets there is one row, and neither of
// them.
//
// Inputs may be strided in every dimension except the last, so Points and Features can be columns of one tensor
// [N,3+F]. They may overlap: to reduce the coordinates too, pass the whole tensor as Features. Outputs are contiguous.
//
// If Grid or Values can be f32 or f64, the dtype of the given tensor decides. An allocated tensor is f64 if its inputs
// are f64: the reduced values, or the points or features of hard voxels.
type VoxelizeArgs struct {
	// Grid, for dense voxels, is [Z,Y,X] in the reduction's dtype. If features are reduced, it is [Z,Y,X,F] f32 or f64.
	Grid *tensor.Tensor

	// Values is [V,P,3+F] f32 or f64 for hard voxels: x, y, z, then the features. For sparse voxels it is [V,F] f32 or
	// f64, or [V] i32 for a majority.
	Values *tensor.Tensor
	Coords *tensor.Tensor // hard, sparse: [V,3] i32 in the order of the grid's dimensions, or [V,4] with the row first
	Counts *tensor.Tensor // hard, sparse: [V] i32, the points in each voxel; hard: at most P

	RowSplits  *tensor.Tensor // hard, sparse: [B+1] i64, optional: where each row's voxels begin, and the end of the last row
	PointVoxel *tensor.Tensor // hard, sparse: [N] i32, optional: each point's voxel, -1 if no voxel has it

	Points   *tensor.Tensor // [N,3] f32, or f64, which is binned in float64
	Features *tensor.Tensor // [N,F] f32, f64, f16 or bf16; if nil, a reduction uses the points
	Labels   *tensor.Tensor // [N] i32, for the majority
	Offsets  *tensor.Tensor // [B+1] i64
	// Poses is [4,4], or [B,4,4], in the points' dtype; with f64 points it may also be f32. Each point becomes p' =
	// ((m0*x + m1*y) + m2*z) + m3, computed step by step in the points' dtype, before it is binned and before values
	// are computed from it.
	Poses *tensor.Tensor
}

// VoxelizeOptions sets the form of the voxels. The zero value is a dense grid that marks occupied cells.
type VoxelizeOptions struct {
	Mode   VoxelMode
	Reduce Reduce // dense, sparse. With occupancy or count, sparse voxels have no Values
	Order  AxisOrder
	// MaxPoints is P, for hard voxels: further points in a voxel are dropped and counted. Example: 35.
	MaxPoints int
	// MaxVoxels limits the voxels in each row, hard or sparse: later voxels are dropped and counted. 0 means no limit.
	MaxVoxels int
	// Empty is the value in a dense grid's empty cells.
	Empty float64
}

// VoxelPreset returns options that reproduce another library's voxels: "mmcv", "open3d" or "peract".
//
// "mmcv" is mmcv's deterministic hard voxelisation with its defaults, 35 points and 20000 voxels, which the caller may
// change. mmcv is called once per sample, so a row here corresponds to a sample there.
//
// "open3d" is Open3D's PointCloud.voxel_down_sample: the mean in each voxel, on the grid from [Open3DGrid]. Open3D
// computes in float64, so equal cells and means require f64 points and f64 features. Open3D's order of voxels is
// unspecified; here it is the order of the cells.
//
// "peract" is the dense grid of PerAct's means, in the order x, y, z, on the grid from [PerActGrid]. PerAct adds with
// atomics, so its means differ in the last bits from run to run. Its ten channels are the means of x, y, z, the features
// and a feature that is 1 (which is 1 in occupied cells and 0 in others), with each cell's index / 100 before the last.
func VoxelPreset(name string) (VoxelizeOptions, error) {
	switch name {
	case "mmcv":
		return VoxelizeOptions{Mode: VoxelHard, MaxPoints: 35, MaxVoxels: 20000}, nil
	case "peract":
		return VoxelizeOptions{Reduce: ReduceMean, Order: AxisXYZ}, nil
	case "open3d":
		return VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceMean, Order: AxisXYZ}, nil
	}
	return VoxelizeOptions{}, &ArgError{
		Op: "Voxelize", Arg: "preset", Kind: ErrOption, Got: fmt.Sprintf("%q", name), Want: "mmcv, open3d or peract",
	}
}

// VoxelCounts has the number of points and voxels by outcome. Its fields, all int64, are
//
//	Points         all points
//	InRange        in a cell of the grid
//	OutOfRange     finite, outside the grid
//	NotFinite      with a NaN or infinite coordinate, after the pose
//	Voxels         hard, sparse: the voxels written
//	DroppedVoxels  hard, sparse: found, but beyond MaxVoxels or the length of the outputs
//	DroppedPoints  hard, sparse: in range, but in a dropped voxel or beyond MaxPoints
//
// Points = InRange + OutOfRange + NotFinite.
type VoxelCounts = backend.VoxelCounts

// VoxelizeResult is the result of [Device.Voxelize]: the outputs, as in [VoxelizeArgs], and the counts.
type VoxelizeResult struct {
	Grid, Values, Coords, Counts, RowSplits, PointVoxel *tensor.Tensor

	Found VoxelCounts
}
