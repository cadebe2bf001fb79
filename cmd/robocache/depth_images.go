package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// depthImages are the depth images of a recording, with the account for them.
type depthImages struct {
	*depth.Series
	request *voxelRequest
	colored bool // images without a colour are left out
	report  *depthReport
	notes   *noteList
	unread  error // of the first image that cannot be read
}

// stamped returns the recording with the clock of the messages' headers, if it has one, because tf uses that clock. It closes the other one.
func (r *voxelRequest) stamped(ctx context.Context, d dataset.Dataset) (dataset.Dataset, error) {
	if !slices.Contains(d.Info().Clocks, "header") {
		return d, nil
	}
	reading := r.reading
	reading.Clock = "header"
	stamped, err := dataset.Open(ctx, r.in, reading)
	if err != nil {
		return d, readError(r.in, err)
	}
	return stamped, d.Close()
}

// depthImages joins the requested depth images with their cameras.
func (r *voxelRequest) depthImages(ctx context.Context, device *ops.Device, e *dataset.Episode, report *depthReport, notes *noteList) (*depthImages, error) {
	switch names := e.DepthNames(); {
	case len(names) == 0:
		return nil, &inputError{Path: r.in, Got: "no depth images in it", Want: "a recording that has some"}
	case r.stream == "" && len(names) > 1:
		return nil, usagef("%s holds %d series of depth images, want --stream %s", r.in, len(names), orOf(names))
	}
	opts := depth.Options{Stream: r.stream, Color: r.color, Scale: r.scale, Fixed: r.fixed, MaxGap: r.gap}
	copy(opts.Intrinsics[:], r.intrinsics)
	s, err := depth.Open(ctx, device, e, opts)
	if err != nil {
		return nil, readError(r.in, err)
	}
	notes.notes(slices.Concat(e.Notes.Damage(), slices.DeleteFunc(e.Notes.Of(dataset.ClassLeftOut, dataset.ClassRemark).About(s.Sources), func(n dataset.Note) bool {
		return n.Code == dataset.CodeHeaderFields || n.Code == dataset.CodeFrameParents // a good log has them too
	})))
	j := &depthImages{Series: s, request: r, report: report, notes: notes}
	if r.color != "" || e.MediaStream(s.Name).Depth.Color != "" {
		n := s.Len() - s.Counts.NoColor
		if j.colored = 2*n >= s.Len(); !j.colored {
			notes.remark("colors-unused", "%s: %d of %s have a color image within %v, so colors are not used", s.Name, n, text.Count(s.Len(), "image"), depth.ColorWithin)
		}
	}
	report.Frames, report.NoPose = s.Counts.Images, s.Counts.NoPose
	return j, nil
}

// each reads the images in order, while later ones are decoded. It calls use for each image with a pose and, if colored is set, a colour. use
// writes the number of valid pixels, pixels without a depth, and pixels out of range.
func (j *depthImages) each(ctx context.Context, a *app, verb string, use func(f *depth.Frame, counts []int64) error) error {
	bar := a.Rating(verb, j.Len(), "images")
	defer bar.Done()
	n := j.report
	for frame, err := range j.Frames(ctx) {
		bar.Add(1)
		switch {
		case err != nil && j.request.reading.Strict:
			return readError(j.request.in, err)
		case err != nil:
			if n.Unreadable++; j.unread == nil {
				j.unread = err
			}
		case j.colored && frame.Color == nil:
			n.NoColor++
		default:
			counts := make([]int64, 4)
			if err := use(frame, counts); err != nil {
				return err
			}
			n.Pixels += int64(frame.Depth.Len())
			n.Valid, n.NoDepth, n.OutOfRange = n.Valid+counts[0], n.NoDepth+counts[1], n.OutOfRange+counts[2]
		}
	}
	return ctx.Err()
}

