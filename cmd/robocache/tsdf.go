package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/surface"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/pflag"
)

// Flags of voxelize that need depth images, and flags that --tsdf excludes.
var (
	imageFlags = []string{"near", "far", "scale", "intrinsics", "fixed", "color", "max-gap"}
	gridFlags  = []string{"columns", "cloud", "min", "max", "mode", "reduce", "order", "max-points", "max-voxels", "empty", "preset"}
)

// checkImages returns a usage error if a flag has no meaning with or without --tsdf, or if the flags of depth images are wrong.
func (r *voxelRequest) checkImages(f *pflag.FlagSet) error {
	if i := slices.IndexFunc(imageFlags, f.Changed); i >= 0 {
		r.imageFlag = imageFlags[i]
	}
	i := slices.IndexFunc(gridFlags, f.Changed)
	switch s := r.size.value; {
	case !r.tsdf && f.Changed("truncation"):
		return usagef("--truncation is for --tsdf")
	case r.tsdf && i >= 0:
		return usagef("--%s is not for --tsdf", gridFlags[i])
	case r.tsdf && (!r.size.set || s[0] != s[1] || s[0] != s[2]):
		return usagef("--size: got %q with --tsdf, want one number", r.size.String())
	}
	switch n := len(r.intrinsics); {
	case n != 0 && n != 4:
		return usagef("--intrinsics: got %s, want fx,fy,cx,cy", text.Count(n, "number"))
	case n == 4 && [4]float64(r.intrinsics) == [4]float64{}:
		return usagef("--intrinsics: got four zeros, want fx,fy,cx,cy, with fx and fy above 0")
	case r.out == "":
		return usagef("no output given, want -o OUT.npz or -o OUT.ply")
	}
	return checkGiven(r.out, r.backend)
}

// volumeJob is depth images with the surface that was computed from them.
type volumeJob struct {
	request *voxelRequest
	report  volumeReport
	surface *surface.Surface
	cloud   *dataset.Cloud // the surface's points
	axes    [3][3]float64  // the sums of the cameras' x, y and z axes in the world
}

// volumeReport is the report of voxelize --tsdf.
type volumeReport struct {
	depthReport
	Integrated int        `json:"frames_integrated"`
	Blocks     int        `json:"blocks"`
	Vertices   int        `json:"vertices"`
	Triangles  int        `json:"triangles"`
	Origin     [3]float64 `json:"origin"` // subtracted from the points, Min and Max, in metres
	Min        [3]float64 `json:"min"`
	Max        [3]float64 `json:"max"`
	noteList
}

// reconstruct fuses the depth images of a recording, and writes their surface.
func (a *app) reconstruct(r *voxelRequest) (err error) {
	if err := a.begin(&r.in, r.reading.Definitions, r.output(), picture(r.plot)); err != nil {
		return err
	}
	device, err := ops.Open(r.backend)
	if err != nil {
		return err
	}
	defer joinClose(&err, device)
	j := &volumeJob{request: r, report: volumeReport{noteList: newNotes()}}
	if err := j.run(context.Background(), a, device); err != nil {
		return err
	}
	done := a.Step("writing " + r.out)
	defer done()
	write := inArrays(r.out, j.arrays)
	if r.writesPLY() {
		write = func(w io.Writer) error { return ply.Write(w, j.cloud, ply.Options{Faces: j.surface.Triangles}) }
	}
	return save(r.in, r.out, r.plot, write, j.draw, func() error {
		done()
		return a.reconstructed(j, device.Info())
	})
}

