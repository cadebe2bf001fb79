package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/kitti"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// voxelRequest has the voxelize flags.
type voxelRequest struct {
	in, out, plot string
	backend       string
	columns       []string
	stream        string      // for a recording
	one           episodeFlag // number of a cloud in the stream; -1 for all
	episode       episodeFlag // an episode's number in a dataset; -1 if it is not given
	reading       dataset.Options
	size, lo, hi  vecFlag
	form          cli.Choice[voxelForm]
	reduce        cli.Choice[ops.Reduce]
	order         cli.Choice[ops.AxisOrder]
	preset        cli.Choice[preset]
	points        countFlag
	voxels        countFlag
	empty         cli.FillFlag

	tsdf                  bool
	truncation, near, far float64   // metres; 0 if not given
	scale                 float64   // metres per unit; 0 for the recording's
	intrinsics            []float64 // fx, fy, cx and cy; nil for the recording's
	fixed, color          string    // a frame of tf, and a stream
	gap                   ops.Limit // between poses
	imageFlag             string    // a given flag that is for depth images; empty if there is none
}

// writesPLY reports whether the output is a PLY file.
func (r *voxelRequest) writesPLY() bool { return strings.EqualFold(filepath.Ext(r.out), ".ply") }

func (r *voxelRequest) output() output {
	return output{flag: "-o", path: r.out, ends: []string{".npz", ".ply"}}
}

// options checks the command line without the input, and returns the operation's options. An invalid flag is a usage error.
func (r *voxelRequest) options() (ops.VoxelizeOptions, error) {
	none := ops.VoxelizeOptions{}
	if err := checkGiven(r.out, r.backend); err != nil {
		return none, err
	}
	if r.columns != nil {
		// A file without points accepts any columns.
		var bad *dataset.CloudError
		if _, err := kitti.Parse(nil, kitti.Options{Columns: r.columns}); errors.As(err, &bad) {
			return none, usagef("--columns %s: got %s, want %s", strings.Join(r.columns, ","), bad.Got, bad.Want)
		}
	}
	form := voxelForm{"count", ops.VoxelDense, ops.ReduceCount}
	o := ops.VoxelizeOptions{MaxPoints: defaultPoints, MaxVoxels: defaultVoxels}
	switch {
	case r.form.Given:
		form = r.form.Value
	case r.writesPLY():
		form = voxelForm{name: ops.VoxelSparse.String(), mode: ops.VoxelSparse}
	}
	if r.preset.Given {
		var err error
		if o, err = ops.VoxelPreset(r.preset.Value.String()); err != nil {
			return none, err
		}
		if !r.form.Given {
			form = voxelForm{o.Mode.String(), o.Mode, o.Reduce}
		}
		if form.mode != o.Mode {
			return none, usagef("--mode: got %s with --preset %s, want %s", form, r.preset.Value, o.Mode)
		}
	}
	o.Mode, o.Reduce = form.mode, form.reduce
	if r.order.Given {
		o.Order = r.order.Value
	}
	if r.points.set {
		o.MaxPoints = r.points.value
	}
	if r.voxels.set {
		o.MaxVoxels = r.voxels.value
	}
	if form.mode == ops.VoxelSparse {
		o.Reduce = ops.ReduceMean
		if r.reduce.Given {
			o.Reduce = r.reduce.Value
		}
		if !r.voxels.set {
			o.MaxVoxels = 0
		}
	}
	if form.mode != ops.VoxelHard {
		o.MaxPoints = 0
	}
	if form.mode == ops.VoxelDense {
		o.MaxVoxels = 0
		if r.empty.Given {
			o.Empty = r.empty.Fill.Get()
		}
	}
	is := form.mode
	switch {
	case r.writesPLY() && (is != ops.VoxelSparse || o.Reduce != ops.ReduceMean):
		return none, usagef("-o: a .ply file has the mean of the points in each voxel, got --mode %s of %s, want --mode sparse, --reduce mean", form, o.Reduce)
	case !r.size.set:
		return none, usagef("no cell size given, want --size")
	case r.reduce.Given && is != ops.VoxelSparse:
		return none, usagef("--reduce is for --mode sparse, got %s", form)
	case r.points.set && is != ops.VoxelHard:
		return none, usagef("--max-points is for --mode hard, got %s", form)
	case r.voxels.set && is == ops.VoxelDense:
		return none, usagef("--max-voxels is for --mode hard or sparse, got %s", form)
	case r.empty.Given && is != ops.VoxelDense:
		return none, usagef("--empty is for grids, got --mode %s", form)
	case r.lo.set && r.hi.set:
		if _, err := (ops.VoxelGrid{Min: r.lo.value, Max: r.hi.value, Size: r.size.value}).Cells(); err != nil {
			return none, usagef("--size %s, --min %s, --max %s: %v", &r.size, &r.lo, &r.hi, err)
		}
	}
	if r.preset.Value == open3d {
		switch s := r.size.value; {
		case r.lo.set || r.hi.set:
			return none, usagef("--preset open3d lays its own grid, got --min or --max")
		case s[0] != s[1] || s[0] != s[2]:
			return none, usagef("--preset open3d has cubes for cells, got --size %s", &r.size)
		case r.reduce.Given && r.reduce.Value != ops.ReduceMean:
			return none, usagef("--reduce: got %s with --preset open3d, want mean", r.reduce.Value)
		}
	}
	return o, nil
}

