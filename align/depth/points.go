package depth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// points is a dataset with the streams of points in a plan.
type points struct {
	dataset.Dataset
	device  *ops.Device
	plan    *align.Plan
	strict  bool
	streams []pointStream
}

type pointStream struct {
	at      int // in the plan
	columns []dataset.Column
}

// WithPoints returns the dataset with a stream [S,3*K] for each of the plan's streams with Points: x, y and z of the K chosen points for
// each depth image. It returns d itself if there are none. The device deprojects and chooses; every device gives the same bits.
//
// An image without a pose, an image that cannot be read, and an image without a point in the box are left out. Remarks in Episode.Notes
// count them. If strict is set, an image that cannot be read is an error of its episode. An episode without depth images has the stream in
// Episode.Empty. WithPoints reads the first episode, without its images, and returns an *align.PlanError if From, the intrinsics, the scale,
// the frame or the pose are missing or wrong there. Such an error in a later episode is an error of that episode. The device must stay open
// as long as episodes are read.
func WithPoints(ctx context.Context, device *ops.Device, d dataset.Dataset, plan *align.Plan, strict bool) (dataset.Dataset, error) {
	p := &points{Dataset: d, device: device, plan: plan, strict: strict}
	for k, in := range plan.Streams {
		if in.Points == nil {
			continue
		}
		s := pointStream{at: k}
		for i := range 3 * in.Points.K {
			s.columns = append(s.columns, dataset.Column{Name: fmt.Sprintf("%d.%c", i/3, 'x'+i%3), Type: "float"})
		}
		p.streams = append(p.streams, s)
	}
	if p.streams == nil {
		return d, nil
	}
	if e, err := d.Episode(ctx, 0); err == nil { // an episode that cannot be read is counted later
		for _, s := range p.streams {
			if _, err := p.open(ctx, e, s.at); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// Recorded returns the dataset without points: see [dataset.Recorded].
func (p *points) Recorded() dataset.Dataset { return p.Dataset }

// Episode reads an episode and computes its points.
func (p *points) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	recorded, err := p.Dataset.Episode(ctx, i)
	if err != nil {
		return nil, err
	}
	e := *recorded
	e.Streams, e.Empty, e.Notes = slices.Clip(e.Streams), slices.Clip(e.Empty), slices.Clip(e.Notes)
	for _, s := range p.streams {
		if err := p.add(ctx, &e, s); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

// open joins the depth images of a stream in the plan with their cameras. It returns nil if the episode has no depth images.
func (p *points) open(ctx context.Context, e *dataset.Episode, at int) (*Series, error) {
	in := &p.plan.Streams[at]
	if e.Stream(in.Name) != nil {
		return nil, p.plan.Mistake(p.plan.Key(at, "name"), in.Name+", a stream of the recording", "another name for points")
	}
	if len(e.DepthNames()) == 0 {
		return nil, nil
	}
	o := in.Points
	s, err := Open(ctx, p.device, e, Options{Stream: in.From, Intrinsics: o.Intrinsics, Scale: o.Scale, Fixed: o.Fixed})
	var option *dataset.OptionError
	switch {
	case err == nil && s.Origin != [3]float64{}:
		err = &dataset.OptionError{Arg: "Fixed", Got: fmt.Sprintf("poses near %v", s.Origin), Want: fmt.Sprintf("a frame that is less than %d m away", Far)}
	case err == nil && s.Posed && o.Pose != [16]float64{}:
		err = &dataset.OptionError{Arg: "Pose", Got: "a pose", Want: "none: the recording has poses"}
	}
	if errors.As(err, &option) {
		key := "points." + strings.ToLower(option.Arg)
		if option.Arg == "Stream" {
			key = "from"
		}
		err = p.plan.Mistake(p.plan.Key(at, key), option.Got, option.Want)
	}
	return s, err
}

// add adds a stream of points to an episode.
func (p *points) add(ctx context.Context, e *dataset.Episode, to pointStream) error {
	in := &p.plan.Streams[to.at]
	s, err := p.open(ctx, e, to.at)
	if err != nil {
		return err
	}
	if s == nil {
		e.Empty = append(e.Empty, dataset.EmptyStream{Name: in.Name, Columns: to.columns, DType: tensor.F32})
		return nil
	}
	const unread, none, few = 1, 2, 3
	notes := []dataset.Note{{Code: dataset.CodeDepthUnposed, Count: s.Counts.NoPose}, {Code: dataset.CodeDepthUnread}, {Code: dataset.CodePointsNone}, {Code: dataset.CodePointsFew}, {Code: dataset.CodeDistortionIgnored}}
	notes[few].Want = strconv.Itoa(in.Points.K)
	if s.Counts.Distorted {
		notes[few+1].Count = s.Counts.Images
	}
	var times []int64
	var values []float32
	for f, err := range s.Frames(ctx) {
		if err != nil && (p.strict || dataset.IsFatal(err)) {
			return err
		}
		if err != nil {
			if notes[unread].Count++; notes[unread].Cause == nil {
				notes[unread].Cause = err
			}
			continue
		}
		chosen, count, err := p.choose(ctx, s, f, in.Points)
		if err != nil {
			return err
		}
		if count == 0 {
			notes[none].Count++
			continue
		}
		if count < in.Points.K {
			notes[few].Count++
		}
		times, values = append(times, f.Time), append(values, chosen...)
	}
	if o := in.Points; o.Grid != "" {
		box, err := ops.PerActGrid(o.Min, o.Max)
		if err != nil {
			return err
		}
		args := ops.VoxelizeArgs{Points: tensor.Must(tensor.Of(values, len(values)/3, 3))}
		got, err := p.device.Voxelize(ctx, args, box, ops.VoxelizeOptions{})
		if err != nil {
			return err
		}
		outside := dataset.Note{Code: dataset.CodePointsOutside, Count: int(got.Found.OutOfRange)}
		outside.Of = len(values) / 3
		notes = append(notes, outside)
	}
	for _, n := range notes {
		if n.Subject, n.Of = in.Name, cmp.Or(n.Of, s.Counts.Images); n.Count > 0 {
			e.Notes = append(e.Notes, n)
		}
	}
	rows, err := tensor.Of(values, len(times), len(to.columns))
	if err != nil {
		return err
	}
	stream, err := dataset.NewStream(in.Name, times, rows, to.columns)
	e.Streams = append(e.Streams, stream)
	return errors.Join(err, ctx.Err())
}

// choose returns x, y and z of the points that are chosen from an image, and the number of points in the box.
func (p *points) choose(ctx context.Context, s *Series, f *Frame, o *align.Points) (chosen []float32, count int, err error) {
	h, w := f.Depth.Dim(0), f.Depth.Dim(1)
	dense := make([]float32, 3*h*w)
	args := ops.DeprojectArgs{Points: tensor.Must(tensor.Of(dense, 1, h, w, 3)), Intrinsics: tensor.Must(tensor.Of(s.Intrinsics[:], 4))}
	pose := f.Pose
	if o.Pose != [16]float64{} {
		for i, v := range o.Pose {
			pose[i] = float32(v)
		}
	}
	args.Poses = tensor.Must(tensor.Of(pose[:], 4, 4))
	if args.Depth, err = f.Depth.Reshape(1, h, w); err == nil {
		err = p.device.Deproject(ctx, args, ops.DeprojectOptions{Scale: s.Scale, Near: o.Near, Far: o.Far})
	}
	if err != nil {
		return nil, 0, err
	}
	found := dense[:0] // without the others, because the choice takes time for each point
	for at := 0; at < len(dense); at += 3 {
		isIn := true
		for i, v := range dense[at : at+3] {
			isIn = isIn && (o.Min == o.Max && v-v == 0 || v >= float32(o.Min[i]) && v <= float32(o.Max[i]))
		}
		if isIn {
			found = append(found, dense[at:at+3]...)
		}
	}
	count = len(found) / 3
	for len(found) < 3*o.K {
		found = append(found, float32(math.NaN())) // never chosen
	}
	indices := make([]int64, o.K)
	far := ops.FarthestArgs{Indices: tensor.Must(tensor.Of(indices, 1, o.K)), Points: tensor.Must(tensor.Of(found, 1, len(found)/3, 3))}
	if count == 0 {
		return nil, 0, nil
	}
	err = p.device.FarthestPoints(ctx, far, ops.FarthestOptions{})
	for _, i := range indices {
		chosen = append(chosen, found[3*i:3*i+3]...)
	}
	return chosen, count, err
}
