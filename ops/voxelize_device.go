package ops

import (
	"context"
	"errors"
	"math"

	"github.com/robocache/robocache/tensor"
)

// PlanVoxelize binds Voxelize to tensors on the device ("host" tensors for the CPU). All arguments are checked here, except
// the values in them: offsets that do not fit are found when it runs. Outputs must be given, but for those that are optional.
// The length of Coords is V: voxels beyond it are dropped, and counted. What is beyond the voxels found is not written. The
// plan refers to the tensors: they stay open as long as it is run.
//
// On a GPU a plan has memory of its own until it is closed, in the measure of the points; for dense sums, means and extremes of small clouds
// in that of the grid too, 12 bytes a feature of each cell and 4 to 16 more, at most 128 MB. On the CPU it has 16 to 36 bytes a point, and
// for majorities 4 more for each thread.
func (d *Device) PlanVoxelize(args VoxelizeArgs, grid VoxelGrid, opts VoxelizeOptions) (VoxelizePlan, error) {
	if err := d.open("PlanVoxelize"); err != nil {
		return nil, err
	}
	job, err := newVoxelizeJob(&checker{op: "Voxelize", device: d.home()}, args, grid, opts)
	if err != nil {
		return nil, err
	}
	return d.backend.Voxelize(job)
}

// Voxelize sorts points into the cells of a grid and returns when it is done. Tensors may be on the host or on the device;
// those on the host are copied to the device and back where that is not the host. Outputs that are not given are allocated
// where Points is, optional ones too. If neither Values nor Coords nor Counts is given, they are made as long as the number
// of voxels found, else as long as those given. The caller closes what was allocated.
func (d *Device) Voxelize(args VoxelizeArgs, grid VoxelGrid, opts VoxelizeOptions) (VoxelizeResult, error) {
	result := VoxelizeResult{VoxelizeArgs: args}
	if err := d.open("Voxelize"); err != nil {
		return result, err
	}
	s := voxelStaging{staging{d: d}, grid, opts}
	err := s.voxelize(&result)
	var given, got []*tensor.Tensor
	made := voxelOutputs(&result.VoxelizeArgs)
	for i, t := range voxelOutputs(&args) {
		given, got = append(given, *t), append(got, *made[i])
	}
	if s.failed(err, given, got) {
		result = VoxelizeResult{VoxelizeArgs: args}
	}
	return result, errors.Join(err, s.close())
}

// voxelOutputs are the places of the outputs.
func voxelOutputs(a *VoxelizeArgs) [6]**tensor.Tensor {
	return [6]**tensor.Tensor{&a.Grid, &a.Values, &a.Coords, &a.Counts, &a.RowSplits, &a.PointVoxel}
}

type voxelStaging struct {
	staging
	grid VoxelGrid
	opts VoxelizeOptions
}

func (s *voxelStaging) voxelize(r *VoxelizeResult) error {
	c := &checker{op: "Voxelize", device: s.d.home(), mixed: true}
	probe := &VoxelizeJob{VoxelizeArgs: r.VoxelizeArgs}
	probe.checkOptions(c, s.grid, s.opts)
	if probe.checkInputs(c); c.err != nil {
		return c.err
	}
	dev := r.VoxelizeArgs
	v := 0
	switch given := firstOf(r.Values, r.Coords, r.Counts); {
	case s.opts.Mode == VoxelDense:
	case given == nil:
		// What was given is checked before anything is copied or run.
		sized := *probe
		sized.Values, sized.Coords, sized.Counts = nil, nil, nil
		for _, o := range sized.outputs(0)[4:] {
			if t := *o.t; t != nil && c.tensor(o.name, t) {
				o.check(c)
			}
		}
		if c.err != nil {
			return c.err
		}
		s.upload(&dev)
		if s.err != nil {
			return nil // close returns it
		}
		var err error
		if v, err = s.found(dev, probe); err != nil {
			return err
		}
	case given.Rank() > 0:
		v = given.Dim(0)
	}
	job := &VoxelizeJob{VoxelizeArgs: r.VoxelizeArgs}
	*job = *probe
	var outs []output
	for _, o := range job.outputs(v) {
		if o.shape != nil {
			outs = append(outs, o.output)
		}
	}
	err := s.make(c, r.Points, outs)
	r.VoxelizeArgs = job.VoxelizeArgs // also of a call that fails: what was made is closed
	if err != nil {
		return err
	}
	if _, err := newVoxelizeJob(c, r.VoxelizeArgs, s.grid, s.opts); err != nil {
		return err
	}
	s.upload(&dev)
	copies := voxelOutputs(&dev)
	for i, t := range voxelOutputs(&r.VoxelizeArgs) {
		*copies[i] = s.keep(*t)
	}
	if s.err != nil {
		return nil
	}
	if r.Found, err = s.run(dev, s.opts); err != nil {
		return err
	}
	return s.finish()
}

func firstOf(ts ...*tensor.Tensor) *tensor.Tensor {
	for _, t := range ts {
		if t != nil {
			return t
		}
	}
	return nil
}

// upload puts the inputs on the device; those that are there already stay.
func (s *voxelStaging) upload(a *VoxelizeArgs) {
	for _, t := range []**tensor.Tensor{&a.Points, &a.Features, &a.Labels, &a.Offsets, &a.Poses} {
		*t = s.in(*t)
	}
}

// found returns how many voxels there are, by a first run that keeps only their coordinates and counts.
func (s *voxelStaging) found(dev VoxelizeArgs, job *VoxelizeJob) (v int, err error) {
	most := min(job.N, job.Keys())
	if job.RowVoxels < maxRow {
		most = min(most, job.B*job.RowVoxels)
	}
	a := VoxelizeArgs{Points: dev.Points, Offsets: dev.Offsets, Poses: dev.Poses}
	opts := VoxelizeOptions{Mode: VoxelSparse, Reduce: ReduceCount, Order: s.opts.Order, MaxVoxels: s.opts.MaxVoxels}
	only := &VoxelizeJob{VoxelizeArgs: a, Mode: opts.Mode, Reduce: opts.Reduce, Order: opts.Order, B: job.B, N: job.N, Batched: job.Batched}
	for _, o := range only.outputs(most)[2:4] {
		if *o.t, err = s.d.Alloc(o.dtype, o.shape...); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, (*o.t).Close()) }()
	}
	counts, err := s.run(only.VoxelizeArgs, opts)
	return int(counts.Voxels), err
}

// run makes a plan, runs it once on a stream of its own and returns its counters.
func (s *voxelStaging) run(a VoxelizeArgs, opts VoxelizeOptions) (counts VoxelCounts, err error) {
	plan, err := s.d.PlanVoxelize(a, s.grid, opts)
	if err != nil {
		return counts, err
	}
	stream, err := s.d.backend.NewQueue()
	if err != nil {
		return counts, errors.Join(err, plan.Close())
	}
	if err = plan.Run(stream); err == nil {
		err = stream.Synchronize(context.Background())
	}
	if err == nil {
		counts, err = plan.Counts()
	}
	return counts, errors.Join(err, stream.Close(), plan.Close())
}

// Open3DGrid returns the grid that Open3D's PointCloud.voxel_down_sample lays over points [N,3], f64 or f32, on the host: it
// begins half a cell below the lowest point, and ends with the cell of the highest. Points that are not finite do not count.
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
	v, err := newValues(points)
	if err != nil {
		return VoxelGrid{}, err
	}
	var g VoxelGrid
	first := true
	for i := range points.Dim(0) {
		at := i * points.Stride(0)
		p := [3]float64{v.float(at), v.float(at + 1), v.float(at + 2)}
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
