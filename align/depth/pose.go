package depth

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// matrix is a rigid transform, row-major.
type matrix [16]float64

var identity = matrix{0: 1, 5: 1, 10: 1, 15: 1}

// rigid returns the transform of a position and a quaternion x, y, z, w, which need not have the length 1.
func rigid(v []float64) *matrix {
	x, y, z, w := v[3], v[4], v[5], v[6]
	s := 2 / (x*x + y*y + z*z + w*w)
	m := matrix{
		1 - s*(y*y+z*z), s * (x*y - z*w), s * (x*z + y*w), v[0],
		s * (x*y + z*w), 1 - s*(x*x+z*z), s * (y*z - x*w), v[1],
		s * (x*z - y*w), s * (y*z + x*w), 1 - s*(x*x+y*y), v[2],
		0, 0, 0, 1,
	}
	for _, v := range m {
		if v-v != 0 { // a quaternion of zeros, NaN or infinity
			return nil
		}
	}
	return &m
}

// isFar reports whether m moves a point to Far or farther along an axis. It returns false for nil.
func (m *matrix) isFar() bool {
	return m != nil && max(math.Abs(m[3]), math.Abs(m[7]), math.Abs(m[11])) >= Far
}

func (m *matrix) times(o *matrix) *matrix {
	var out matrix
	for i := range 4 {
		for j := range 4 {
			for k := range 4 {
				out[4*i+j] += m[4*i+k] * o[4*k+j]
			}
		}
	}
	return &out
}

func (m *matrix) inverse() *matrix {
	out := identity
	for i := range 3 {
		for j := range 3 {
			out[4*i+j] = m[4*j+i]
			out[4*i+3] -= m[4*j+i] * m[4*j+3]
		}
	}
	return &out
}

// link is the stream of transforms from a frame to its parent.
type link struct {
	parent  string
	stream  *dataset.Stream
	columns []string // position and quaternion, x, y, z, w
	static  bool     // the last transform holds at all times
}

var (
	transformColumns = []string{"translation.x", "translation.y", "translation.z", "rotation.x", "rotation.y", "rotation.z", "rotation.w"}
	stampedColumns   = []string{ // geometry_msgs/TransformStamped
		"transform.translation.x", "transform.translation.y", "transform.translation.z",
		"transform.rotation.x", "transform.rotation.y", "transform.rotation.z", "transform.rotation.w",
	}
	trajectoryColumns = []string{"tx", "ty", "tz", "qx", "qy", "qz", "qw"}
)

// poses returns the camera's pose at each image, nil if there is none.
func (s *Series) poses(ctx context.Context, device *ops.Device, e *dataset.Episode, opts Options) ([]*matrix, error) {
	var up, down []link
	if name := s.images.Depth.Poses; name != "" {
		if opts.Fixed != "" {
			return nil, &dataset.OptionError{Arg: "Fixed", Got: opts.Fixed, Want: "none: the poses are in one frame"}
		}
		up = []link{{stream: e.Stream(name), columns: trajectoryColumns}}
	} else {
		frame := ""
		switch frames := s.images.Depth.Frames; {
		case len(frames) > 1:
			return nil, &dataset.OptionError{Arg: "Stream", Got: fmt.Sprintf("%s with images in %q", s.Name, frames), Want: "images in one frame"}
		case len(frames) == 1:
			frame = unslashed(frames[0])
		}
		var err error
		if up, down, err = chain(tree(e), frame, unslashed(opts.Fixed)); err != nil {
			return nil, err
		}
	}
	out := make([]*matrix, s.images.Len())
	for i := range out {
		out[i] = &identity
	}
	s.Posed = opts.Fixed != "" || slices.ContainsFunc(up, func(l link) bool { return !l.static })
	for i, l := range slices.Concat(up, down) {
		s.Sources = append(s.Sources, l.stream.Name)
		moved, err := s.at(ctx, device, &l, opts.MaxGap)
		if err != nil {
			return nil, err
		}
		for k, m := range moved {
			switch {
			case m == nil || out[k] == nil:
				out[k] = nil
			case i < len(up):
				out[k] = m.times(out[k])
			default: // down is from the fixed frame up, so its last link is undone first
				out[k] = m.inverse().times(out[k])
			}
		}
	}
	return out, nil
}

