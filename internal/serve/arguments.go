package serve

import (
	"fmt"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// planner makes the plan of a request.
type planner func(*ops.Device) (planned, error)

// uncounted wraps the result of planning an operation that counts no points.
func uncounted(p *ops.Plan, err error) (planned, error) { return planned{Plan: p}, err }

// targetFields are the tensors of the rows of targets, and of their clock.
func targetFields(lengths, offsets **tensor.Tensor, c *ops.Clock) []field {
	return []field{{"DstLengths", false, lengths}, {"DstOffsets", false, offsets},
		{"Targets", false, &c.Times}, {"Targets.Anchors", false, &c.Anchors}, {"Targets.Deltas", false, &c.Deltas}}
}

// resampleRequest is the arguments for resample and resample_backward.
type resampleRequest struct {
	head
	Clock   *clockJSON   `json:"clock"`
	Options resampleJSON `json:"options"`
}

func readResample(r *reader, text []byte) ([]field, planner) {
	var q resampleRequest
	r.object(text, &q, &q.head)
	a, o := ops.ResampleArgs{Targets: q.Clock.uniform()}, q.Options.options(r, "Options")
	fields := append([]field{
		{"Dst", true, &a.Dst}, {"Valid", true, &a.Valid}, {"Age", true, &a.Age}, {"Pad", true, &a.Pad},
		{"Src", false, &a.Src}, {"SrcTimes", false, &a.SrcTimes},
		{"SrcLengths", false, &a.SrcLengths}, {"SrcOffsets", false, &a.SrcOffsets}, {"SrcStarts", false, &a.SrcStarts},
	}, targetFields(&a.DstLengths, &a.DstOffsets, &a.Targets)...)
	return fields, func(d *ops.Device) (planned, error) {
		return uncounted(d.PlanResample(a, o))
	}
}

func readResampleBackward(r *reader, text []byte) ([]field, planner) {
	var q resampleRequest
	r.object(text, &q, &q.head)
	a, o := ops.ResampleBackwardArgs{Targets: q.Clock.uniform()}, q.Options.options(r, "Options")
	fields := append([]field{
		{"SrcGrad", true, &a.SrcGrad}, {"DstGrad", false, &a.DstGrad}, {"SrcTimes", false, &a.SrcTimes},
		{"SrcLengths", false, &a.SrcLengths}, {"SrcOffsets", false, &a.SrcOffsets},
	}, targetFields(&a.DstLengths, &a.DstOffsets, &a.Targets)...)
	return fields, func(d *ops.Device) (planned, error) {
		return uncounted(d.PlanResampleBackward(a, o))
	}
}

// fuseRequest is the arguments for fuse and fuse_backward.
type fuseRequest struct {
	head
	Clock   *clockJSON   `json:"clock"`
	Options fuseJSON     `json:"options"`
	Streams []streamJSON `json:"streams"`
}

func stream(m int, name string) string { return fmt.Sprintf("Streams[%d].%s", m, name) }

func readFuse(r *reader, text []byte) ([]field, planner) {
	var q fuseRequest
	r.object(text, &q, &q.head)
	a := ops.FuseArgs{Targets: q.Clock.uniform(), Streams: make([]ops.FuseStream, len(q.Streams))}
	fields := append([]field{
		{"Dst", true, &a.Dst}, {"Valid", true, &a.Valid}, {"Age", true, &a.Age}, {"Pad", true, &a.Pad},
	}, targetFields(&a.DstLengths, &a.DstOffsets, &a.Targets)...)
	for m, j := range q.Streams {
		s := &a.Streams[m]
		*s = ops.FuseStream{Width: j.Width, Offset: time.Duration(j.Offset), Options: j.Options.options(r, stream(m, "Options")),
			Shift: floats(j.Shift), Scale: floats(j.Scale), ClipMin: floats(j.ClipMin), ClipMax: floats(j.ClipMax)}
		fields = append(fields, field{stream(m, "Src"), false, &s.Src}, field{stream(m, "SrcTimes"), false, &s.SrcTimes},
			field{stream(m, "SrcLengths"), false, &s.SrcLengths}, field{stream(m, "SrcOffsets"), false, &s.SrcOffsets}, field{stream(m, "SrcStarts"), false, &s.SrcStarts})
	}
	return fields, func(d *ops.Device) (planned, error) {
		return uncounted(d.PlanFuse(a, ops.FuseOptions{TrustTimes: q.Options.TrustTimes}))
	}
}

func readFuseBackward(r *reader, text []byte) ([]field, planner) {
	var q fuseRequest
	r.object(text, &q, &q.head)
	a := ops.FuseBackwardArgs{Targets: q.Clock.uniform(), Streams: make([]ops.FuseBackwardStream, len(q.Streams))}
	var fields []field
	for m, j := range q.Streams {
		s := &a.Streams[m]
		*s = ops.FuseBackwardStream{Width: j.Width, Offset: time.Duration(j.Offset), Options: j.Options.options(r, stream(m, "Options")), Scale: floats(j.Scale)}
		if (j.Shift != nil || j.ClipMin != nil || j.ClipMax != nil) && r.err == nil {
			r.err = &RequestError{Arg: fmt.Sprintf("streams[%d]", m), Got: "shift, clip_min or clip_max", Want: "scale alone, for a gradient"}
		}
		fields = append(fields, field{stream(m, "SrcGrad"), true, &s.SrcGrad}, field{stream(m, "SrcTimes"), false, &s.SrcTimes},
			field{stream(m, "SrcLengths"), false, &s.SrcLengths}, field{stream(m, "SrcOffsets"), false, &s.SrcOffsets})
	}
	fields = append(fields, field{"DstGrad", false, &a.DstGrad})
	return append(fields, targetFields(&a.DstLengths, &a.DstOffsets, &a.Targets)...), func(d *ops.Device) (planned, error) {
		return uncounted(d.PlanFuseBackward(a, ops.FuseOptions{TrustTimes: q.Options.TrustTimes}))
	}
}

func readVoxelize(r *reader, text []byte) ([]field, planner) {
	var q struct {
		head
		Grid    gridJSON     `json:"grid"`
		Options voxelizeJSON `json:"options"`
	}
	r.object(text, &q, &q.head)
	a, grid, o := ops.VoxelizeArgs{}, q.Grid.grid(r), q.Options.options(r)
	return []field{
			{"Grid", true, &a.Grid}, {"Values", true, &a.Values}, {"Coords", true, &a.Coords}, {"Counts", true, &a.Counts}, {"RowSplits", true, &a.RowSplits},
			{"PointVoxel", true, &a.PointVoxel}, {"Points", false, &a.Points}, {"Features", false, &a.Features}, {"Labels", false, &a.Labels},
			{"Offsets", false, &a.Offsets}, {"Poses", false, &a.Poses},
		}, func(d *ops.Device) (planned, error) {
			p, err := d.PlanVoxelize(a, grid, o)
			if err != nil {
				return planned{}, err
			}
			return planned{&p.Plan, p.Counts}, nil
		}
}

func readDeproject(r *reader, text []byte) ([]field, planner) {
	var q struct {
		head
		Options struct {
			Scale number `json:"scale"`
			Near  number `json:"near"`
			Far   number `json:"far"`
		} `json:"options"`
	}
	r.object(text, &q, &q.head)
	a, o := ops.DeprojectArgs{}, ops.DeprojectOptions{Scale: float64(q.Options.Scale), Near: float64(q.Options.Near), Far: float64(q.Options.Far)}
	return []field{
		{"Points", true, &a.Points}, {"Offsets", true, &a.Offsets}, {"Colors", true, &a.Colors}, {"Mask", true, &a.Mask}, {"Counts", true, &a.Counts},
		{"Depth", false, &a.Depth}, {"Intrinsics", false, &a.Intrinsics}, {"Poses", false, &a.Poses}, {"Color", false, &a.Color},
	}, func(d *ops.Device) (planned, error) { return uncounted(d.PlanDeproject(a, o)) }
}

func readFarthestPoints(r *reader, text []byte) ([]field, planner) {
	var q struct {
		head
		Options struct {
			Seed uint64 `json:"seed"`
		} `json:"options"`
	}
	r.object(text, &q, &q.head)
	var a ops.FarthestArgs
	return []field{{"Indices", true, &a.Indices}, {"Points", false, &a.Points}}, func(d *ops.Device) (planned, error) {
		return uncounted(d.PlanFarthestPoints(a, ops.FarthestOptions{Seed: q.Options.Seed}))
	}
}
