package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// voxelJob is a cloud with the voxels that were computed from it.
type voxelJob struct {
	request *voxelRequest
	cloud   *cloud
	opts    ops.VoxelizeOptions
	grid    ops.VoxelGrid
	derived bool // the grid's bounds come from the points
	out     ops.VoxelizeResult
	drawn   ops.VoxelizeResult // the occupied voxels, for the picture
	values  *tensor.Tensor     // [V,F], the features' means for a PLY file; nil if there are none
}

// voxelReport is the report of voxelize: the point counts, and the lines on standard error.
type voxelReport struct {
	counters
	Images *depthReport `json:"depth_images,omitempty"`
	noteList
}

type counters struct {
	Points        int64 `json:"points"`
	InRange       int64 `json:"in_range"`
	OutOfRange    int64 `json:"out_of_range"`
	NotFinite     int64 `json:"not_finite"`
	DroppedPoints int64 `json:"dropped_points"`
	DroppedVoxels int64 `json:"dropped_voxels"`
}

// args returns the operation's arguments for its reduction.
func (j *voxelJob) args() ops.VoxelizeArgs {
	args := ops.VoxelizeArgs{Points: j.cloud.points, Offsets: j.cloud.offsets}
	if j.opts.Mode == ops.VoxelHard || j.opts.Reduce.OfFeatures() {
		args.Features = j.cloud.features
	}
	return args
}

func (j *voxelJob) run(device *ops.Device) error {
	args := j.args()
	var err error
	if j.request.writesPLY() && args.Features != nil && j.request.preset.Value != open3d { // without features, the values are means of x, y and z
		made, err := device.Voxelize(context.Background(), args, j.grid, j.opts)
		if err != nil {
			return j.cloud.explain(err)
		}
		args.Features, j.values = nil, made.Values
	}
	if j.out, err = device.Voxelize(context.Background(), args, j.grid, j.opts); err != nil {
		return j.cloud.explain(err)
	}
	if j.request.plot == "" {
		return nil
	}
	// The picture needs the occupied voxels, which a dense grid does not list.
	j.drawn = j.out
	if j.opts.Mode == ops.VoxelDense {
		o := ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: j.opts.Reduce, Order: j.opts.Order}
		if o.Reduce == ops.ReduceOccupancy {
			o.Reduce = ops.ReduceCount
		}
		if j.drawn, err = device.Voxelize(context.Background(), args, j.grid, o); err != nil {
			return j.cloud.explain(err)
		}
	}
	return nil
}

// arrays writes the output.
func (j *voxelJob) arrays(w arrayfile.Writer) error {
	o := &j.out
	var list []named
	switch j.opts.Mode {
	case ops.VoxelDense:
		list = []named{{"grid", o.Grid}}
	case ops.VoxelHard:
		list = []named{{"voxels", o.Values}, {"coords", o.Coords}, {"num_points", o.Counts}, {"point_voxel", o.PointVoxel}}
		if j.cloud.offsets != nil {
			list = append(list, named{"row_splits", o.RowSplits})
		}
	default:
		list = []named{{"coords", o.Coords}, {"counts", o.Counts}}
		if o.Values != nil {
			list = append(list, named{"features", o.Values})
		}
		list = append(list, named{"point_voxel", o.PointVoxel}, named{"row_splits", o.RowSplits})
	}
	if j.derived {
		lo, err := tensor.Of(j.grid.Min[:], 3)
		hi, more := tensor.Of(j.grid.Max[:], 3)
		if err = errors.Join(err, more); err != nil {
			return err
		}
		list = append(list, named{"min", lo}, named{"max", hi})
	}
	if j.cloud.times != nil {
		list = append(list, named{"times", j.cloud.times})
	}
	return addArrays(w, list)
}

// means writes a cloud of the points' means in each voxel.
func (j *voxelJob) means(w io.Writer) error {
	all := j.out.Values
	points, err := all.Slice(1, 0, 3)
	if err != nil {
		return err
	}
	values, names := j.values, j.cloud.names
	if values == nil {
		if values, err = all.Slice(1, 3, all.Dim(1)); err != nil {
			return err
		}
		names = names[min(3, len(names)):]
	}
	columns := make([]dataset.Column, values.Dim(1))
	for k := range columns {
		columns[k].Name = fmt.Sprintf("feature_%d", k)
		if k < len(names) {
			columns[k].Name = names[k]
		}
		columns[k].Integer = j.cloud.images != nil // a colour's mean is rounded to a byte
	}
	if j.cloud.images != nil {
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		bytes := make([]float32, len(list))
		for i, v := range list {
			bytes[i] = float32(math.Round(v))
		}
		values = tensor.Must(tensor.Of(bytes, values.Shape()...))
	}
	c, err := dataset.CloudOf(points, values, columns)
	if err != nil {
		return err
	}
	return ply.Write(w, c, ply.Options{})
}

