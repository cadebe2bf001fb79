package depth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

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
	columns [][]dataset.Column // by the plan's streams; nil for other streams
}

// WithPoints returns the dataset with a stream [S,3*K] for each of the plan's streams with Points: x, y and z of the K chosen points for
// each depth image. It returns d itself if there are none. The device deprojects and chooses; every device gives the same bits.
//
// An image without a pose, an image that cannot be read, and an image without a point in the box are left out. Remarks in Episode.Notes
// count them. An episode without depth images has the stream in Episode.Empty. WithPoints reads the first episode, without its
// images, and returns an *align.PlanError if From, the intrinsics, the scale, the frame or the pose are missing or wrong there. Such an error
// in a later episode is an error of that episode. The device must stay open as long as episodes are read.
func WithPoints(ctx context.Context, device *ops.Device, d dataset.Dataset, plan *align.Plan) (dataset.Dataset, error) {
	p := &points{Dataset: d, device: device, plan: plan, columns: make([][]dataset.Column, len(plan.Streams))}
	isEmpty := true
	for k := range plan.Streams {
		if o := plan.Streams[k].Points; o != nil {
			isEmpty = false
			for i := range 3 * o.K {
				p.columns[k] = append(p.columns[k], dataset.Column{Name: fmt.Sprintf("%d.%c", i/3, 'x'+i%3), Type: "float"})
			}
		}
	}
	if isEmpty {
		return d, nil
	}
	for e, err := range dataset.Episodes(ctx, d) {
		for k, columns := range p.columns {
			if err != nil || columns == nil || len(e.DepthNames()) == 0 {
				continue
			}
			if _, err := p.open(ctx, e, k); err != nil {
				return nil, err
			}
		}
		break
	}
	return p, nil
}

// Episode reads an episode and computes its points.
func (p *points) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	recorded, err := p.Dataset.Episode(ctx, i)
	if err != nil {
		return nil, err
	}
	e := *recorded
	e.Streams, e.Empty, e.Notes = slices.Clip(e.Streams), slices.Clip(e.Empty), slices.Clip(e.Notes)
	for k, columns := range p.columns {
		if columns == nil {
			continue
		}
		if err := p.add(ctx, &e, k); err != nil {
			return nil, err
		}
	}
	return &e, nil
}

// open joins the depth images of stream k with their cameras.
func (p *points) open(ctx context.Context, e *dataset.Episode, k int) (*Series, error) {
	in := &p.plan.Streams[k]
	o := in.Points
	s, err := Open(ctx, p.device, e, Options{Stream: in.From, Intrinsics: o.Intrinsics, Scale: o.Scale, Fixed: o.Fixed})
	var option *dataset.OptionError
	switch {
	case errors.As(err, &option):
		key := map[string]string{"Stream": "from", "Intrinsics": "points.intrinsics", "Scale": "points.scale", "Fixed": "points.fixed"}[option.Arg]
		return nil, p.plan.Mistake(p.plan.Key(k, key), option.Got, option.Want)
	case err == nil && s.Posed && o.Pose != [16]float64{}:
		return nil, p.plan.Mistake(p.plan.Key(k, "points.pose"), "a pose", "none: the recording has poses")
	}
	return s, err
}