// account adds notes about the images. It returns an error if they show nothing, which is missing in the recording.
func (j *depthImages) account(nothing bool, missing string) error {
	n := j.report
	if nothing {
		got := fmt.Sprintf("%d of %s used, %d of %s valid, and no %s", n.used(), text.Count(n.Frames, "depth image"), n.Valid, text.Count(int(n.Pixels), "pixel"), missing)
		return &inputError{Path: j.request.in, Stream: j.Name, Got: got, Want: "depth images that show one", Err: j.unread}
	}
	if j.unread != nil {
		j.notes.remark("frames-unread", "%d of %s cannot be read, the first: %v", n.Unreadable, text.Count(n.Frames, "depth image"), j.unread)
	}
	if j.Counts.Distorted {
		j.notes.remark("distortion-ignored", "%s: camera_info has a lens distortion, which is not corrected", j.Name)
	}
	if !j.Posed && n.used() > 1 {
		j.notes.remark("poses-absent", "%s: the recording has no poses of a moving camera, so all images are from one place", j.Name)
	}
	return nil
}

// deproject returns the valid points of all images of an episode as one cloud, with their colours as features. They are float64 if the
// poses are far from their origin.
func (a *app) deproject(ctx context.Context, r *voxelRequest, device *ops.Device, e *dataset.Episode) (*cloud, error) {
	c := &cloud{path: r.in, images: &depthReport{}, noteList: newNotes()}
	j, err := r.depthImages(ctx, device, e, c.images, &c.noteList)
	if err != nil {
		return nil, err
	}
	var points, colors []float32
	err = j.each(ctx, a, "deprojecting", func(f *depth.Frame, counts []int64) (err error) {
		h, w := f.Depth.Dim(0), f.Depth.Dim(1)
		found, rgb, offsets := make([]float32, 3*h*w), make([]uint8, 3*h*w), make([]int64, 2)
		args := ops.DeprojectArgs{
			Points: tensor.Must(tensor.Of(found, h*w, 3)), Offsets: tensor.Must(tensor.Of(offsets, 2)), Counts: tensor.Must(tensor.Of(counts[:3], 1, 3)),
			Intrinsics: tensor.Must(tensor.Of(j.Intrinsics[:], 4)), Poses: tensor.Must(tensor.Of(f.Pose[:], 4, 4)),
		}
		if args.Depth, err = f.Depth.Reshape(1, h, w); err != nil {
			return err
		}
		if j.colored {
			args.Colors = tensor.Must(tensor.Of(rgb, h*w, 3))
			if args.Color, err = f.Color.Reshape(1, h, w, 3); err != nil {
				return err
			}
		}
		if err := device.Deproject(ctx, args, ops.DeprojectOptions{Scale: j.Scale, Near: r.near, Far: r.far}); err != nil {
			return optionOf(err)
		}
		if need, most := 4*(int64(len(points)+len(colors))+6*counts[0]), tensor.Available(); need > most/2 { // the other half is for the operation
			return usagef("%s: got %s of points in %d of %s, want a smaller --far, or --tsdf, which does not keep them",
				j.Name, memory.Size(float64(need)), f.Index+1, text.Count(j.report.Frames, "image"))
		}
		points = append(points, found[:3*offsets[1]]...)
		if j.colored {
			colors = append(colors, tensor.Cast[float32](rgb[:3*offsets[1]])...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := j.account(len(points) == 0, "point"); err != nil {
		return nil, err
	}
	c.points = tensor.Must(tensor.Of(points, len(points)/3, 3))
	if j.Origin != [3]float64{} {
		wide := tensor.Cast[float64](points)
		for i := range wide {
			wide[i] += j.Origin[i%3]
		}
		c.points = tensor.Must(tensor.Of(wide, len(wide)/3, 3))
	}
	if j.colored {
		c.names = []string{"red", "green", "blue"}
		c.features, err = tensor.Of(colors, len(points)/3, 3)
	}
	return c, err
}

// optionOf returns an error about an operation's option as one about a flag, and any other as it is.
func optionOf(err error) error {
	var arg *ops.ArgError
	if errors.As(err, &arg) && strings.HasPrefix(arg.Arg, "Options.") {
		return &dataset.OptionError{Arg: strings.TrimPrefix(arg.Arg, "Options."), Got: arg.Got, Want: arg.Want}
	}
	return err
}
