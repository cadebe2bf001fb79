package opstest

import (
	"context"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelCall is a Voxelize with 4 points, 2 rows, 2 features and 8 voxels.
type voxelCall struct {
	ops.VoxelizeArgs
	maker
	box  ops.VoxelGrid
	opts ops.VoxelizeOptions
}

func newVoxelCall(m maker, c *voxelCall, opts ops.VoxelizeOptions) {
	c.maker, c.box, c.opts = m, cube(0, 1, 8), opts
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
}

// voxelMisuses returns the wrong calls of Voxelize: a table for each kind of output, with its tensors.
func voxelMisuses() (all []*misuses[voxelCall]) {
	tables := map[ops.VoxelizeOptions]*misuses[voxelCall]{}
	table := func(opts ops.VoxelizeOptions, names ...string) {
		x := &misuses[voxelCall]{
			op: "Voxelize", good: func(m maker, c *voxelCall) { newVoxelCall(m, c, opts) },
			places: func(c *voxelCall) (list []place) {
				to := places(&c.VoxelizeArgs)
				for name, at := range map[string]**tensor.Tensor{"Points": &c.Points, "Features": &c.Features, "Labels": &c.Labels, "Offsets": &c.Offsets, "Poses": &c.Poses} {
					to[name] = at
				}
				for _, name := range names {
					list = append(list, place{name, to[name]})
				}
				return list
			},
			plan: func(dev *ops.Device, c *voxelCall) error {
				_, err := dev.PlanVoxelize(c.VoxelizeArgs, c.box, c.opts)
				return err
			},
			call: func(dev *ops.Device, c *voxelCall) error {
				_, err := dev.Voxelize(context.Background(), c.VoxelizeArgs, c.box, c.opts)
				return err
			},
			free: []string{"Points", "Offsets", "Coords"},
		}
		all, tables[opts] = append(all, x), x
	}
	dense, sparse, hard := ops.VoxelizeOptions{Reduce: ops.ReduceMean}, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMean}, ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 2}
	vote := ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMajority}
	table(dense, "Points", "Features", "Offsets", "Poses", "Grid")
	table(sparse, "Values", "Coords", "Counts", "RowSplits", "PointVoxel")
	table(hard, "Points", "Features", "Values", "Coords")
	table(vote, "Labels", "Values")
	table(countGrid)
	table(ops.VoxelizeOptions{})
	add := func(opts ops.VoxelizeOptions, name, arg string, kind error, spoil func(*voxelCall)) {
		x := tables[opts]
		x.wrong = append(x.wrong, wrong[voxelCall]{name: name, arg: arg, kind: kind, spoil: spoil})
	}
	add(dense, "an unknown mode", "Options.Mode", ops.ErrOption, func(c *voxelCall) { c.opts.Mode = 9 })
	add(dense, "an unknown reduction", "Options.Reduce", ops.ErrOption, func(c *voxelCall) { c.opts.Reduce = 99 })
	add(dense, "an unknown order", "Options.Order", ops.ErrOption, func(c *voxelCall) { c.opts.Order = 2 })
	add(hard, "a reduction of hard voxels", "Options.Reduce", ops.ErrOption, func(c *voxelCall) { c.opts.Reduce = ops.ReduceMean })
	add(hard, "hard voxels without points", "Options.MaxPoints", ops.ErrOption, func(c *voxelCall) { c.opts.MaxPoints = 0 })
	add(sparse, "points a voxel, where there are none", "Options.MaxPoints", ops.ErrOption, func(c *voxelCall) { c.opts.MaxPoints = 1 })
	add(hard, "voxels below 0", "Options.MaxVoxels", ops.ErrOption, func(c *voxelCall) { c.opts.MaxVoxels = -1 })
	add(dense, "a cap on a dense grid", "Options.MaxVoxels", ops.ErrOption, func(c *voxelCall) { c.opts.MaxVoxels = 1 })
	add(ops.VoxelizeOptions{}, "an empty value that u8 does not hold", "Options.Empty", ops.ErrOption, func(c *voxelCall) { c.opts.Empty = 256 })
	add(countGrid, "an empty value that is not whole", "Options.Empty", ops.ErrOption, func(c *voxelCall) { c.opts.Empty = .5 })
	add(sparse, "an empty value of sparse voxels", "Options.Empty", ops.ErrOption, func(c *voxelCall) { c.opts.Empty = 1 })
	add(sparse, "a grid from sparse voxels", "Grid", ops.ErrOption, func(c *voxelCall) { c.Grid = c.new(tensor.F32, 2, 8, 8, 8, 2) })
	add(dense, "coordinates from a dense grid", "Coords", ops.ErrOption, func(c *voxelCall) { c.Coords = c.new(tensor.I32, 8, 4) })
	add(countGrid, "features for a count", "Features", ops.ErrOption, func(c *voxelCall) { c.Features = c.new(tensor.F32, 4, 2) })
	add(dense, "labels for a mean", "Labels", ops.ErrOption, func(c *voxelCall) { c.Labels = c.new(tensor.I32, 4) })
	add(dense, "no points", "Points", ops.ErrMissing, func(c *voxelCall) { c.Points = nil })
	add(vote, "no labels", "Labels", ops.ErrMissing, func(c *voxelCall) { c.Labels = nil })
	add(dense, "points of 4 columns", "Points", ops.ErrShape, func(c *voxelCall) { c.Points = c.new(tensor.F32, 4, 4) })
	add(dense, "features of 3 points", "Features", ops.ErrShape, func(c *voxelCall) { c.Features = c.new(tensor.F32, 3, 2) })
	add(dense, "no features to a point", "Features", ops.ErrShape, func(c *voxelCall) { c.Features = c.new(tensor.F32, 4, 0) })
	add(dense, "f64 poses for f32 points", "Poses", ops.ErrDType, func(c *voxelCall) { c.Poses = c.new(tensor.F64, 2, 4, 4) })
	add(dense, "f16 poses for f64 points", "Poses", ops.ErrDType, func(c *voxelCall) { c.Points, c.Poses = c.new(tensor.F64, 4, 3), c.new(tensor.F16, 2, 4, 4) })
	add(dense, "an f16 mean of doubles", "Grid", ops.ErrDType, func(c *voxelCall) {
		c.Features, c.Grid = c.new(tensor.F64, 4, 2), c.new(tensor.F16, 2, 8, 8, 8, 2)
	})
	add(countGrid, "f64 counts for f64 points", "Grid", ops.ErrDType, func(c *voxelCall) {
		c.Points, c.Poses, c.Grid = c.new(tensor.F64, 4, 3), nil, c.new(tensor.F64, 2, 8, 8, 8)
	})
	add(vote, "an f64 majority", "Values", ops.ErrDType, func(c *voxelCall) { c.Values = c.new(tensor.F64, 8) })
	add(hard, "f16 hard voxels of f64 points", "Values", ops.ErrDType, func(c *voxelCall) {
		c.Points, c.Values = c.new(tensor.F64, 4, 3), c.new(tensor.F16, 8, 2, 5)
	})
	add(sparse, "f64 voxels with the f32 shape", "Values", ops.ErrShape, func(c *voxelCall) { c.Values = c.new(tensor.F64, 8, 1) })
	add(sparse, "doubles that are an output", "Values", ops.ErrOverlap, func(c *voxelCall) {
		c.Values = c.new(tensor.F64, 8, 2)
		c.Features = tensor.Must(c.Values.Slice(0, 0, 4))
	})
	add(dense, "poses of 3 rows", "Poses", ops.ErrShape, func(c *voxelCall) { c.Poses = c.new(tensor.F32, 3, 4, 4) })
	add(dense, "offsets of no rows", "Offsets", ops.ErrShape, func(c *voxelCall) { c.Offsets, c.Poses = c.ints(0), nil })
	add(sparse, "rows with too many cells", "Offsets", ops.ErrTooLarge, func(c *voxelCall) {
		c.Offsets, c.Poses, c.box = c.ints(make([]int64, 1<<22+2)...), nil, ops.VoxelGrid{Max: [3]float64{1 << 20, 1 << 20, 1}, Size: [3]float64{1, 1, 1}}
	})
	add(sparse, "an output that is an input", "Values", ops.ErrOverlap, func(c *voxelCall) {
		c.Values = c.new(tensor.F32, 8, 2)
		c.Features = tensor.Must(c.Values.Slice(0, 0, 4))
	})
	add(sparse, "one tensor for two outputs", "Counts", ops.ErrOverlap, func(c *voxelCall) {
		c.Counts = tensor.Must(tensor.Must(c.Coords.Reshape(32)).Slice(0, 0, 8))
	})
	return all
}