// run reads the depth images, integrates them and extracts the surface.
func (j *volumeJob) run(ctx context.Context, a *app, device *ops.Device) (err error) {
	r := j.request
	done := a.Step("reading " + r.in)
	defer done()
	d, err := dataset.Open(ctx, r.in, r.reading)
	if err != nil {
		return readError(r.in, err)
	}
	defer func() { joinClose(&err, d) }()
	if d, err = r.stamped(ctx, d); err != nil {
		return err
	}
	e, err := r.episode.of(ctx, d, r.in)
	if err != nil {
		return err
	}
	s, err := r.depthImages(ctx, device, e, &j.report.depthReport, &j.report.noteList)
	if err != nil {
		return err
	}
	done()
	v, err := device.NewVolume(ops.VolumeOptions{Color: s.colored, IntegrateOptions: ops.IntegrateOptions{
		Voxel: r.size.value[0], Truncation: r.truncation, Near: r.near, Far: r.far, Scale: s.Scale,
	}})
	if err != nil {
		return err
	}
	defer joinClose(&err, v)
	if err := s.each(ctx, a, "integrating", func(f *depth.Frame, counts []int64) error { return j.fuse(ctx, s, v, f, counts) }); err != nil {
		return optionOf(err)
	}
	done = a.Step("extracting the surface")
	defer done()
	blocks, err := v.Download(ctx)
	if err != nil {
		return err
	}
	j.surface, err = surface.Volume(blocks).Mesh()
	if err != nil {
		return err
	}
	j.report.Blocks, j.report.Vertices, j.report.Triangles = len(blocks.Keys), len(j.surface.Points)/3, len(j.surface.Triangles)
	j.report.Integrated, j.report.Origin = j.report.used(), s.Origin
	if s.Origin != [3]float64{} {
		j.report.remark("origin-moved", "%s: the poses are far from their origin, so the points are relative to %s", s.Name, shortVec(s.Origin))
	}
	if err := s.account(j.report.Triangles == 0, "surface"); err != nil {
		return err
	}
	if j.cloud, err = j.surface.Cloud(); err == nil {
		j.report.Min, j.report.Max, _ = j.cloud.Bounds()
	}
	return err
}

// fuse integrates an image.
func (j *volumeJob) fuse(ctx context.Context, s *depthImages, v *ops.Volume, f *depth.Frame, counts []int64) (err error) {
	args := ops.IntegrateArgs{
		Counts:     tensor.Must(tensor.Of(counts, 1, 4)),
		Intrinsics: tensor.Must(tensor.Of(s.Intrinsics[:], 4)),
		Poses:      tensor.Must(tensor.Of(f.Pose[:], 4, 4)),
	}
	h, w := f.Depth.Dim(0), f.Depth.Dim(1)
	if args.Depth, err = f.Depth.Reshape(1, h, w); err != nil {
		return err
	}
	if v.Color != nil {
		if args.Images, err = f.Color.Reshape(1, h, w, 3); err != nil {
			return err
		}
	}
	if err := v.Integrate(ctx, args); err != nil {
		return err
	}
	for k := range j.axes {
		for i := range 3 {
			j.axes[k][i] += float64(f.Pose[4*i+k])
		}
	}
	return nil
}

// arrays writes the surface as arrays.
func (j *volumeJob) arrays(w arrayfile.Writer) error {
	s := j.surface
	n := j.report.Vertices
	list := []named{{"points", j.cloud.Points}, {"normals", tensor.Must(tensor.Of(s.Normals, n, 3))}}
	if s.Colors != nil {
		list = append(list, named{"colors", tensor.Must(tensor.Of(s.Colors, n, 3))})
	}
	var triangles []int32
	for _, t := range s.Triangles {
		triangles = append(triangles, t[:]...)
	}
	return addArrays(w, append(list, named{"triangles", tensor.Must(tensor.Of(triangles, len(s.Triangles), 3))}))
}

// draw draws the surface from the cameras' mean direction, but from farther above and to the right.
func (j *volumeJob) draw(w io.Writer) error {
	m := viz.Mesh{Surface: j.surface}
	for k := range 3 {
		m.Up[k] = -j.axes[1][k]
		m.Toward[k] = 0.3*j.axes[0][k] - 0.4*j.axes[1][k] - j.axes[2][k]
	}
	return viz.WriteMeshPNG(w, m, viz.Options{Title: filepath.Base(j.request.in)})
}

// reconstructed prints the counts and the files.
func (a *app) reconstructed(j *volumeJob, device ops.Info) error {
	n := &j.report
	if a.JSON {
		return a.WriteJSON(schema.TSDF, n)
	}
	n.print(a)
	if err := n.table(a.Out, "integrated"); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "volume: %s of 8 x 8 x 8 voxels of %v m\n", text.Count(n.Blocks, "block"), j.request.size.value[0])
	fmt.Fprintf(a.Out, "surface: %s and %s, from %s to %s (x, y, z)\n", text.Count(n.Triangles, "triangle"), text.Count(n.Vertices, "point"), shortVec(n.Min), shortVec(n.Max))
	return a.wrote(j.request, device)
}
