package opstest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelCall is a Voxelize that would work, to be spoiled: 4 points, 2 rows, 2 features, 8 voxels.
type voxelCall struct {
	ops.VoxelizeArgs
	call // makes tensors
	box  ops.VoxelGrid
	opts ops.VoxelizeOptions
}

func newVoxelCall(put func(*array) *tensor.Tensor, opts ops.VoxelizeOptions) *voxelCall {
	c := &voxelCall{call: call{put: put}, box: cube(0, 1, 8), opts: opts}
	c.Points, c.Offsets, c.Poses = c.new(tensor.F32, 4, 3), c.ints(0, 1, 4), c.new(tensor.F32, 2, 4, 4)
	if opts.Reduce == ops.ReduceMajority {
		c.Labels = c.new(tensor.I32, 4)
	}
	if opts.Reduce.OfFeatures() || opts.Mode == ops.VoxelHard {
		c.Features = c.new(tensor.F32, 4, 2)
	}
	shapes := &voxelizing{Points: cloud(make([]float64, 12)...), Offsets: arr([]int64{0, 1, 4}, 3), Box: c.box, Opts: opts}
	if c.Features != nil {
		shapes.Features = vals(tensor.F32, make([]float64, 8), 4, 2)
	}
	to := places(&c.VoxelizeArgs)
	for name, a := range shapes.outputs(8) {
		*to[name] = c.new(a.dtype, a.shape...)
	}
	return c
}

// voxelMisuse is one way to spoil a call, and the error that names it.
type voxelMisuse struct {
	name  string
	opts  ops.VoxelizeOptions
	arg   string
	kind  error
	spoil func(*voxelCall)
}

