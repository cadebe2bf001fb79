package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

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

// Flags of voxelize that need --tsdf, and flags that exclude it.
var (
	volumeFlags = []string{"truncation", "near", "far", "scale", "intrinsics"}
	gridFlags   = []string{"columns", "cloud", "min", "max", "mode", "reduce", "order", "max-points", "max-voxels", "empty", "preset"}
)

// checkTSDF returns a usage error if a flag has no meaning with or without --tsdf.
func (r *voxelRequest) checkTSDF(f *pflag.FlagSet) error {
	switch i := slices.IndexFunc(volumeFlags, f.Changed); {
	case i >= 0 && !r.tsdf:
		return usagef("--%s is for --tsdf", volumeFlags[i])
	case !r.tsdf:
		return nil
	}
	if i := slices.IndexFunc(gridFlags, f.Changed); i >= 0 {
		return usagef("--%s is not for --tsdf", gridFlags[i])
	}
	if s := r.size.value; !r.size.set || s[0] != s[1] || s[0] != s[2] {
		return usagef("--size: got %q with --tsdf, want one number", r.size.String())
	}
	switch n := len(r.intrinsics); {
	case n != 0 && n != 4:
		return usagef("--intrinsics: got %s, want fx,fy,cx,cy", text.Count(n, "number"))
	case n == 4 && [4]float64(r.intrinsics) == [4]float64{}:
		return usagef("--intrinsics: got four zeros, want fx,fy,cx,cy, with fx and fy above 0")
	case r.out == "":
		return usagef("no output given, want -o OUT.ply")
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
	Frames     int        `json:"frames"`
	Integrated int        `json:"frames_integrated"`
	NoPose     int        `json:"frames_without_pose"`
	NoColor    int        `json:"frames_without_color"`
	Unreadable int        `json:"frames_unreadable"`
	Pixels     int64      `json:"pixels"`
	Valid      int64      `json:"pixels_valid"`
	NoDepth    int64      `json:"pixels_without_depth"`
	OutOfRange int64      `json:"pixels_out_of_range"`
	Blocks     int        `json:"blocks"`
	Vertices   int        `json:"vertices"`
	Triangles  int        `json:"triangles"`
	Origin     [3]float64 `json:"origin"` // of the points, and of Min and Max
	Min        [3]float64 `json:"min"`
	Max        [3]float64 `json:"max"`
	unreadable error      // the first
	noteList
}

// reconstruct fuses the depth images of a recording, and writes their surface.
func (a *app) reconstruct(r *voxelRequest) (err error) {
	outputs := []output{{flag: "-o", path: r.out, ends: []string{".ply", ".npz"}}, picture(r.plot)}
	if err := a.begin(&r.in, r.reading.Definitions, outputs...); err != nil {
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
	if strings.EqualFold(filepath.Ext(r.out), ".ply") {
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
	d, err := r.openStamped(ctx)
	if err != nil {
		return readError(r.in, err)
	}
	defer joinClose(&err, d)
	e, err := r.episode.of(ctx, d, r.in)
	if err != nil {
		return err
	}
	switch names := e.DepthNames(); {
	case len(names) == 0:
		return &inputError{Path: r.in, Got: "no depth images in it", Want: "a recording that has some"}
	case r.stream == "" && len(names) > 1:
		return usagef("%s holds %d series of depth images, want --stream %s", r.in, len(names), orOf(names))
	}
	opts := depth.Options{Stream: r.stream, Scale: r.scale}
	copy(opts.Intrinsics[:], r.intrinsics)
	s, err := depth.Open(ctx, device, e, opts)
	if err != nil {
		return readError(r.in, err)
	}
	done()
	j.report.notes(slices.Concat(e.Notes.Damage(), slices.DeleteFunc(e.Notes.Of(dataset.ClassLeftOut, dataset.ClassRemark).About(s.Sources), func(n dataset.Note) bool {
		return n.Code == dataset.CodeHeaderFields || n.Code == dataset.CodeFrameParents // a good log has them too
	})))
	color := e.MediaStream(s.Name).Depth.Color != "" && s.Counts.NoColor < s.Len()
	v, err := device.NewVolume(ops.VolumeOptions{Color: color, IntegrateOptions: ops.IntegrateOptions{
		Voxel: r.size.value[0], Truncation: r.truncation, Near: r.near, Far: r.far, Scale: s.Scale,
	}})
	if err != nil {
		return err
	}
	defer joinClose(&err, v)
	if err := j.integrate(ctx, a, s, v); err != nil {
		var arg *ops.ArgError
		if errors.As(err, &arg) && strings.HasPrefix(arg.Arg, "Options.") {
			return &dataset.OptionError{Arg: strings.TrimPrefix(arg.Arg, "Options."), Got: arg.Got, Want: arg.Want}
		}
		return err
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
	return j.account(s)
}

// openStamped opens the recording with the clock of the messages' headers, if it has one, because tf uses that clock.
func (r *voxelRequest) openStamped(ctx context.Context) (dataset.Dataset, error) {
	d, err := dataset.Open(ctx, r.in, r.reading)
	if err != nil || !slices.Contains(d.Info().Clocks, "header") {
		return d, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	stamped := r.reading
	stamped.Clock = "header"
	return dataset.Open(ctx, r.in, stamped)
}

// integrate fuses the images in order, while later ones are decoded.
func (j *volumeJob) integrate(ctx context.Context, a *app, s *depth.Series, v *ops.Volume) error {
	bar := a.Rating("integrating", s.Len(), "images")
	defer bar.Done()
	for frame, err := range s.Frames(ctx) {
		bar.Add(1)
		switch {
		case err != nil && j.request.reading.Strict:
			return readError(j.request.in, err)
		case err != nil:
			if j.report.Unreadable++; j.report.unreadable == nil {
				j.report.unreadable = err
			}
		case v.Color != nil && frame.Color == nil:
			j.report.NoColor++
		default:
			if err := j.fuse(ctx, s, v, frame); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// fuse integrates an image, and counts its pixels.
func (j *volumeJob) fuse(ctx context.Context, s *depth.Series, v *ops.Volume, f *depth.Frame) (err error) {
	counts := make([]int64, 4)
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
	j.report.Integrated++
	j.report.Pixels += int64(h * w)
	j.report.Valid += counts[0]
	j.report.NoDepth += counts[1]
	j.report.OutOfRange += counts[2]
	for k := range j.axes {
		for i := range 3 {
			j.axes[k][i] += float64(f.Pose[4*i+k])
		}
	}
	return nil
}

// account completes the report. A recording without a surface is an error.
func (j *volumeJob) account(s *depth.Series) error {
	n := &j.report
	n.Frames, n.NoPose, n.Origin = s.Counts.Images, s.Counts.NoPose, s.Origin
	if n.Triangles == 0 {
		got := fmt.Sprintf("%d of %s integrated, %d of %s valid, and no surface", n.Integrated, text.Count(n.Frames, "depth image"), n.Valid, text.Count(int(n.Pixels), "pixel"))
		return &inputError{Path: j.request.in, Stream: s.Name, Got: got, Want: "depth images that show one", Err: n.unreadable}
	}
	if n.unreadable != nil {
		n.remark("frames-unread", "%d of %s cannot be read, the first: %v", n.Unreadable, text.Count(n.Frames, "depth image"), n.unreadable)
	}
	if s.Counts.Distorted {
		n.remark("distortion-ignored", "%s: camera_info has a lens distortion, which is not corrected", s.Name)
	}
	if n.Origin != [3]float64{} {
		n.remark("origin-moved", "%s: the poses are far from their origin, so the points are relative to %s", s.Name, shortVec(n.Origin))
	}
	if !s.Posed && n.Integrated > 1 {
		n.remark("poses-absent", "%s: the recording has no poses of a moving camera, so all images are from one place", s.Name)
	}
	var err error
	if j.cloud, err = j.surface.Cloud(); err == nil {
		n.Min, n.Max, _ = j.cloud.Bounds()
	}
	return err
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
	t := text.NewTable(a.Out, tabwriter.AlignRight)
	fmt.Fprintln(t, "images\tintegrated\twithout pose\twithout color\tunreadable\t")
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t\n", n.Frames, n.Integrated, n.NoPose, n.NoColor, n.Unreadable)
	fmt.Fprintln(t, "pixels\tvalid\twithout depth\tout of range\t")
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t\n", n.Pixels, n.Valid, n.NoDepth, n.OutOfRange)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "volume: %s of 8 x 8 x 8 voxels of %v m\n", text.Count(n.Blocks, "block"), j.request.size.value[0])
	fmt.Fprintf(a.Out, "surface: %s and %s, from %s to %s (x, y, z)\n", text.Count(n.Triangles, "triangle"), text.Count(n.Vertices, "point"), shortVec(n.Min), shortVec(n.Max))
	return a.wrote(j.request, device)
}
