package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

const voxelizeHelp = `Voxelize sorts the points of a cloud into the cells of a grid.

IN is a PCD file (.pcd: ascii, binary or compressed), a PLY file (.ply: ascii or binary), KITTI's
or nuScenes' float32 numbers (.bin), a numpy array (.npy: [N,3+F], x, y, z and then the features)
or a numpy archive (.npz: points [N,3] and, if they are there, features [N,F] or [N] and the offsets
[B+1] at which the clouds of a batch begin and end); points may be records with fields x, y and z. A
pipe of any of them will do, and - is standard input.

IN may also be a recording with point clouds, such as an MCAP file or a ROS bag: robocache inspect
lists its series, of which --stream names one. All of its clouds are a batch, whose times OUT holds
too, times [B], or --cloud N is one of them.

A .bin file does not name its columns. --columns does: x, y and z, in any place, and features. Without
it they are found: x,y,z,intensity,ring in a .pcd.bin, else these, or x,y,z or x,y,z,intensity or
x,y,z,intensity,ring,time, found from the numbers; if several fit, or none, it is an error.

From a cut or broken file the whole points are taken, and losses are printed;
--strict refuses it. Numpy files are always refused where they are broken.

A point's cell is floor((p - min) / size) on each axis, in the type of the file's points: float64
where they are doubles (PLY double, PCD F 8, numpy float64), else float32. Features are kept as they
are in the same way. Values made of doubles are float64, all others float32. There are
round((max - min) / size) cells along an axis; a point in none of them is out of range.
Without --min or --max the grid ends at the multiple of --size (from the other bound, if that is
given) next to the cloud's outermost finite points, and OUT also holds the bounds, min and max [3].

OUT.npz holds, by --mode:
  occupancy  grid [Z,Y,X] uint8: 1 where there is a point
  count      grid [Z,Y,X] int32: the points in each cell
  sum, mean, max, min
             grid [Z,Y,X,F], of each feature, or of x, y and z without features
  hard       voxels [V,P,3+F] (x, y, z, then the features; zero beyond a
             voxel's points), coords [V,3] (z, y, x), num_points [V], and
             point_voxel [N], each point's voxel or -1
  sparse     coords [V,3], counts [V], features [V,F] (reduced by --reduce;
             none for count), point_voxel [N] and row_splits

Hard voxels come in the order of their first points, sparse ones in the order of their cells. For a
batch grids have a leading dimension, coordinates a leading column, and hard voxels row_splits too.

Every point is accounted for: points = in_range + out_of_range + not_finite. dropped_points are
those in range that the caps --max-points and --max-voxels cost, dropped_voxels the voxels beyond
the cap. With --json these counters are the one object on standard output.

OUT.ply is a cloud: the mean of the points in each voxel, and of their features. IN must be one cloud.

IN may also be a recording with depth images, such as a folder of the TUM RGB-D benchmark, a robot log with
camera_info and tf, or a LeRobot dataset. The points of all images, at their cameras' poses, are one cloud,
with the features red, green and blue if at least half of the images have a colour image within 20 ms. An
image is left out and counted if it has no pose, if it cannot be read, or if others have colours and it has
none. Every other pixel is counted as valid, without a depth, or out of range: nearer than --near or farther
than --far.

With --tsdf such images are fused in order to a truncated signed distance field with voxels of --size, in
blocks of 8 x 8 x 8 around the surface. OUT.ply is the mesh of its zero crossing, with normals and colours.
OUT.npz has the arrays points [V,3], normals [V,3], colors [V,3] and triangles [T,3].

--preset mmcv makes hard voxels as mmcv's deterministic layer does (35 points, 20000 voxels).
--preset open3d makes the sparse voxels of Open3D's voxel_down_sample, on the grid that it lays:
features are then the means of x, y, z and of the features, and all of it is float64.`

const voxelizeExample = `  robocache voxelize scan.pcd -o scan.npz --size 0.2 --plot scan.png
  robocache voxelize scan.bin -o pillars.npz --preset mmcv \
      --size 0.16,0.16,4 --min 0,-39.68,-3 --max 69.12,39.68,1
  robocache voxelize scan.ply -o grid.npz --mode max --size 0.1 \
      --min -20,-20,-2 --max 20,20,2
  robocache voxelize drive.mcap -o scans.npz --stream /points \
      --mode sparse --size 0.2
  robocache voxelize batch.npz -o sparse.npz --mode sparse --reduce mean \
      --size 0.05
  robocache voxelize rgbd_dataset_freiburg1_desk -o desk.ply --size 0.02
  robocache voxelize rgbd_dataset_freiburg1_desk -o desk.ply --tsdf \
      --size 0.01 --far 3 --plot desk.png`