// add computes the points of stream k and adds them to the episode.
func (p *points) add(ctx context.Context, e *dataset.Episode, k int) error {
	in, columns := &p.plan.Streams[k], p.columns[k]
	if len(e.DepthNames()) == 0 {
		e.Empty = append(e.Empty, dataset.EmptyStream{Name: in.Name, Columns: columns, DType: tensor.F32})
		return nil
	}
	s, err := p.open(ctx, e, k)
	if err != nil {
		return err
	}
	var times []int64
	var values []float32
	var unread, none, few int
	var broken error
	for f, err := range s.Frames(ctx) {
		if err != nil && (ctx.Err() != nil || dataset.IsFatal(err)) {
			return err
		}
		if err != nil {
			unread++
			broken = cmp.Or(broken, err)
			continue
		}
		found, err := p.find(ctx, s, f, in.Points)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			none++
			continue
		}
		if len(found) < 3*in.Points.K {
			few++
		}
		if found, err = p.choose(ctx, found, in.Points.K); err != nil {
			return err
		}
		times, values = append(times, f.Time), append(values, found...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	counts := dataset.Notes{
		{Code: dataset.CodeDepthUnposed, Count: s.Counts.NoPose},
		{Code: dataset.CodeDepthUnread, Count: unread, Detail: dataset.Detail{Cause: broken}},
		{Code: dataset.CodePointsNone, Count: none},
		{Code: dataset.CodePointsFew, Count: few, Detail: dataset.Detail{Want: strconv.Itoa(in.Points.K)}},
	}
	for _, n := range counts {
		if n.Subject, n.Of = in.Name, s.Counts.Images; n.Count > 0 {
			e.Notes = append(e.Notes, n)
		}
	}
	if s.Counts.Distorted {
		e.Notes = append(e.Notes, dataset.Note{Code: dataset.CodeDistortionIgnored, Subject: in.Name})
	}
	rows, err := tensor.Of(values, len(times), len(columns))
	if err != nil {
		return err
	}
	stream, err := dataset.NewStream(in.Name, times, rows, columns)
	e.Streams = append(e.Streams, stream)
	return err
}

// find deprojects an image, and returns x, y and z of its valid points in the box, in the order of the pixels.
func (p *points) find(ctx context.Context, s *Series, f *Frame, o *align.Points) ([]float32, error) {
	h, w := f.Depth.Dim(0), f.Depth.Dim(1)
	dense := make([]float32, 3*h*w)
	args := ops.DeprojectArgs{Points: tensor.Must(tensor.Of(dense, 1, h, w, 3)), Intrinsics: tensor.Must(tensor.Of(s.Intrinsics[:], 4))}
	pose := f.Pose
	if o.Pose != [16]float64{} {
		for i, v := range o.Pose {
			pose[i] = float32(v)
		}
	}
	if s.Posed || o.Pose != [16]float64{} {
		args.Poses = tensor.Must(tensor.Of(pose[:], 4, 4))
	}
	var err error
	if args.Depth, err = f.Depth.Reshape(1, h, w); err != nil {
		return nil, err
	}
	if err := p.device.Deproject(ctx, args, ops.DeprojectOptions{Scale: s.Scale, Near: o.Near, Far: o.Far}); err != nil {
		return nil, err
	}
	lo, hi := [3]float32{}, [3]float32{}
	for i := range 3 {
		if lo[i], hi[i] = float32(o.Min[i]), float32(o.Max[i]); o.Min == o.Max {
			lo[i], hi[i] = -math.MaxFloat32, math.MaxFloat32
		}
	}
	found := dense[:0]
	for at := 0; at < len(dense); at += 3 {
		x, y, z := dense[at], dense[at+1], dense[at+2] // all are NaN if the depth is not valid
		if x >= lo[0] && x <= hi[0] && y >= lo[1] && y <= hi[1] && z >= lo[2] && z <= hi[2] {
			found = append(found, x, y, z)
		}
	}
	return found, nil
}

// choose returns k of the points, far apart.
func (p *points) choose(ctx context.Context, found []float32, k int) ([]float32, error) {
	for len(found) < 3*k {
		found = append(found, float32(math.NaN())) // never chosen
	}
	indices := make([]int64, k)
	args := ops.FarthestArgs{Indices: tensor.Must(tensor.Of(indices, 1, k)), Points: tensor.Must(tensor.Of(found, 1, len(found)/3, 3))}
	if err := p.device.FarthestPoints(ctx, args, ops.FarthestOptions{}); err != nil {
		return nil, err
	}
	out := make([]float32, 0, 3*k)
	for _, i := range indices {
		out = append(out, found[3*i:3*i+3]...)
	}
	return out, nil
}
