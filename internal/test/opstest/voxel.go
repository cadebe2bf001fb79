package opstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelParts returns the tests for Voxelize.
func voxelParts() parts {
	return parts{
		"golden":          (*suite).voxelGoldens,
		"peract":          (*suite).goldenPerAct,
		"properties":      (*suite).voxelProperties,
		"generated":       generated("voxel"),
		"three-in-one":    (*suite).threeInOne,
		"outside":         (*suite).outside,
		"half-way":        (*suite).halfWay,
		"axes":            (*suite).axes,
		"negative-max":    (*suite).negativeMax,
		"mean":            (*suite).meanCell,
		"not-finite":      (*suite).notFinite,
		"below-min":       (*suite).belowMin,
		"least":           (*suite).leastCoordinates,
		"lattice":         (*suite).lattice,
		"upper-bound":     (*suite).upperBound,
		"empty":           (*suite).emptyVoxels,
		"no-rows":         (*suite).voxelNoRows,
		"bad-grids":       (*suite).badGrids,
		"first-points":    (*suite).firstPoints,
		"caps":            (*suite).caps,
		"majority":        (*suite).majority,
		"specials":        (*suite).specialValues,
		"huge-grid":       (*suite).hugeGrid,
		"contended":       (*suite).contended,
		"batches":         (*suite).voxelBatches,
		"bad-offsets":     (*suite).badOffsets,
		"many-rows":       (*suite).manyVoxelRows,
		"cut-sums":        (*suite).cutSums,
		"conservation":    (*suite).conservation,
		"posed-borders":   (*suite).posedBorders,
		"posed-places":    (*suite).posedPlaces,
		"first-cells":     (*suite).firstCells,
		"alone":           (*suite).alone,
		"far":             (*suite).farVoxels,
		"written":         (*suite).written,
		"written-borders": (*suite).writtenBorders,
		"written-last":    (*suite).writtenLast,
	}
}

// voxelizing is a case for Voxelize.
type voxelizing struct {
	Name                                     string
	Points, Features, Labels, Offsets, Poses *array
	Box                                      ops.VoxelGrid
	To                                       tensor.DType // dtype of Grid or Values; 0 means the dtype of an allocated output
	Opts                                     ops.VoxelizeOptions
	Number                                   int  // the number of a generated case
	Planned                                  bool // runs only as a plan
	V                                        int  // length of a plan's outputs; 0 means the number of voxels plus 3; negative means 0
	Large                                    bool // too large for the oracle, so compared with the CPU
	count                                    int  // number of voxels, from the oracle
	Once                                     bool // a plan runs once, not twice
}

func (c *voxelizing) args(put func(*array) *tensor.Tensor) ops.VoxelizeArgs {
	return ops.VoxelizeArgs{Points: put(c.Points), Features: put(c.Features), Labels: put(c.Labels), Offsets: put(c.Offsets), Poses: put(c.Poses)}
}

func (c *voxelizing) rows() int {
	if c.Offsets == nil {
		return 1
	}
	return c.Offsets.shape[0] - 1
}

// reduction returns the effective reduction, with the default resolved.
func (c *voxelizing) reduction() ops.Reduce {
	switch {
	case c.Opts.Mode == ops.VoxelHard:
		return ops.ReduceCount
	case c.Opts.Reduce != ops.ReduceDefault:
		return c.Opts.Reduce
	case c.Opts.Mode == ops.VoxelSparse:
		return ops.ReduceMean
	}
	return ops.ReduceOccupancy
}

func (c *voxelizing) features() int {
	switch {
	case c.Features != nil:
		return c.Features.shape[1]
	case c.Opts.Mode == ops.VoxelHard:
		return 0
	}
	return 3
}

// double reports whether the input of Grid or Values is f64.
func (c *voxelizing) double() bool {
	if c.Features != nil && c.Features.dtype == tensor.F64 {
		return true
	}
	return c.Points.dtype == tensor.F64 && (c.Features == nil || c.Opts.Mode == ops.VoxelHard)
}

// valueType returns the dtype of Grid or Values if they have features.
func (c *voxelizing) valueType() tensor.DType {
	switch {
	case c.To != 0:
		return c.To
	case c.double():
		return tensor.F64
	}
	return tensor.F32
}

// outputs returns the dtypes and shapes of the outputs for v voxels, by name.
func (c *voxelizing) outputs(v int) map[string]*array {
	out := map[string]*array{}
	shape := func(dtype tensor.DType, dims ...int) *array { return packed(dtype, nil, dims...) }
	f, reduce := c.features(), c.reduction()
	if c.Opts.Mode == ops.VoxelDense {
		n, _ := c.Box.Cells()
		dims := []int{n[2], n[1], n[0]}
		if c.Opts.Order == ops.AxisXYZ {
			dims = []int{n[0], n[1], n[2]}
		}
		if c.Offsets != nil {
			dims = append([]int{c.rows()}, dims...)
		}
		switch {
		case reduce == ops.ReduceOccupancy:
			out["Grid"] = shape(tensor.U8, dims...)
		case reduce == ops.ReduceCount || reduce == ops.ReduceMajority:
			out["Grid"] = shape(tensor.I32, dims...)
		default:
			out["Grid"] = shape(c.valueType(), append(dims, f)...)
		}
		return out
	}
	switch {
	case c.Opts.Mode == ops.VoxelHard:
		out["Values"] = shape(c.valueType(), v, c.Opts.MaxPoints, 3+f)
	case reduce == ops.ReduceMajority:
		out["Values"] = shape(tensor.I32, v)
	case reduce != ops.ReduceCount && reduce != ops.ReduceOccupancy:
		out["Values"] = shape(c.valueType(), v, f)
	}
	columns := 3
	if c.Offsets != nil {
		columns = 4
	}
	out["Coords"], out["Counts"] = shape(tensor.I32, v, columns), shape(tensor.I32, v)
	out["RowSplits"], out["PointVoxel"] = shape(tensor.I64, c.rows()+1), shape(tensor.I32, c.Points.shape[0])
	return out
}