func (a *app) voxelizeCommand() *cobra.Command {
	r := &voxelRequest{
		one: -1, episode: -1,
		size:   vecFlag{size: true},
		form:   cli.ChoiceOf("MODE", voxelForms()...),
		reduce: cli.ChoiceOf("REDUCTION", sparseReductions()...),
		order:  cli.ChoiceOf("ORDER", ops.AxisZYX, ops.AxisXYZ),
		preset: cli.ChoiceOf("NAME", mmcv, open3d),
		points: countFlag{least: 1},
	}
	cmd := &cobra.Command{
		Use:     "voxelize IN -o OUT.npz|OUT.ply --size S[,S,S]",
		Short:   "Sort the points of a cloud into the cells of a grid",
		Long:    voxelizeHelp,
		Example: voxelizeExample,
		Args:    takes(1, 1, "voxelize takes one input file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.in = args[0]
			switch err := r.checkImages(cmd.Flags()); {
			case err != nil:
				return err
			case r.tsdf:
				return a.reconstruct(r)
			}
			return a.voxelize(r)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return cloudFormats, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	takesRecordings(cmd, 0)
	f := cmd.Flags()
	f.StringVarP(&r.out, "output", "o", "", "the .npz or .ply `FILE` to write")
	f.StringVar(&r.plot, "plot", "", "also draw the voxels, obliquely and from above, or the mesh to this .png `FILE`")
	f.BoolVar(&r.tsdf, "tsdf", false, "fuse the depth images of a recording, and write the mesh of their surface")
	f.Var(metres(&r.truncation), "truncation", "with --tsdf: the largest distance from the surface that a voxel records (default 4 voxels)")
	f.Var(metres(&r.near), "near", "the smallest valid depth in depth images (default 0)")
	f.Var(metres(&r.far), "far", "the largest valid depth in depth images (default any)")
	f.Var(metres(&r.scale), "scale", "the metres per unit of depth images (default the recording's)")
	f.Float64SliceVar(&r.intrinsics, "intrinsics", nil, "a depth camera's focal lengths and centre in pixels, `FX,FY,CX,CY` (default the recording's)")
	f.StringVar(&r.fixed, "fixed", "", "the `FRAME` of tf in which the points are (default the root above the depth camera)")
	f.StringVar(&r.color, "color", "", "the `NAME` of the colour images that match the depth images pixel for pixel (default the recording's, if it names some)")
	gapsFlag(f, &r.gap)
	f.Lookup("max-gap").Usage = "a depth image between poses further apart than this has no pose: auto, three usual steps, 20 ms at least; none; or a length of time"
	f.StringSliceVar(&r.columns, "columns", nil, "the `NAMES` of a .bin file's columns: x,y,z,intensity,ring (default found from its name and numbers)")
	f.StringVar(&r.stream, "stream", "", "the `NAME` of a recording's cloud series or depth images (default the only one)")
	f.Var(&r.one, "cloud", "one cloud in the series, counted from 0 (default all, as a batch)")
	f.Lookup("cloud").DefValue = "0" // so that help shows no other default
	f.Var(&r.episode, "episode", "the episode's number in the dataset, from 0 if the dataset has no numbers")
	f.Lookup("episode").DefValue = "0"
	definitionsFlag(f, &r.reading.Definitions)
	f.BoolVar(&r.reading.Strict, "strict", false, "refuse a file that is broken anywhere, instead of keeping the whole parts and listing the losses; numpy files are always refused where they are broken")
	f.Var(&r.size, "size", "a cell's size in metres, one number or x,y,z")
	f.Var(&r.lo, "min", "the grid's lower bounds (default below the lowest point)")
	f.Var(&r.hi, "max", "the grid's upper bounds (default above the highest point)")
	choiceFlag(cmd, &r.form, "mode", "occupancy, count, sum, mean, max, min, hard or sparse (default count)")
	choiceFlag(cmd, &r.reduce, "reduce", "for sparse voxels: mean (default), sum, max, min or count")
	choiceFlag(cmd, &r.order, "order", "order of grid dimensions and coordinates: zyx (default; x fastest) or xyz")
	f.Var(&r.points, "max-points", "points kept in a hard voxel (default 32)")
	f.Var(&r.voxels, "max-voxels", "hard or sparse voxels kept in each cloud, 0 for all (default 20000 if hard, else all)")
	f.Var(&r.empty, "empty", "value for a grid's empty cells (default 0)")
	choiceFlag(cmd, &r.preset, "preset", "another library's rules: mmcv or open3d")
	backendFlag(cmd, &r.backend, "auto", "auto, cpu, cuda, cuda:N or sim")
	files(cmd, map[string]string{"output": "npz ply", "plot": "png"})
	completeFrom(cmd, func(e *dataset.Episode) []string { return append(e.CloudNames(), e.DepthNames()...) }, "", "stream")
	return cmd
}

// metres returns the flag for a distance.
func metres(to *float64) *cli.PositiveFlag {
	return &cli.PositiveFlag{To: to, Max: 1e6, Unit: "METRES"}
}

func (a *app) voxelize(r *voxelRequest) (err error) {
	opts, err := r.options()
	if err != nil {
		return err
	}
	if err := a.begin(&r.in, r.reading.Definitions, r.output(), picture(r.plot)); err != nil {
		return err
	}
	device, err := ops.Open(r.backend)
	if err != nil {
		return err
	}
	defer joinClose(&err, device)
	c, err := a.load(context.Background(), r, device)
	if err != nil {
		return err
	}
	if r.writesPLY() && c.offsets != nil {
		return usagef("-o: a .ply file has one cloud, got a batch of %d, want --cloud N of a recording, or -o OUT.npz", c.offsets.Len()-1)
	}
	if r.preset.Value == open3d {
		if err := c.forOpen3D(); err != nil {
			return err
		}
	}
	j := &voxelJob{request: r, cloud: c, opts: opts}
	if j.grid, j.derived, err = r.grid(c, opts); err != nil {
		return err
	}
	done := a.Step("voxelizing")
	err = j.run(device)
	done()
	if err != nil {
		return err
	}
	done = a.Step("writing " + r.out)
	defer done()
	write := inArrays(r.out, j.arrays)
	if r.writesPLY() {
		write = j.means
	}
	return save(r.in, r.out, r.plot, write, func(w io.Writer) error {
		v, err := j.picture()
		if err != nil {
			return err
		}
		err = viz.WriteVoxelsPNG(w, v, viz.Options{Title: filepath.Base(r.in)})
		if errors.Is(err, viz.ErrInput) {
			return &inputError{Path: r.in, Err: err}
		}
		return err
	}, func() error {
		done()
		return a.voxelized(j, device.Info())
	})
}
