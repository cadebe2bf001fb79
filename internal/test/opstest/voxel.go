package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxel runs all that is about Voxelize.
func (s *suite) voxel(t *testing.T) {
	s.parts(t, "voxel", []group{
		{"named", (*suite).voxelNamed}, {"misuse", (*suite).voxelMisuse}, {"golden", (*suite).voxelGoldens}, {"properties", (*suite).voxelProperties}, {"life", (*suite).voxelLife}, {"generated", (*suite).voxelGenerated}, {"large", (*suite).largeVoxels}, {"sorted", (*suite).sortedVoxels}, {"grouped", (*suite).groupedVoxels}, {"doubles", (*suite).voxelDoubles},
	})
}

// voxelizing is a Voxelize.
type voxelizing struct {
	Name                                     string
	Points, Features, Labels, Offsets, Poses *array
	Box                                      ops.VoxelGrid
	To                                       tensor.DType // of Grid or Values; 0: as allocated
	Opts                                     ops.VoxelizeOptions
	Number                                   int  // among the generated ones
	Planned                                  bool // as in resampling
	V                                        int  // length of a plan's outputs; 0: three more than there are voxels
	Once                                     bool // a plan runs once, not twice
}

// voxels is what a run wrote, by the outputs' names, and its counters.
type voxels struct {
	out   map[string]*array
	found ops.VoxelCounts
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

// reduction is what is made of a voxel: the default written out.
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

// double reports whether what goes into Grid or Values is f64.
func (c *voxelizing) double() bool {
	if c.Features != nil && c.Features.dtype == tensor.F64 {
		return true
	}
	return c.Points.dtype == tensor.F64 && (c.Features == nil || c.Opts.Mode == ops.VoxelHard)
}

// valueType is the dtype of Grid or Values that are made of features.
func (c *voxelizing) valueType() tensor.DType {
	switch {
	case c.To != 0:
		return c.To
	case c.double():
		return tensor.F64
	}
	return tensor.F32
}

// outputs gives the names, dtypes and shapes of what v voxels need.
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

// places are where a Voxelize takes its outputs.
func places(a *ops.VoxelizeArgs) map[string]**tensor.Tensor {
	return map[string]**tensor.Tensor{"Grid": &a.Grid, "Values": &a.Values, "Coords": &a.Coords, "Counts": &a.Counts, "RowSplits": &a.RowSplits, "PointVoxel": &a.PointVoxel}
}

// call runs the case in the convenient form on host tensors, which allocates all outputs, but for those of a dtype that is asked for.
func (c *voxelizing) call(dev *ops.Device) (*voxels, error) {
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
	r := &voxels{out: map[string]*array{}, found: got.Found}
	made := ops.VoxelizeArgs{Grid: got.Grid, Values: got.Values, Coords: got.Coords, Counts: got.Counts, RowSplits: got.RowSplits, PointVoxel: got.PointVoxel}
	for name, t := range places(&made) {
		if *t != nil {
			r.out[name] = packed((*t).DType(), bitsOf(*t), (*t).Shape()...)
		}
	}
	return r, nil
}

// plan runs the case as a plan on device tensors, twice, with guards around the outputs.
func (c *voxelizing) plan(dev *ops.Device, v, front int) (r *voxels, err error) {
	p := &placed{dev: dev}
	args := c.args(p.put)
	defer func() { err = errors.Join(err, p.close()) }()
	if p.err != nil {
		return nil, p.err
	}
	guards := map[string]*guarded{}
	to := places(&args)
	for name, a := range c.outputs(v) {
		g, err := guard(dev, a.dtype, a.shape, a.strides, front, 33)
		if err != nil {
			return nil, err
		}
		defer g.base.Close()
		guards[name], *to[name] = g, g.view
	}
	plan, err := dev.PlanVoxelize(args, c.Box, c.Opts)
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	var first *voxels
	for run := range 2 {
		if run == 1 && c.Once {
			return r, nil
		}
		if err := plan.Run(dev.Queue()); err != nil {
			return nil, fmt.Errorf("Run: %w", err)
		}
		if err := dev.Synchronize(context.Background()); err != nil {
			return nil, err
		}
		first, r = r, &voxels{out: map[string]*array{}}
		if r.found, err = plan.Counts(); err != nil {
			return nil, err
		}
		for name, g := range guards {
			raw, err := g.read(dev)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			r.out[name] = packed(g.dtype, raw, g.shape...)
		}
	}
	if msg := r.same(first); msg != "" {
		return nil, fmt.Errorf("a second run differs from the first: %s", msg)
	}
	return r, nil
}

// same returns where two results differ in more than a NaN's bits, or "".
func (r *voxels) same(o *voxels) string {
	if r.found != o.found {
		return fmt.Sprintf("counters %+v and %+v", r.found, o.found)
	}
	for name, a := range r.out {
		b := o.out[name]
		if b == nil || a.len() != b.len() {
			return fmt.Sprintf("%s: shapes %v and %v", name, a, b)
		}
		for i := range a.raw {
			if a.raw[i] != b.raw[i] && !bothNaN(a.dtype, a.raw[i], b.raw[i]) {
				return fmt.Sprintf("%s, element %d of %v: %s and %s", name, i, a.shape, show(a.dtype, a.raw[i]), show(a.dtype, b.raw[i]))
			}
		}
	}
	return ""
}

// voxelCheck runs the case in both forms against the oracle, and against the CPU; one that may be left out, in the convenient form alone. It returns what
// that gave.
func (s *suite) voxelCheck(t *testing.T, c *voxelizing) *voxels {
	t.Helper()
	rare := s.rare()
	if rare && c.Planned {
		return nil
	}
	want := solveVoxels(c)
	var results *voxels
	if !c.Planned {
		var err error
		results, err = c.call(s.dev)
		require.NoError(t, err, c.describe())
		if msg := want.compare(c, results, len(want.voxels)); msg != "" {
			t.Errorf("call: %s\ncase: %s", msg, c.describe())
		}
	}
	v := c.V
	if v == 0 {
		v = len(want.voxels) + 3
	}
	fronts := []int{64, 3}
	switch {
	case c.Planned:
		fronts = fronts[c.Number%2:][:1]
	case s.cfg.Slow > 1:
		s.turns++
		fronts = fronts[s.turns%2:][:1]
		rare = rare || s.form() == called
	}
	if rare {
		return results
	}
	for _, front := range fronts {
		got, err := c.plan(s.dev, v, front)
		if err != nil {
			t.Errorf("plan: %v\ncase: %s", err, c.describe())
			return results
		}
		if msg := want.compare(c, got, v); msg != "" {
			t.Errorf("plan: %s\ncase: %s", msg, c.describe())
		}
		if s.cpu != nil {
			ref, err := c.plan(s.cpu, v, front)
			require.NoError(t, err, "the CPU device")
			if msg := got.same(ref); msg != "" {
				t.Errorf("plan: not the CPU's bits: %s\ncase: %s", msg, c.describe())
			}
		}
	}
	return results
}

// spare reports, on a slow device, that a case may be left out: three of four are, and under racecheck 15 of 16.
func (s *suite) spare() bool {
	s.spared++
	if raced {
		return s.spared%16 != 0
	}
	return s.cfg.Slow > 1 && s.spared%4 != 0
}

func (c *voxelizing) describe() string {
	of := "them"
	if c.Features != nil {
		of = c.Features.dtype.String()
	}
	return fmt.Sprintf("%s: %d points %s, %d features of %s to %s, %d rows, box %v, %+v", c.Name, c.Points.shape[0], c.Points.dtype, c.features(), of, c.valueType(), c.rows(), c.Box, c.Opts)
}
