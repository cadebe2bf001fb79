package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// VoxelizeJob is a validated Voxelize, as a backend gets it. Strides are in elements.
//
// A cell's key is ((row*n0 + i0)*n1 + i1)*n2 + i2, with n and i in the order of the grid's dimensions: its place in a dense
// grid, and its rank among sparse voxels.
type VoxelizeJob struct {
	VoxelizeArgs

	Mode   VoxelMode
	Reduce Reduce // never ReduceDefault; ReduceCount for hard voxels
	Order  AxisOrder
	Empty  float64

	Box       VoxelGrid
	Cells     [3]int // x, y, z
	N, B, F   int    // points, rows, features: those of Values less x, y, z if hard, those reduced otherwise
	P, V      int    // points a voxel, and the voxels that fit the outputs; 0 if dense
	RowVoxels int    // the most voxels of a row: MaxVoxels, or 2^31-1

	MaxVoxels              int
	PointStep, FeatureStep int
	PoseBatch              int // 16, or 0 for one pose for all rows
	Batched                bool
}

var featureTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}

// CellsARow returns the number of cells of one row.
func (j *VoxelizeJob) CellsARow() int { return j.Cells[0] * j.Cells[1] * j.Cells[2] }

// Keys returns the number of cells of all rows: keys are below it.
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

// WidePoses reports whether poses are of float32, and points not.
func (j *VoxelizeJob) WidePoses() bool {
	return j.Wide() && j.Poses != nil && j.Poses.DType() == tensor.F32
}

// Double reports whether what goes into Grid or Values is float64, or what comes out of them: then all of it is made in float64.
func (j *VoxelizeJob) Double() bool {
	return (j.Reduce.OfFeatures() || j.Mode == VoxelHard) && (j.valueType(nil) == tensor.F64 || j.valueType(j.Out()) == tensor.F64)
}

// Out returns the tensor that reductions or hard voxels go to: Grid or Values, or nil.
func (j *VoxelizeJob) Out() *tensor.Tensor {
	if j.Grid != nil {
		return j.Grid
	}
	return j.Values
}

// valueType is the dtype of an output of features: as given, or else that of what goes into it.
func (j *VoxelizeJob) valueType(given *tensor.Tensor) tensor.DType {
	is := func(t *tensor.Tensor, d tensor.DType) bool { return t != nil && t.DType() == d }
	switch {
	case is(given, tensor.F32):
	case is(given, tensor.F64), is(j.Features, tensor.F64), (j.Features == nil || j.Mode == VoxelHard) && j.Wide():
		return tensor.F64
	}
	return tensor.F32
}

// newVoxelizeJob validates the arguments against tensors on the given device.
func newVoxelizeJob(c *checker, a VoxelizeArgs, g VoxelGrid, o VoxelizeOptions) (*VoxelizeJob, error) {
	j := &VoxelizeJob{VoxelizeArgs: a}
	j.checkOptions(c, g, o)
	j.checkInputs(c)
	j.checkOutputs(c)
	return j, c.err
}

