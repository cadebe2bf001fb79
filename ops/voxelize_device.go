package ops

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// PlanVoxelize binds Voxelize to tensors on the device ("host" tensors for the CPU). It checks all arguments, except
// the values in the tensors; a run reports bad offsets. All outputs must be set, except optional ones. The length of
// Coords is V: further voxels are dropped and counted. If fewer voxels are found, the rest of the outputs is not
// written. The plan keeps references to the tensors, so they must stay open as long as it is run.
//
// Each plan holds memory until it is closed. On a GPU the size grows with the number of points. If a small cloud is
// reduced to dense sums, means, maxima or minima, the grid adds 12 bytes per feature and cell, and 4 to 16 bytes per
// cell, at most 128 MB. On the CPU it is 16 to 36 bytes per point, and for majorities 4 more per point and thread.
func (d *Device) PlanVoxelize(args VoxelizeArgs, grid VoxelGrid, opts VoxelizeOptions) (*VoxelizePlan, error) {
	if err := d.open("PlanVoxelize"); err != nil {
		return nil, err
	}
	b, err := capable[backend.Voxelizer](d, "Voxelize")
	if err != nil {
		return nil, err
	}
	job, err := newVoxelizeJob(&checker{op: "Voxelize", device: d.home()}, args, grid, opts)
	if err != nil {
		return nil, err
	}
	p, err := b.Voxelize(job)
	if err != nil {
		return nil, err
	}
	return &VoxelizePlan{Plan{p}, p}, nil
}

// Voxelize sorts points into the cells of a grid, reduces or lists them, and returns when it is done. Tensors may be on
// the host or on the device; host tensors are copied to a GPU and back. If an output is nil, it is allocated on Points'
// side (host or device), optional ones too. If Values, Coords and Counts are all nil, they get one entry per voxel
// found; otherwise they get the length of the given one. The caller closes the allocated tensors. The context, and the
// state after an error, are as in [Device.Resample].
func (d *Device) Voxelize(ctx context.Context, args VoxelizeArgs, grid VoxelGrid, opts VoxelizeOptions) (VoxelizeResult, error) {
	if err := d.begin(ctx, "Voxelize"); err != nil {
		return VoxelizeResult{}, err
	}
	s := voxelStaging{staging{ctx: ctx, d: d}, grid, opts}
	made := args
	found, err := s.voxelize(&made)
	var given, got []*tensor.Tensor
	for i, t := range voxelOutputs(&args) {
		given, got = append(given, *t), append(got, *voxelOutputs(&made)[i])
	}
	if err = s.end(err, given, got); err != nil {
		return VoxelizeResult{}, err
	}
	return VoxelizeResult{made.Grid, made.Values, made.Coords, made.Counts, made.RowSplits, made.PointVoxel, found}, nil
}

// voxelOutputs returns the fields for the outputs.
func voxelOutputs(a *VoxelizeArgs) [6]**tensor.Tensor {
	return [6]**tensor.Tensor{&a.Grid, &a.Values, &a.Coords, &a.Counts, &a.RowSplits, &a.PointVoxel}
}

type voxelStaging struct {
	staging
	grid VoxelGrid
	opts VoxelizeOptions
}

func (s *voxelStaging) voxelize(r *VoxelizeArgs) (found VoxelCounts, err error) {
	c := &checker{op: "Voxelize", device: s.d.home(), mixed: true}
	probe := voxelizeCheck{&backend.VoxelizeJob{VoxelizeTensors: backend.VoxelizeTensors(*r)}}
	probe.checkOptions(c, s.grid, s.opts)
	if probe.checkInputs(c); c.err != nil {
		return found, c.err
	}
	dev := *r
	v := 0
	switch given := firstOf(r.Values, r.Coords, r.Counts); {
	case s.opts.Mode == VoxelDense:
	case given == nil:
		// The given outputs are checked before anything is copied or run.
		sized := *probe.VoxelizeJob
		sized.Values, sized.Coords, sized.Counts = nil, nil, nil
		for _, o := range sized.Outputs(0)[4:] {
			if t := *o.T; t != nil && c.tensor(o.Name, t) {
				checkOutput(c, &o)
			}
		}
		if c.err != nil {
			return found, c.err
		}
		s.upload(&dev)
		if s.err != nil {
			return found, nil // close returns s.err
		}
		if v, err = s.found(dev, probe.VoxelizeJob); err != nil {
			return found, err
		}
	case given.Rank() > 0:
		v = given.Dim(0)
	}
	job := *probe.VoxelizeJob
	outs := slices.DeleteFunc(job.Outputs(v), func(o backend.Output) bool { return o.Shape == nil })
	err = s.make(c, r.Points, outs)
	*r = VoxelizeArgs(job.VoxelizeTensors) // also after an error, so that the caller closes the new tensors
	if err != nil {
		return found, err
	}
	if _, err := newVoxelizeJob(c, *r, s.grid, s.opts); err != nil {
		return found, err
	}
	s.upload(&dev)
	copies := voxelOutputs(&dev)
	for i, t := range voxelOutputs(r) {
		*copies[i] = s.keep(*t)
	}
	if s.err != nil {
		return found, nil
	}
	if found, err = s.run(dev, s.opts); err != nil {
		return found, err
	}
	return found, s.finish()
}

