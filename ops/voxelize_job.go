package ops

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

var featureTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}

// voxelizeCheck validates arguments and fills in a job from them.
type voxelizeCheck struct{ *backend.VoxelizeJob }

// newVoxelizeJob validates the arguments against tensors on the given device.
func newVoxelizeJob(c *checker, a VoxelizeArgs, g VoxelGrid, o VoxelizeOptions) (*backend.VoxelizeJob, error) {
	j := voxelizeCheck{&backend.VoxelizeJob{VoxelizeTensors: backend.VoxelizeTensors(a)}}
	j.checkOptions(c, g, o)
	j.checkInputs(c)
	j.checkOutputs(c)
	return j.VoxelizeJob, c.err
}

func (j voxelizeCheck) checkOptions(c *checker, g VoxelGrid, o VoxelizeOptions) {
	j.Mode, j.Reduce, j.Order, j.Empty, j.P = o.Mode, o.Reduce, o.Order, o.Empty, o.MaxPoints
	switch {
	case !o.Mode.Valid():
		c.set("Options.Mode", ErrOption, o.Mode.String(), fmt.Sprintf("one of %v", o.Mode.Names()))
	case !o.Reduce.Valid():
		c.set("Options.Reduce", ErrOption, o.Reduce.String(), fmt.Sprintf("one of %v", o.Reduce.Names()))
	case !o.Order.Valid():
		c.set("Options.Order", ErrOption, o.Order.String(), fmt.Sprintf("one of %v", o.Order.Names()))
	case o.Mode == VoxelHard && o.Reduce != ReduceDefault:
		c.set("Options.Reduce", ErrOption, o.Reduce.String()+" of hard voxels", "default: they keep their points")
	case o.Mode == VoxelHard && (o.MaxPoints < 1 || o.MaxPoints > backend.MaxRow):
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
		j.Reduce = []Reduce{ReduceOccupancy, ReduceCount, ReduceMean}[min(int(o.Mode), len(o.Mode.Names())-1)]
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
	j.RowVoxels = backend.MaxRow
	if o.MaxVoxels > 0 {
		j.RowVoxels = min(o.MaxVoxels, backend.MaxRow)
	}
	if c.err == nil {
		j.Cells, j.Box = g.cells(c), backend.VoxelGrid(g)
	}
}

// checkInputs checks the inputs and sets N, B and F.
func (j voxelizeCheck) checkInputs(c *checker) {
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
	if j.N > backend.MaxRow {
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
		if c.err == nil && (j.B > backend.MaxRow || float64(j.B)*float64(j.CellsARow()) > maxKeys) {
			c.set("Offsets", ErrTooLarge, fmt.Sprintf("%d rows of %d cells", j.B, j.CellsARow()), "at most 2^31-1 rows, and 2^62 cells in all")
		}
	}
	if j.Poses != nil && c.tensor("Poses", j.Poses) {
		c.dtype("Poses", j.Poses, tensor.F32, j.Points.DType())
		j.PoseBatch = c.perRow("Poses", j.Poses, j.B, 4, 4)
	}
}

func (j voxelizeCheck) checkFeatures(c *checker) {
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

func (j voxelizeCheck) checkLabels(c *checker) {
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

// checkOutput sets an error if a given output has the wrong dtype or shape.
func checkOutput(c *checker, o *backend.Output) {
	types := []tensor.DType{o.DType}
	if o.Either {
		types = []tensor.DType{tensor.F32, tensor.F64}
	}
	c.dtype(o.Name, *o.T, types...)
	c.shape(o.Name, *o.T, o.Shape...)
}

func (j voxelizeCheck) checkOutputs(c *checker) {
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
	outs := j.Outputs(j.V)
	for i, o := range outs {
		t := *o.T
		switch {
		case o.Shape == nil && t != nil:
			c.set(o.Name, ErrOption, "a tensor", fmt.Sprintf("nil for %s voxels, %s", j.Mode, j.Reduce))
		case o.Shape == nil || t == nil && o.Optional:
		case c.tensor(o.Name, t):
			checkOutput(c, &o)
			if c.err == nil && !t.IsContiguous() {
				c.set(o.Name, ErrStride, tensor.FormatShape(t.Strides()), "a contiguous tensor")
			}
			others := []*tensor.Tensor{j.Points, j.Features, j.Labels, j.Offsets, j.Poses}
			for _, p := range outs[:i] {
				others = append(others, *p.T)
			}
			c.output(o.Name, t, others...)
		}
	}
}