func (j *VoxelizeJob) checkOptions(c *checker, g VoxelGrid, o VoxelizeOptions) {
	j.Mode, j.Reduce, j.Order, j.Empty, j.P, j.MaxVoxels = o.Mode, o.Reduce, o.Order, o.Empty, o.MaxPoints, o.MaxVoxels
	switch {
	case o.Mode >= voxelModes:
		c.set("Options.Mode", ErrOption, o.Mode.String(), fmt.Sprintf("one of %v", voxelModeNames))
	case o.Reduce >= voxelReduces:
		c.set("Options.Reduce", ErrOption, o.Reduce.String(), fmt.Sprintf("one of %v", voxelReduceNames))
	case o.Order >= axisOrders:
		c.set("Options.Order", ErrOption, o.Order.String(), fmt.Sprintf("one of %v", axisOrderNames))
	case o.Mode == VoxelHard && o.Reduce != ReduceDefault:
		c.set("Options.Reduce", ErrOption, o.Reduce.String()+" of hard voxels", "default: they keep their points")
	case o.Mode == VoxelHard && (o.MaxPoints < 1 || o.MaxPoints > maxRow):
		c.set("Options.MaxPoints", ErrOption, fmt.Sprint(o.MaxPoints), "1 to 2^31-1 points a hard voxel")
	case o.Mode != VoxelHard && o.MaxPoints != 0:
		c.set("Options.MaxPoints", ErrOption, fmt.Sprint(o.MaxPoints), "0, but for hard voxels")
	case o.MaxVoxels < 0:
		c.set("Options.MaxVoxels", ErrOption, fmt.Sprint(o.MaxVoxels), "0 or more")
	case o.Mode == VoxelDense && o.MaxVoxels != 0:
		c.set("Options.MaxVoxels", ErrOption, fmt.Sprint(o.MaxVoxels), "0 for a dense grid")
	case o.Mode != VoxelDense && o.Empty != 0:
		c.set("Options.Empty", ErrOption, fmt.Sprint(o.Empty), "0, but for a dense grid")
	}
	if o.Reduce == ReduceDefault {
		j.Reduce = []Reduce{ReduceOccupancy, ReduceCount, ReduceMean}[min(o.Mode, voxelModes-1)]
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	switch j.Reduce.DType() {
	case tensor.U8:
		lo, hi = 0, math.MaxUint8
	case tensor.I32:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	if j.Reduce.DType() != tensor.F32 && !(o.Empty >= lo && o.Empty <= hi && o.Empty == math.Trunc(o.Empty)) {
		c.set("Options.Empty", ErrOption, fmt.Sprint(o.Empty), fmt.Sprintf("a whole number that %s holds", j.Reduce.DType()))
	}
	j.RowVoxels = maxRow
	if o.MaxVoxels > 0 {
		j.RowVoxels = min(o.MaxVoxels, maxRow)
	}
	if c.err == nil {
		j.Cells, j.Box = g.cells(c), g
	}
}

// checkInputs finds N, B and F.
func (j *VoxelizeJob) checkInputs(c *checker) {
	if !c.tensor("Points", j.Points) {
		return
	}
	c.dtype("Points", j.Points, tensor.F32, tensor.F64)
	if c.err == nil && (j.Points.Rank() != 2 || j.Points.Dim(1) != 3) {
		c.set("Points", ErrShape, tensor.FormatShape(j.Points.Shape()), "[N,3]")
	}
	c.lastContiguous("Points", j.Points)
	if c.err != nil {
		return
	}
	j.N, j.PointStep, j.B = j.Points.Dim(0), j.Points.Stride(0), 1
	if j.N > maxRow {
		c.set("Points", ErrTooLarge, fmt.Sprint(j.N), "at most 2^31-1 points")
	}
	j.checkFeatures(c)
	j.checkLabels(c)
	if j.Offsets != nil && c.tensor("Offsets", j.Offsets) {
		j.Batched = true
		c.dtype("Offsets", j.Offsets, tensor.I64)
		if c.err == nil && (j.Offsets.Rank() != 1 || j.Offsets.Dim(0) == 0) {
			c.set("Offsets", ErrShape, tensor.FormatShape(j.Offsets.Shape()), "[B+1]")
			return
		}
		c.lastContiguous("Offsets", j.Offsets)
		j.B = j.Offsets.Dim(0) - 1
		c.covered("Offsets", j.B, j.N, "points")
		if c.err == nil && (j.B > maxRow || float64(j.B)*float64(j.CellsARow()) > maxKeys) {
			c.set("Offsets", ErrTooLarge, fmt.Sprintf("%d rows of %d cells", j.B, j.CellsARow()), "at most 2^31-1 rows, and 2^62 cells in all")
		}
	}
	if j.Poses != nil && c.tensor("Poses", j.Poses) {
		c.dtype("Poses", j.Poses, tensor.F32, j.Points.DType())
		if j.Poses.Rank() == 3 {
			c.shape("Poses", j.Poses, j.B, 4, 4)
			j.PoseBatch = 16
		} else {
			c.shape("Poses", j.Poses, 4, 4)
		}
		if c.err == nil && !j.Poses.IsContiguous() {
			c.set("Poses", ErrStride, tensor.FormatShape(j.Poses.Strides()), "a contiguous tensor")
		}
	}
}

func (j *VoxelizeJob) checkFeatures(c *checker) {
	used := j.Reduce.OfFeatures() || j.Mode == VoxelHard
	switch {
	case c.err != nil:
	case j.Features == nil && j.Reduce.OfFeatures():
		j.F = 3
	case j.Features != nil && !used:
		c.set("Features", ErrOption, "features with "+j.Reduce.String(), "nil")
	case j.Features != nil && c.tensor("Features", j.Features):
		c.dtype("Features", j.Features, featureTypes...)
		if c.err == nil && (j.Features.Rank() != 2 || j.Features.Dim(0) != j.N || j.Features.Dim(1) == 0) {
			c.set("Features", ErrShape, tensor.FormatShape(j.Features.Shape()), fmt.Sprintf("[%d,F], F at least 1", j.N))
			return
		}
		c.lastContiguous("Features", j.Features)
		j.F, j.FeatureStep = j.Features.Dim(1), j.Features.Stride(0)
		c.limit("Features", j.F+3)
	}
}

func (j *VoxelizeJob) checkLabels(c *checker) {
	majority := j.Reduce == ReduceMajority
	switch {
	case c.err != nil:
	case majority && j.Labels == nil:
		c.set("Labels", ErrMissing, "nil", "a tensor for the majority")
	case !majority && j.Labels != nil:
		c.set("Labels", ErrOption, "labels with "+j.Reduce.String(), "nil")
	case majority && c.tensor("Labels", j.Labels):
		c.dtype("Labels", j.Labels, tensor.I32)
		c.shape("Labels", j.Labels, j.N)
		c.lastContiguous("Labels", j.Labels)
	}
}

// voxelOutput is an output; the shape is nil where it is not taken.
type voxelOutput struct {
	output
	optional bool
	either   bool // f32 or f64, of which output has one
}

// check checks the dtype and the shape of what was given.
func (o *voxelOutput) check(c *checker) {
	types := []tensor.DType{o.dtype}
	if o.either {
		types = []tensor.DType{tensor.F32, tensor.F64}
	}
	c.dtype(o.name, *o.t, types...)
	c.shape(o.name, *o.t, o.shape...)
}

// outputs lists the outputs for V voxels.
func (j *VoxelizeJob) outputs(v int) []voxelOutput {
	out := []voxelOutput{
		{output: output{name: "Grid", t: &j.Grid, dtype: j.Reduce.DType()}}, {output: output{name: "Values", t: &j.Values, dtype: j.valueType(j.Values)}, either: true},
		{output: output{name: "Coords", t: &j.Coords, dtype: tensor.I32}}, {output: output{name: "Counts", t: &j.Counts, dtype: tensor.I32}},
		{output: output{name: "RowSplits", t: &j.RowSplits, dtype: tensor.I64}, optional: true},
		{output: output{name: "PointVoxel", t: &j.PointVoxel, dtype: tensor.I32}, optional: true},
	}
	if j.Mode == VoxelDense {
		axes := j.Axes()
		shape := []int{j.Cells[axes[0]], j.Cells[axes[1]], j.Cells[axes[2]]}
		if j.Batched {
			shape = slices.Insert(shape, 0, j.B)
		}
		if j.Reduce.OfFeatures() {
			shape = append(shape, j.F)
			out[0].dtype, out[0].either = j.valueType(j.Grid), true
		}
		out[0].shape = shape
		return out
	}
	switch {
	case j.Mode == VoxelHard:
		out[1].shape = []int{v, j.P, 3 + j.F}
	case j.Reduce.OfFeatures():
		out[1].shape = []int{v, j.F}
	case j.Reduce == ReduceMajority:
		out[1].dtype, out[1].either, out[1].shape = tensor.I32, false, []int{v}
	}
	columns := 3
	if j.Batched {
		columns = 4
	}
	out[2].shape, out[3].shape, out[4].shape, out[5].shape = []int{v, columns}, []int{v}, []int{j.B + 1}, []int{j.N}
	return out
}

func (j *VoxelizeJob) checkOutputs(c *checker) {
	if c.err == nil && j.Mode != VoxelDense && c.tensor("Coords", j.Coords) {
		if j.Coords.Rank() != 2 {
			c.set("Coords", ErrShape, tensor.FormatShape(j.Coords.Shape()), "[V,3], or [V,4] with Offsets")
			return
		}
		j.V = j.Coords.Dim(0)
		c.limit("Coords", j.V)
	}
	if c.err != nil {
		return
	}
	outs := j.outputs(j.V)
	for i, o := range outs {
		t := *o.t
		switch {
		case o.shape == nil && t != nil:
			c.set(o.name, ErrOption, "a tensor", fmt.Sprintf("nil for %s voxels, %s", j.Mode, j.Reduce))
		case o.shape == nil || t == nil && o.optional:
		case c.tensor(o.name, t):
			o.check(c)
			if c.err == nil && !t.IsContiguous() {
				c.set(o.name, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous tensor")
			}
			others := []*tensor.Tensor{j.Points, j.Features, j.Labels, j.Offsets, j.Poses}
			for _, p := range outs[:i] {
				others = append(others, *p.t)
			}
			c.output(o.name, t, others...)
		}
	}
}

// Bound returns the job's tensors.
func (j *VoxelizeJob) Bound() Bound {
	b := Bound{op: "Voxelize"}
	for _, o := range j.outputs(j.V) {
		b.add(o.name, *o.t)
	}
	b.outputs()
	b.add("Points", j.Points)
	b.add("Features", j.Features)
	b.add("Labels", j.Labels)
	b.add("Offsets", j.Offsets)
	b.add("Poses", j.Poses)
	return b
}

// OffsetsError reports that the offsets do not fit at a row.
func (j *VoxelizeJob) OffsetsError(row int) error {
	return &ValueError{Op: "Voxelize", Arg: "Offsets", Row: row, Kind: ErrRows}
}