func voxelMisuses() []voxelMisuse {
	var all []voxelMisuse
	dense, sparse, hard := ops.VoxelizeOptions{Reduce: ops.ReduceMean}, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMean}, ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 2}
	vote := ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMajority}
	at := func(name string) func(*voxelCall) **tensor.Tensor {
		return func(c *voxelCall) **tensor.Tensor {
			inputs := map[string]**tensor.Tensor{"Points": &c.Points, "Features": &c.Features, "Labels": &c.Labels, "Offsets": &c.Offsets, "Poses": &c.Poses}
			if p := inputs[name]; p != nil {
				return p
			}
			return places(&c.VoxelizeArgs)[name]
		}
	}
	for _, o := range []struct {
		opts  ops.VoxelizeOptions
		names []string
	}{{dense, []string{"Points", "Features", "Offsets", "Poses", "Grid"}}, {sparse, []string{"Values", "Coords", "Counts", "RowSplits", "PointVoxel"}},
		{hard, []string{"Points", "Features", "Values", "Coords"}}, {vote, []string{"Labels", "Values"}}} {
		for _, name := range o.names {
			place := at(name)
			add := func(what string, kind error, make func(*voxelCall, *tensor.Tensor) *tensor.Tensor) {
				all = append(all, voxelMisuse{name + " " + what, o.opts, name, kind, func(c *voxelCall) { *place(c) = make(c, *place(c)) }})
			}
			add("closed", ops.ErrClosed, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor { return c.closed(t.DType(), t.Shape()...) })
			add("of another device", ops.ErrWrongDevice, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor { return c.foreign(t.DType(), t.Shape()...) })
			add("of rank 5", ops.ErrShape, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor { return c.new(t.DType(), 1, 1, 1, 1, 1, 1) })
			add("of rank 0", ops.ErrShape, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor { return c.put(packed(t.DType(), []uint64{0})) })
			add("of another dtype", ops.ErrDType, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor {
				other := tensor.I64
				if t.DType() == tensor.I64 {
					other = tensor.U8
				}
				return c.new(other, t.Shape()...)
			})
			add("not contiguous", ops.ErrStride, func(c *voxelCall, t *tensor.Tensor) *tensor.Tensor { return c.apart(t.DType(), t.Shape()...) })
		}
	}
	option := func(name, arg string, opts ops.VoxelizeOptions, edit func(*voxelCall)) {
		all = append(all, voxelMisuse{name, opts, arg, ops.ErrOption, edit})
	}
	option("an unknown mode", "Options.Mode", dense, func(c *voxelCall) { c.opts.Mode = 9 })
	option("an unknown reduction", "Options.Reduce", dense, func(c *voxelCall) { c.opts.Reduce = 99 })
	option("an unknown order", "Options.Order", dense, func(c *voxelCall) { c.opts.Order = 2 })
	option("a reduction of hard voxels", "Options.Reduce", hard, func(c *voxelCall) { c.opts.Reduce = ops.ReduceMean })
	option("hard voxels of no points", "Options.MaxPoints", hard, func(c *voxelCall) { c.opts.MaxPoints = 0 })
	option("points a voxel, where there are none", "Options.MaxPoints", sparse, func(c *voxelCall) { c.opts.MaxPoints = 1 })
	option("voxels below 0", "Options.MaxVoxels", hard, func(c *voxelCall) { c.opts.MaxVoxels = -1 })
	option("a cap on a dense grid", "Options.MaxVoxels", dense, func(c *voxelCall) { c.opts.MaxVoxels = 1 })
	option("an empty value that u8 does not hold", "Options.Empty", ops.VoxelizeOptions{}, func(c *voxelCall) { c.opts.Empty = 256 })
	option("an empty value that is not whole", "Options.Empty", countGrid, func(c *voxelCall) { c.opts.Empty = .5 })
	option("an empty value of sparse voxels", "Options.Empty", sparse, func(c *voxelCall) { c.opts.Empty = 1 })
	option("a grid from sparse voxels", "Grid", sparse, func(c *voxelCall) { c.Grid = c.new(tensor.F32, 2, 8, 8, 8, 2) })
	option("coordinates from a dense grid", "Coords", dense, func(c *voxelCall) { c.Coords = c.new(tensor.I32, 8, 4) })
	option("features for a count", "Features", countGrid, func(c *voxelCall) { c.Features = c.new(tensor.F32, 4, 2) })
	option("labels for a mean", "Labels", dense, func(c *voxelCall) { c.Labels = c.new(tensor.I32, 4) })
	more := func(name, arg string, kind error, opts ops.VoxelizeOptions, edit func(*voxelCall)) {
		all = append(all, voxelMisuse{name, opts, arg, kind, edit})
	}
	more("no points", "Points", ops.ErrMissing, dense, func(c *voxelCall) { c.Points = nil })
	more("no labels", "Labels", ops.ErrMissing, vote, func(c *voxelCall) { c.Labels = nil })
	more("points of 4 columns", "Points", ops.ErrShape, dense, func(c *voxelCall) { c.Points = c.new(tensor.F32, 4, 4) })
	more("features of 3 points", "Features", ops.ErrShape, dense, func(c *voxelCall) { c.Features = c.new(tensor.F32, 3, 2) })
	more("no features to a point", "Features", ops.ErrShape, dense, func(c *voxelCall) { c.Features = c.new(tensor.F32, 4, 0) })
	more("f64 poses of f32 points", "Poses", ops.ErrDType, dense, func(c *voxelCall) { c.Poses = c.new(tensor.F64, 2, 4, 4) })
	more("f16 poses of f64 points", "Poses", ops.ErrDType, dense, func(c *voxelCall) { c.Points, c.Poses = c.new(tensor.F64, 4, 3), c.new(tensor.F16, 2, 4, 4) })
	more("an f16 mean of doubles", "Grid", ops.ErrDType, dense, func(c *voxelCall) {
		c.Features, c.Grid = c.new(tensor.F64, 4, 2), c.new(tensor.F16, 2, 8, 8, 8, 2)
	})
	more("f64 counts of f64 points", "Grid", ops.ErrDType, countGrid, func(c *voxelCall) {
		c.Points, c.Poses, c.Grid = c.new(tensor.F64, 4, 3), nil, c.new(tensor.F64, 2, 8, 8, 8)
	})
	more("an f64 majority", "Values", ops.ErrDType, vote, func(c *voxelCall) { c.Values = c.new(tensor.F64, 8) })
	more("f16 hard voxels of f64 points", "Values", ops.ErrDType, hard, func(c *voxelCall) {
		c.Points, c.Values = c.new(tensor.F64, 4, 3), c.new(tensor.F16, 8, 2, 5)
	})
	more("f64 voxels of the shape of f32 ones", "Values", ops.ErrShape, sparse, func(c *voxelCall) { c.Values = c.new(tensor.F64, 8, 1) })
	more("doubles that are an output", "Values", ops.ErrOverlap, sparse, func(c *voxelCall) {
		c.Values = c.new(tensor.F64, 8, 2)
		c.Features = tensor.Must(c.Values.Slice(0, 0, 4))
	})
	more("poses of 3 rows", "Poses", ops.ErrShape, dense, func(c *voxelCall) { c.Poses = c.new(tensor.F32, 3, 4, 4) })
	more("offsets of no rows", "Offsets", ops.ErrShape, dense, func(c *voxelCall) { c.Offsets, c.Poses = c.ints(0), nil })
	more("rows of too many cells", "Offsets", ops.ErrTooLarge, sparse, func(c *voxelCall) {
		c.Offsets, c.Poses, c.box = c.ints(make([]int64, 1<<22+2)...), nil, ops.VoxelGrid{Max: [3]float64{1 << 20, 1 << 20, 1}, Size: [3]float64{1, 1, 1}}
	})
	more("an output that is an input", "Values", ops.ErrOverlap, sparse, func(c *voxelCall) {
		c.Values = c.new(tensor.F32, 8, 2)
		c.Features = tensor.Must(c.Values.Slice(0, 0, 4))
	})
	more("one tensor for two outputs", "Counts", ops.ErrOverlap, sparse, func(c *voxelCall) {
		c.Counts = tensor.Must(tensor.Must(c.Coords.Reshape(32)).Slice(0, 0, 8))
	})
	return all
}