func firstOf(ts ...*tensor.Tensor) *tensor.Tensor {
	for _, t := range ts {
		if t != nil {
			return t
		}
	}
	return nil
}

// upload replaces the inputs on the host by copies on the device.
func (s *voxelStaging) upload(a *VoxelizeArgs) {
	for _, t := range []**tensor.Tensor{&a.Points, &a.Features, &a.Labels, &a.Offsets, &a.Poses} {
		*t = s.in(*t)
	}
}

// found returns the number of voxels, from a first run with only coordinates and counts as outputs.
func (s *voxelStaging) found(dev VoxelizeArgs, job *backend.VoxelizeJob) (v int, err error) {
	most := min(job.N, job.Keys())
	if job.RowVoxels < backend.MaxRow {
		most = min(most, job.B*job.RowVoxels)
	}
	a := VoxelizeArgs{Points: dev.Points, Offsets: dev.Offsets, Poses: dev.Poses}
	opts := VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceCount, Order: s.opts.Order, MaxVoxels: s.opts.MaxVoxels}
	only := &backend.VoxelizeJob{VoxelizeTensors: backend.VoxelizeTensors(a), Mode: opts.Mode, Reduce: opts.Reduce, Order: opts.Order, B: job.B, N: job.N, Batched: job.Batched}
	for _, o := range only.Outputs(most)[2:4] {
		if *o.T, err = s.d.Alloc(o.DType, o.Shape...); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, (*o.T).Close()) }()
	}
	counts, err := s.run(VoxelizeArgs(only.VoxelizeTensors), opts)
	return int(counts.Voxels), err
}

// run makes a plan, runs it once on a separate queue, and returns its counters.
func (s *voxelStaging) run(a VoxelizeArgs, opts VoxelizeOptions) (counts VoxelCounts, err error) {
	plan, err := s.d.PlanVoxelize(a, s.grid, opts)
	if err != nil {
		return counts, err
	}
	if err = s.once(&plan.Plan); err == nil {
		counts, err = plan.Counts()
	}
	return counts, errors.Join(err, plan.Close())
}

// Open3DGrid returns the grid that Open3D's PointCloud.voxel_down_sample uses for points [N,3], f64 or f32, on the
// host. It begins half a cell below the lowest point and ends with the cell of the highest point. Points that are not
// finite are ignored. size is the edge length of a cell.
func Open3DGrid(points *tensor.Tensor, size float64) (VoxelGrid, error) {
	c := &checker{op: "Open3DGrid", device: "host"}
	if c.tensor("points", points) {
		c.dtype("points", points, tensor.F32, tensor.F64)
		if c.err == nil && (points.Rank() != 2 || points.Dim(1) != 3) {
			c.set("points", ErrShape, tensor.FormatShape(points.Shape()), "[N,3]")
		}
		c.lastContiguous("points", points)
	}
	if c.err != nil {
		return VoxelGrid{}, c.err
	}
	all, err := tensor.Floats(points)
	if err != nil {
		return VoxelGrid{}, err
	}
	var g VoxelGrid
	first := true
	for i := range points.Dim(0) {
		p := [3]float64(all[3*i:])
		if math.IsNaN(p[0]-p[0]) || math.IsNaN(p[1]-p[1]) || math.IsNaN(p[2]-p[2]) {
			continue
		}
		for a, x := range p {
			if first || x < g.Min[a] {
				g.Min[a] = x
			}
			if first || x > g.Max[a] {
				g.Max[a] = x
			}
		}
		first = false
	}
	for a := range 3 {
		g.Size[a] = size
		g.Min[a] -= size / 2
		cells := math.Floor((g.Max[a]-g.Min[a])/size) + 1
		g.Max[a] = g.Min[a] + float64(cells*size)
	}
	_, err = g.Cells()
	return g, err
}