// places returns the fields for the outputs, by name.
func places(a *ops.VoxelizeArgs) map[string]**tensor.Tensor {
	return map[string]**tensor.Tensor{"Grid": &a.Grid, "Values": &a.Values, "Coords": &a.Coords, "Counts": &a.Counts, "RowSplits": &a.RowSplits, "PointVoxel": &a.PointVoxel}
}

// call runs the convenient form. All outputs are allocated by the call, except those with a dtype that the case sets.
func (c *voxelizing) call(dev *ops.Device) (*result, error) {
	args := c.args((*array).host)
	if c.To != 0 {
		to := places(&args)
		for name, a := range c.outputs(len(solveVoxels(c).voxels)) {
			if name == "Grid" || name == "Values" {
				*to[name] = tensor.Must(tensor.New(a.dtype, a.shape...))
			}
		}
	}
	got, err := dev.Voxelize(context.Background(), args, c.Box, c.Opts)
	if err != nil {
		return nil, err
	}
	r := resultOf(map[string]*tensor.Tensor{"Grid": got.Grid, "Values": got.Values, "Coords": got.Coords, "Counts": got.Counts, "RowSplits": got.RowSplits, "PointVoxel": got.PointVoxel})
	r.found, r.round = got.Found, -1
	return r, nil
}

// length returns the length of a plan's outputs.
func (c *voxelizing) length() int {
	if c.V == 0 {
		return c.count + 3
	}
	return max(c.V, 0)
}

func (c *voxelizing) plan(p *placed, l layout, _ ops.LaunchMode) (*ops.Plan, error) {
	args := c.args(p.put)
	to := places(&args)
	for name, a := range c.outputs(c.length()) {
		a.offset = l.front
		*to[name] = p.out(name, a, l.end)
	}
	plan, err := p.dev.PlanVoxelize(args, c.Box, c.Opts)
	if err != nil {
		return nil, err
	}
	p.counts = plan.Counts
	return &plan.Plan, nil
}

func (c *voxelizing) name() string { return c.Name }

func (c *voxelizing) traits() traits {
	return traits{planned: c.Planned || c.Large, runs: 2 - b2i(c.Once), modes: plainAndReady[:1]}
}

func (c *voxelizing) describe() string {
	of := "none"
	if c.Large && c.Opts.Reduce == ops.ReduceCount { // each is a check of one way to count
		of = strings.ReplaceAll(c.Name, " ", "-")
	}
	if c.Features != nil {
		of = c.Features.dtype.String() + c.Features.spacing()
	}
	return fmt.Sprintf("N=%d %s %s features=%d %s to=%s rows=%d poses=%v mode=%v reduce=%v order=%v most=%d,%d empty=%v length=%d", c.Points.shape[0], c.Points.dtype, c.Points.spacing(), c.features(), of,
		c.valueType(), c.rows(), c.Poses != nil, c.Opts.Mode, c.reduction(), c.Opts.Order, c.Opts.MaxPoints, c.Opts.MaxVoxels, c.Opts.Empty, c.V)
}

// fault returns the expected error, for the first row with wrong offsets, or nil.
func (c *voxelizing) fault() *ops.ValueError {
	if c.Offsets == nil {
		return nil
	}
	rows, points := c.rows(), int64(c.Points.shape[0])
	wrong := func(row int) *ops.ValueError {
		return &ops.ValueError{Op: "Voxelize", Arg: "Offsets", Row: row, Kind: ops.ErrRows}
	}
	if c.Offsets.int(0) != 0 {
		return wrong(0)
	}
	for b := range rows {
		if end := c.Offsets.int(b + 1); end < c.Offsets.int(b) || end > points || b == rows-1 && end != points {
			return wrong(b)
		}
	}
	return nil
}

// solve returns the expected error, or a comparison with the oracle; for large cases there is only the comparison with the CPU. A
// plan's second run must give the same.
func (c *voxelizing) solve(*suite) (*ops.ValueError, func(*result) string) {
	if fault := c.fault(); fault != nil || c.Large {
		return fault, func(*result) string { return "" }
	}
	want := solveVoxels(c)
	c.count = len(want.voxels)
	var first *result
	return nil, func(got *result) string {
		switch {
		case got.round > 0:
			return got.same(first)
		case got.round < 0:
			return want.compare(c, got, c.count)
		}
		first = got
		return want.compare(c, got, c.length())
	}
}

// voxelCheck checks a case with the layout for its number, or with both layouts.
func (s *suite) voxelCheck(t *testing.T, c *voxelizing) {
	t.Helper()
	if c.Planned {
		s.check(t, c, layouts[c.Number%2])
		return
	}
	s.check(t, c, layouts...)
}

// voxelized checks a case and returns the result of a call.
func (s *suite) voxelized(t *testing.T, c *voxelizing) *result {
	t.Helper()
	s.voxelCheck(t, c)
	return s.called(t, c)
}
