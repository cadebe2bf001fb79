package backend

import (
	"slices"

	"github.com/robocache/robocache/tensor"
)

// VoxelizeTensors has the fields of ops.VoxelizeArgs.
type VoxelizeTensors struct {
	Grid *tensor.Tensor

	Values *tensor.Tensor
	Coords *tensor.Tensor
	Counts *tensor.Tensor

	RowSplits  *tensor.Tensor
	PointVoxel *tensor.Tensor

	Points   *tensor.Tensor
	Features *tensor.Tensor
	Labels   *tensor.Tensor
	Offsets  *tensor.Tensor
	Poses    *tensor.Tensor
}

// VoxelizeJob is a validated Voxelize. Strides are in elements.
//
// A cell's key is ((row*n0 + i0)*n1 + i1)*n2 + i2, with n and i in the order of the grid's dimensions. It is the cell's
// index in a dense grid, and sparse voxels are sorted by it.
type VoxelizeJob struct {
	VoxelizeTensors

	Mode   VoxelMode
	Reduce Reduce // never ReduceDefault; ReduceCount for hard voxels
	Order  AxisOrder
	Empty  float64

	Box       VoxelGrid
	Cells     [3]int // x, y, z
	N, B, F   int    // points, rows, features: for hard voxels the features in Values after x, y, z; otherwise the reduced features
	P, V      int    // points per voxel, and voxels that fit the outputs; 0 if dense
	RowVoxels int    // the most voxels in a row: the option MaxVoxels, or 2^31-1

	PointStep, FeatureStep int
	PoseBatch              int // 16, or 0 if all rows share one pose
	Batched                bool
}

// CellsARow returns the number of cells in one row.
func (j *VoxelizeJob) CellsARow() int { return j.Cells[0] * j.Cells[1] * j.Cells[2] }

// Keys returns the number of cells in all rows. Every key is below it.
func (j *VoxelizeJob) Keys() int { return j.B * j.CellsARow() }

// Axes returns x, y and z as 0, 1 and 2, in the order of the grid's dimensions.
func (j *VoxelizeJob) Axes() [3]int {
	if j.Order == AxisXYZ {
		return [3]int{0, 1, 2}
	}
	return [3]int{2, 1, 0}
}

// Wide reports whether points are binned in float64.
func (j *VoxelizeJob) Wide() bool { return j.Points.DType() == tensor.F64 }

// WidePoses reports whether poses are float32 although points are float64.
func (j *VoxelizeJob) WidePoses() bool {
	return j.Wide() && j.Poses != nil && j.Poses.DType() == tensor.F32
}

// Double reports whether the inputs or the output of Grid or Values are float64: then everything is computed in
// float64.
func (j *VoxelizeJob) Double() bool {
	return (j.Reduce.OfFeatures() || j.Mode == VoxelHard) && (j.ValueType(nil) == tensor.F64 || j.ValueType(j.Out()) == tensor.F64)
}

// Out returns the tensor for reductions or hard voxels: Grid or Values, or nil.
func (j *VoxelizeJob) Out() *tensor.Tensor {
	if j.Grid != nil {
		return j.Grid
	}
	return j.Values
}

// ValueType returns the dtype for an output with features: the dtype of the given tensor, or else of the output's
// inputs.
func (j *VoxelizeJob) ValueType(given *tensor.Tensor) tensor.DType {
	is := func(t *tensor.Tensor, d tensor.DType) bool { return t != nil && t.DType() == d }
	switch {
	case is(given, tensor.F32):
	case is(given, tensor.F64), is(j.Features, tensor.F64), (j.Features == nil || j.Mode == VoxelHard) && j.Wide():
		return tensor.F64
	}
	return tensor.F32
}

// VoxelGrid is ops.VoxelGrid.
type VoxelGrid struct {
	Min, Max, Size [3]float64
	Border         int
}

// Output is an output with its required dtype and shape. Shape is nil if the job does not have this output.
type Output struct {
	Name     string
	T        **tensor.Tensor
	DType    tensor.DType
	Shape    []int
	Optional bool
	Either   bool // f32 and f64 are both accepted; DType is one of them
}

// Outputs lists the outputs for v voxels.
func (j *VoxelizeJob) Outputs(v int) []Output {
	out := []Output{
		{Name: "Grid", T: &j.Grid, DType: j.Reduce.DType()}, {Name: "Values", T: &j.Values, DType: j.ValueType(j.Values), Either: true},
		{Name: "Coords", T: &j.Coords, DType: tensor.I32}, {Name: "Counts", T: &j.Counts, DType: tensor.I32},
		{Name: "RowSplits", T: &j.RowSplits, DType: tensor.I64, Optional: true},
		{Name: "PointVoxel", T: &j.PointVoxel, DType: tensor.I32, Optional: true},
	}
	if j.Mode == VoxelDense {
		axes := j.Axes()
		shape := []int{j.Cells[axes[0]], j.Cells[axes[1]], j.Cells[axes[2]]}
		if j.Batched {
			shape = slices.Insert(shape, 0, j.B)
		}
		if j.Reduce.OfFeatures() {
			shape = append(shape, j.F)
			out[0].DType, out[0].Either = j.ValueType(j.Grid), true
		}
		out[0].Shape = shape
		return out
	}
	switch {
	case j.Mode == VoxelHard:
		out[1].Shape = []int{v, j.P, 3 + j.F}
	case j.Reduce.OfFeatures():
		out[1].Shape = []int{v, j.F}
	case j.Reduce == ReduceMajority:
		out[1].DType, out[1].Either, out[1].Shape = tensor.I32, false, []int{v}
	}
	columns := 3
	if j.Batched {
		columns = 4
	}
	out[2].Shape, out[3].Shape, out[4].Shape, out[5].Shape = []int{v, columns}, []int{v}, []int{j.B + 1}, []int{j.N}
	return out
}

// Bound returns the job's tensors.
func (j *VoxelizeJob) Bound() Bound {
	b := Bound{op: "Voxelize"}
	for _, o := range j.Outputs(j.V) {
		b.add(o.Name, *o.T)
	}
	b.outputs()
	b.add("Points", j.Points)
	b.add("Features", j.Features)
	b.add("Labels", j.Labels)
	b.add("Offsets", j.Offsets)
	b.add("Poses", j.Poses)
	return b
}

// OffsetsError returns the error for a row with bad offsets.
func (j *VoxelizeJob) OffsetsError(row int) error {
	return &ValueError{Op: "Voxelize", Arg: "Offsets", Row: row, Kind: ErrRows}
}

// VoxelCounts has the number of points and voxels by outcome: Points = InRange + OutOfRange + NotFinite. Limits such as
// MaxVoxels do not change InRange.
type VoxelCounts struct {
	Points     int64 // all points
	InRange    int64 // in a cell of the grid
	OutOfRange int64 // finite, outside the grid
	NotFinite  int64 // with a NaN or infinite coordinate, after the pose

	Voxels        int64 // hard, sparse: the voxels written
	DroppedVoxels int64 // hard, sparse: found, but beyond MaxVoxels or the length of the outputs
	DroppedPoints int64 // hard, sparse: in range, but in a dropped voxel or beyond MaxPoints
}