// grid returns the grid for a cloud; derived is true if its bounds come from the points. If the memory cannot hold the grid, it returns an
// error, which names strays if these are the cause.
func (r *voxelRequest) grid(c *cloud, o ops.VoxelizeOptions) (g ops.VoxelGrid, derived bool, err error) {
	g.Size, g.Min, g.Max = r.size.value, r.lo.value, r.hi.value
	if r.lo.set && r.hi.set {
		return g, false, checkRoom(g, c, o)
	}
	lo, hi, ok := c.bounds()
	if !ok {
		return g, true, &inputError{Path: c.path, Msg: "no finite points to lay a grid around, want --min and --max"}
	}
	if r.preset.Value == open3d {
		g, err = ops.Open3DGrid(c.points, g.Size[0])
	} else {
		g = r.around(c, lo, hi)
		_, err = g.Cells()
	}
	if err != nil {
		err = &inputError{Path: c.path, Msg: fmt.Sprintf("--size %s, for points from %s to %s", &r.size, vecString(lo), vecString(hi)), Err: err}
	} else {
		err = checkRoom(g, c, o)
	}
	if err == nil {
		return g, true, nil
	}
	// If few points are far away, they are the cause, not the size.
	s, bad := c.strays()
	switch {
	case bad != nil:
		return g, true, bad
	case s.few() && checkRoom(r.around(c, s.lo, s.hi), c, o) == nil:
		return g, true, s.err(c.path)
	}
	return g, true, err
}

// around returns the grid around points from lo to hi. Given bounds stay.
func (r *voxelRequest) around(c *cloud, lo, hi [3]float64) ops.VoxelGrid {
	g := ops.VoxelGrid{Size: r.size.value, Min: r.lo.value, Max: r.hi.value}
	for k, s := range g.Size {
		if !r.lo.set {
			g.Min[k] = math.Floor(lo[k]/s) * s
			if r.hi.set {
				g.Min[k] = g.Max[k] - float64(max(math.Ceil((g.Max[k]-lo[k])/s), 1)*s)
			}
			if lo[k] < g.Min[k] || !c.wide() && float32(lo[k]) < float32(g.Min[k]) { // a rounding error
				g.Min[k] -= s
			}
		}
		if !r.hi.set {
			g.Max[k] = g.Min[k] + float64(c.cellsUpTo(hi[k], g.Min[k], s)*s)
		}
	}
	return g
}

// checkRoom returns an error if an output does not fit the memory.
func checkRoom(g ops.VoxelGrid, c *cloud, o ops.VoxelizeOptions) error {
	cells, err := g.Cells()
	if err != nil {
		return err
	}
	features, reduced, of := 0, 3, c.points // without features, x, y and z are reduced
	if c.features != nil {
		features = c.features.Dim(1)
		reduced, of = features, c.features
	}
	size := 4.0 // bytes of an output value
	if of.DType() == tensor.F64 || o.Mode == ops.VoxelHard && c.wide() {
		size = 8
	}
	need, what := 0.0, ""
	switch o.Mode {
	case ops.VoxelDense:
		need = float64(cells[0]) * float64(cells[1]) * float64(cells[2])
		if o.Reduce.OfFeatures() {
			need *= float64(reduced) * size
		} else {
			need *= float64(o.Reduce.DType().Size())
		}
		if c.offsets != nil {
			need *= float64(c.offsets.Len() - 1)
		}
		what = fmt.Sprintf("--size: got a grid of %d x %d x %d cells", cells[0], cells[1], cells[2])
	case ops.VoxelHard:
		voxels := c.points.Dim(0)
		if o.MaxVoxels > 0 && c.offsets == nil {
			voxels = min(voxels, o.MaxVoxels)
		}
		need = float64(voxels) * float64(o.MaxPoints) * float64(3+features) * size
		what = fmt.Sprintf("--max-points: got up to %d voxels of %d points", voxels, o.MaxPoints)
	}
	if most := room(); need > most {
		return &inputError{Path: c.path, Msg: fmt.Sprintf("%s, which take %s, want at most %s", what, memory.Size(need), memory.Size(most)), Err: tensor.ErrOutOfMemory}
	}
	return nil
}

// wide reports whether points are f64.
func (c *cloud) wide() bool { return c.points.DType() == tensor.F64 }

// cellsUpTo returns how many cells lead from lo to v's cell, at least one. If the points are f32, it holds in f32 too.
func (c *cloud) cellsUpTo(v, lo, size float64) float64 {
	last := math.Floor((v - lo) / size)
	if narrow := (float32(v) - float32(lo)) / float32(size); !c.wide() {
		last = max(last, math.Floor(float64(narrow)))
	}
	return max(last, 0) + 1
}

// The default caps for hard voxels.
const (
	defaultPoints = 32
	defaultVoxels = 20000
)

// orOf joins quoted names with "or".
func orOf(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprintf("%q", name)
	}
	return text
}