// at returns a link's transform at the time of each image, nil if there is none.
func (s *Series) at(ctx context.Context, device *ops.Device, l *link, gap ops.Limit) ([]*matrix, error) {
	out := make([]*matrix, s.images.Len())
	if _, given := gap.Get(); !given {
		gap = align.AutoGap
	}
	times, edge := s.images.Times, "fill"
	switch stats := l.stream.Stats(); {
	case l.static:
		times, edge = []int64{slices.Max(l.stream.Nanoseconds())}, "clamp"
	case stats.Samples-stats.Duplicates < 2: // nothing to interpolate
		return out, nil
	}
	targets, err := tensor.Of(times, len(times))
	if err != nil {
		return nil, err
	}
	got, err := align.Resample(ctx, device, &dataset.Episode{Streams: []dataset.Stream{*l.stream}}, align.Plan{Targets: targets, Unordered: "sort", Streams: []align.Stream{{
		Name: l.stream.Name, Columns: l.columns,
		Sampling: align.Sampling{Kind: "linear", Kinds: []align.ColumnKind{{Columns: "3:7", Kind: "slerp"}}, Quat: "xyzw", Edge: edge, MaxGap: gap, DType: tensor.F64},
	}}})
	if err != nil {
		return nil, err
	}
	values, err := tensor.Floats(got.Streams[0].Values)
	if err != nil {
		return nil, err
	}
	valid, err := tensor.Packed[uint8](got.Streams[0].Valid)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if k := min(i, len(valid)-1); valid[k] == 1 {
			out[i] = rigid(values[7*k:])
		}
	}
	return out, nil
}

func unslashed(frame string) string { return strings.TrimPrefix(frame, "/") }

// tree returns the links of tf by the child's name. If a frame has several parents, the first is taken, and a static one last.
func tree(e *dataset.Episode) map[string]link {
	links := map[string]link{}
	for i := range e.Streams {
		stream := &e.Streams[i]
		topic, child, parent := e.Notes.Moving(stream.Name)
		columns := transformColumns
		if stream.Column(stampedColumns[6]) >= 0 {
			columns = stampedColumns
		}
		if topic == "" || stream.Column(columns[6]) < 0 {
			continue
		}
		l := link{parent: unslashed(parent), stream: stream, columns: columns, static: strings.HasSuffix(topic, "tf_static")}
		if before, there := links[unslashed(child)]; !there || before.static && !l.static {
			links[unslashed(child)] = l
		}
	}
	return links
}

// chain returns the links from a frame up to the first frame that is also above the fixed one, and those from there down to the fixed
// one, listed from above. If fixed is empty, it is the frame without a parent.
func chain(links map[string]link, frame, fixed string) (up, down []link, err error) {
	above := func(frame string) (list []link, top string) {
		for l, ok := links[frame]; ok && len(list) <= len(links); l, ok = links[frame] {
			list, frame = append(list, l), l.parent
		}
		return list, frame
	}
	up, top := above(frame)
	if len(up) > len(links) {
		return nil, nil, &dataset.OptionError{Arg: "Fixed", Got: fmt.Sprintf("a loop in tf above %q", frame), Want: "a tree"}
	}
	if fixed == "" {
		var moving []string
		for _, child := range slices.Sorted(maps.Keys(links)) {
			if _, root := above(child); root == top && !links[child].static {
				return up, nil, nil
			} else if !links[child].static {
				moving = append(moving, child)
			}
		}
		if moving == nil { // nothing moves in the recording
			return up, nil, nil
		}
		want := fmt.Sprintf("a frame that tf connects with one of %q", moving)
		return nil, nil, &dataset.OptionError{Arg: "Stream", Got: fmt.Sprintf("images in the frame %q", frame), Want: want}
	}
	down, other := above(fixed)
	if other != top {
		want := fmt.Sprintf("one of %q, connected with %q", append(slices.Sorted(maps.Keys(links)), top), frame)
		return nil, nil, &dataset.OptionError{Arg: "Fixed", Got: fixed, Want: want}
	}
	for len(up) > 0 && len(down) > 0 && up[len(up)-1].stream == down[len(down)-1].stream {
		up, down = up[:len(up)-1], down[:len(down)-1]
	}
	slices.Reverse(down)
	return up, down, nil
}