// voxelMisuse spoils calls, in both forms, and looks that nothing was written.
func (s *suite) voxelMisuse(t *testing.T) {
	for _, m := range voxelMisuses() {
		t.Run(m.name, func(t *testing.T) {
			p := &placed{dev: s.dev}
			defer func() { require.NoError(t, p.close()) }()
			for form, put := range map[string]func(*array) *tensor.Tensor{"plan": p.put, "call": (*array).host} {
				c := newVoxelCall(put, m.opts)
				m.spoil(c)
				require.NoError(t, p.err)
				before := map[string][]uint64{}
				outs := places(&c.VoxelizeArgs)
				for name, x := range outs {
					if *x != nil && (*x).OnHost() && !(*x).Closed() && (*x).IsContiguous() {
						before[name] = bitsOf(*x)
					}
				}
				var err error
				if form == "plan" {
					_, err = s.dev.PlanVoxelize(c.VoxelizeArgs, c.box, c.opts)
				} else {
					_, err = s.dev.Voxelize(context.Background(), c.VoxelizeArgs, c.box, c.opts)
				}
				var e *ops.ArgError
				require.True(t, errors.As(err, &e), "%s: got %v", form, err)
				assert.ErrorIs(t, err, m.kind, form)
				assert.Equal(t, m.arg, e.Arg, "%s: %v", form, err)
				assert.NotEmpty(t, e.Got+e.Want, form)
				for name, x := range outs {
					if b := before[name]; b != nil {
						assert.Equal(t, b, bitsOf(*x), "%s: %s was written", form, name)
					}
				}
			}
		})
	}
	_, err := ops.VoxelPreset("pcl")
	assert.ErrorIs(t, err, ops.ErrOption)
}