// picture returns the first cloud's voxels, coloured by height or by their value.
func (j *voxelJob) picture() (viz.Voxels, error) {
	v := viz.Voxels{Min: j.grid.Min, Size: j.grid.Size}
	coords, err := tensor.Data[int32](j.drawn.Coords)
	if err != nil {
		return v, err
	}
	n, width := j.drawn.Coords.Dim(0), j.drawn.Coords.Dim(1)
	var zyx []int32
	for i := range n {
		at := coords[i*width : (i+1)*width]
		if width == 4 {
			if at[0] > 0 {
				break // later rows follow
			}
			at = at[1:]
		}
		if j.opts.Order == ops.AxisXYZ {
			at = []int32{at[2], at[1], at[0]}
		}
		zyx = append(zyx, at...)
	}
	shown := len(zyx) / 3
	if shown == 0 {
		return v, &inputError{Path: j.cloud.path, Msg: "no points in the grid, want at least one to draw"}
	}
	if shown < n {
		j.cloud.remark("clouds-undrawn", "the picture shows the first of %d clouds", j.cloud.offsets.Len()-1)
	}
	if v.Coords, err = tensor.Of(zyx, shown, 3); err != nil {
		return v, err
	}
	switch {
	case j.opts.Mode == ops.VoxelHard:
	case j.opts.Reduce == ops.ReduceCount:
		v.Label, v.Counts = "points in a voxel", true
		v.Values, err = j.drawn.Counts.Slice(0, 0, shown)
	case j.opts.Reduce.OfFeatures() && j.cloud.features != nil && j.request.preset.Value != open3d && !j.request.writesPLY():
		name := "the first feature"
		if len(j.cloud.names) > 0 {
			name = j.cloud.names[0]
		}
		v.Label = j.opts.Reduce.String() + " of " + name
		v.Values, err = j.drawn.Values.AsStrided([]int{shown}, []int{j.drawn.Values.Dim(1)}, 0)
	}
	return v, err
}

// voxelized prints the counts and the files.
func (a *app) voxelized(j *voxelJob, device ops.Info) error {
	f := j.out.Found
	n := counters{f.Points, f.InRange, f.OutOfRange, f.NotFinite, f.DroppedPoints, f.DroppedVoxels}
	if a.JSON {
		return a.WriteJSON(schema.Voxelize, voxelReport{n, j.cloud.images, j.cloud.noteList})
	}
	j.cloud.print(a)
	if j.cloud.images != nil {
		if err := j.cloud.images.table(a.Out, "deprojected"); err != nil {
			return err
		}
	}
	cells, err := j.grid.Cells()
	if err != nil {
		return err
	}
	if lo, hi, ok := j.cloud.bounds(); ok {
		fmt.Fprintf(a.Out, "cloud: %d points, from %s to %s (x, y, z)\n", n.Points, shortVec(lo), shortVec(hi))
	}
	end := j.grid.Min // the end of the last cells, which may differ from the given bound
	for k, n := range cells {
		end[k] += float64(n) * j.grid.Size[k]
	}
	fmt.Fprintf(a.Out, "grid: %d x %d x %d cells of %s, from %s to %s\n", cells[0], cells[1], cells[2],
		shortVec(j.grid.Size), shortVec(j.grid.Min), shortVec(end))
	if len(j.cloud.names) > 0 {
		fmt.Fprintf(a.Out, "features: %s\n", printed.Text(strings.Join(j.cloud.names, ", ")))
	}
	if j.opts.Mode != ops.VoxelDense {
		fmt.Fprintf(a.Out, "voxels: %d\n", f.Voxels)
	}
	t := text.NewTable(a.Out, tabwriter.AlignRight)
	fmt.Fprintln(t, "points\tin range\tout of range\tnot finite\tdropped points\tdropped voxels\t")
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t\n", n.Points, n.InRange, n.OutOfRange, n.NotFinite, n.DroppedPoints, n.DroppedVoxels)
	if err := t.Flush(); err != nil {
		return err
	}
	return a.wrote(j.request, device)
}

// wrote prints the files.
func (a *app) wrote(r *voxelRequest, device ops.Info) error {
	files := r.out
	if r.plot != "" {
		files += " and " + r.plot
	}
	_, err := fmt.Fprintf(a.Out, "wrote %s, computed on %s\n", files, device.Name)
	return err
}

// voxelArrays maps the operation's arguments to arrays in files.
var voxelArrays = map[string]string{"Points": "points", "Features": "features", "Offsets": "offsets"}

// explain adds the file's array to an error from the operation.
func (c *cloud) explain(err error) error {
	name := ops.Argument(err)
	if name == "" {
		return err
	}
	return &inputError{Path: c.path, Array: voxelArrays[name], Err: err}
}
