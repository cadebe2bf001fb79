package align

import (
	"cmp"
	"fmt"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/planorigin"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Plan describes how to put a recording on a clock. A plan with only a Rate takes every stream.
type Plan struct {
	// Rate is the rate of the common clock, in Hz.
	Rate float64
	// Targets [T] are the times of the common clock, in place of a Rate, with the same dtype as the streams' timestamps. A plan
	// file cannot have them.
	Targets *tensor.Tensor
	// Range is the time that the clock covers. It has no effect with Targets.
	Range Range
	// Snap is the largest distance at which a target counts as exactly on a sample; a microsecond by default, ops.Within(0) for
	// none.
	Snap ops.Limit
	// Unordered is the rule for a stream with timestamps that step back or are not finite: one of Unordereds, "drop" by default.
	Unordered string
	// Defaults fill the empty fields of each stream's Sampling.
	Defaults Sampling
	// Streams are the streams to take, in the order of the output. An empty list takes all streams that can be put on a clock.
	Streams []Stream

	// The other fields are for a loader. Resample and Fuse only check them.

	Windows map[string]Window // by stream name: the targets around each anchor
	Padding string            // one of Paddings: the values in the part of a window beyond its episode
	// PadAfter is the longest reach of a window beyond the last tick of an episode. The padding diffusion_policy requires it, and
	// no other padding allows it: see Anchors.
	PadAfter ops.Limit
	Shuffle  string // one of Shuffles
	Filter   dataset.Filter

	origin *planorigin.Origin // nil if the plan was not read from a file
	places []int              // of the streams in the file, if Pick has made the plan; nil if they are the same as in Streams
}

// Pick returns the plan with some streams, by their indices in Streams, in that order. Errors about them keep the lines in the plan
// file. Streams that are appended later have no lines.
func (p Plan) Pick(streams ...int) Plan {
	q := p
	q.Streams, q.places = nil, []int{}
	for _, i := range streams {
		q.Streams, q.places = append(q.Streams, p.Streams[i]), append(q.places, p.placeOf(i))
	}
	return q
}

// placeOf returns the index of a stream in the plan file, or -1 if it was not there.
func (p *Plan) placeOf(stream int) int {
	switch {
	case p.places == nil:
		return stream
	case stream < len(p.places):
		return p.places[stream]
	}
	return -1
}

// Stream selects a stream.
type Stream struct {
	Name string `json:"name"` // in the output
	From string `json:"-"`    // name in the recording; empty means Name
	// Columns are the columns to take, in order: a name, an array's name for all its elements ("q" for q[0] to q[3]), or a
	// half-open range of indices ("0:7"). An empty list takes all.
	Columns  []string `json:"columns"`
	Sampling `json:"-"`
	// Points makes the stream from depth images, From; if From is empty, from the only ones. Package align/depth adds such streams to a
	// dataset, with the name Name. Only a loader has them.
	Points *Points `json:"-"`
}

// Source returns the stream's name in the recording. For Points it is Name.
func (s *Stream) Source() string {
	if s.Points != nil {
		return s.Name
	}
	return cmp.Or(s.From, s.Name)
}

// Points describe a fixed number of points that are chosen from each depth image. They have the image's timestamp. Between two images
// there is nothing, so the methods are those of a camera's frames: "previous", the default, "nearest" and "next". The JSON names are the
// keys in a plan file.
type Points struct {
	// K is the number of points that ops.FarthestPoints chooses, at most ops.MaxFarthest. If an image has fewer, its first point repeats.
	K int `json:"k"`
	// Min and Max are opposite corners of the box to crop to, in metres, inclusive, after the pose. All 0 means all points.
	Min [3]float64 `json:"min,omitzero"`
	Max [3]float64 `json:"max,omitzero"`
	// Near and Far are the smallest and the greatest valid depths in metres. If Far is 0, there is no greatest.
	Near float64 `json:"near,omitzero"`
	Far  float64 `json:"far,omitzero"`
	// Intrinsics are fx, fy, cx and cy in pixels, and Scale is the metres per unit. 0 means the recording's.
	Intrinsics [4]float64 `json:"intrinsics,omitzero"`
	Scale      float64    `json:"scale,omitzero"`
	// Fixed is the frame of tf in which points are; empty means the root above the camera.
	Fixed string `json:"fixed,omitzero"`
	// Pose [4,4], row-major, transforms points from the camera, for recordings without poses. All 0 means none.
	Pose [16]float64 `json:"pose,omitzero"`
	// Grid is "peract" or empty. Batches have ops.PerActGrid of the points from Min to Max, which are then required.
	Grid string `json:"grid,omitzero"`
}

// String returns the fields, so that a plan's text does not depend on an address.
func (p *Points) String() string { return fmt.Sprintf("%+v", *p) }

// PointMethods are the methods for a stream of points.
var PointMethods = []string{"previous", "nearest", "next"}

// Sampling describes how a stream's columns are put on the clock. Empty fields come from Plan.Defaults. If these are empty too, the
// column's type decides.
type Sampling struct {
	// Kind is the name of an interpolation method: "linear", "previous", "slerp"; see ops.Interps. Whole numbers keep their
	// previous value, unless the stream has only whole numbers and its own Kind. If a method uses several columns together, as
	// slerp uses 4, the stream needs arrays with as many floats.
	Kind string
	// Kinds are methods for single columns, also for whole numbers. ColumnKind.Columns has the form of Stream.Columns; a range of
	// indices counts the selected columns.
	Kinds []ColumnKind
	// Quat is the quaternion order: "xyzw" or "wxyz". The default is the recording's own order, or xyzw if it declares none.
	Quat string
	// Period is the period of angles; 2 pi by default.
	Period float64
	// Window is the time before each target over which windowed methods reduce samples.
	Window ops.Limit
	// Edge is the rule for targets outside the samples: "clamp", "fill", "extrapolate", "hold" or "error". The default is clamp,
	// and hold for topics that are published on change.
	Edge string
	// Fill is the value for targets without a value; the default is NaN in Resample and 0 in Fuse.
	Fill ops.Fill
	// MaxGap makes a target invalid if the samples around it are further apart. Tolerance makes it invalid if its sample is further
	// away. FillGaps writes the fill value to both. Both may be AutoGap, and NoGap cancels a limit in Defaults.
	MaxGap, Tolerance ops.Limit
	FillGaps          bool
	// Offset corrects the stream's clock: stream time + Offset = common time. Only Fuse uses it.
	Offset time.Duration
	// Normalise is one of Normalisations. It needs a dataset's statistics, so only a loader applies it; Resample and Fuse add a
	// note and ignore it.
	Normalise string
	// DType is the dtype of the values. By default Resample keeps the stream's own. In Fuse all streams have one: f64 if any stream
	// has it, else f32.
	DType tensor.DType
}

// AutoGap is a limit that follows from a stream's own rate: dataset.GapLimit for its median step. It is no limit for a stream
// without a rate, or for a command stream with pauses in more than one step in a hundred. A loader uses the longest such limit over
// its episodes. NoGap is no limit.
var AutoGap, NoGap = ops.Within(-1), ops.Within(-2)

// GapText returns a MaxGap or Tolerance in the form of a plan file: "auto", "none" or a duration; empty if it is not set.
func GapText(limit ops.Limit) string {
	d, given := limit.Get()
	switch {
	case limit == AutoGap:
		return "auto"
	case limit == NoGap:
		return "none"
	case given:
		return d.String()
	}
	return ""
}

// ParseGap returns AutoGap for "auto" and NoGap for "none", and false for other text.
func ParseGap(name string) (limit ops.Limit, ok bool) {
	for _, limit := range []ops.Limit{AutoGap, NoGap} {
		if GapText(limit) == name {
			return limit, true
		}
	}
	return limit, false
}

// ColumnKind is a method for some columns.
type ColumnKind struct{ Columns, Kind string }

// RangeMode is a rule for the beginning and end of a clock. Its String is the name in a plan file.
type RangeMode = clocks.Mode

const (
	// RangeCommon is the time that all streams have in common. Topics that hold their value, and streams that cover less than half
	// of the recording, do not narrow it. If there is no common time, it is RangeUnion.
	RangeCommon RangeMode = clocks.Common
	// RangeIntersection is the time that all streams have in common, without exception. If there is none, the result is an error.
	RangeIntersection RangeMode = clocks.Intersection
	// RangeUnion is the time from the first sample in any stream to the last.
	RangeUnion RangeMode = clocks.Union
	// RangeBetween is from Range.From to Range.To after the recording's first timestamp.
	RangeBetween RangeMode = clocks.Between
)

// Range is the time that a clock covers. From and To are for RangeBetween.
type Range struct {
	Mode     RangeMode
	From, To time.Duration
}

// Between returns a range with the mode RangeBetween.
func Between(from, to time.Duration) Range { return Range{Mode: RangeBetween, From: from, To: to} }

// Window lists the targets around an anchor, LeRobot's delta_timestamps: a time range, or single times. If To is at most 0, the range
// has the ticks after From up to and including To; otherwise the ticks from From up to, not including, To.
type Window struct {
	From, To time.Duration
	// At are single times relative to the anchor, in place of From and To, in any order, also repeated. A time within 0.1 ms of a tick
	// is the tick. Example: -400ms, -100ms and 0s.
	At []time.Duration
}

// Names that a plan may use.
var (
	Normalisations = []string{"none", "mean-std", "min-max", "q01-q99", "q10-q90", "lerobot", "openpi", "octo", "gr00t", "robomimic"}
	Paddings       = []string{"lerobot", "octo", "openpi", "robomimic", "diffusion_policy"}
	Shuffles       = []string{"windows", "shards", "none"}
	// Unordereds are the rules for a stream with timestamps out of order. "drop" leaves it out with a note. "sort" sorts its
	// samples by time, counts them, and leaves out samples without a time. "error" returns an error.
	Unordereds = []string{"drop", "sort", "error"}
)

// over returns the sampling with its empty fields taken from the defaults.
func (s Sampling) over(d Sampling) Sampling {
	text := func(own *string, def string) {
		if *own == "" {
			*own = def
		}
	}
	limit := func(own *ops.Limit, def ops.Limit) {
		if _, given := own.Get(); !given {
			*own = def
		}
	}
	text(&s.Kind, d.Kind)
	text(&s.Quat, d.Quat)
	text(&s.Edge, d.Edge)
	text(&s.Normalise, d.Normalise)
	limit(&s.Window, d.Window)
	limit(&s.MaxGap, d.MaxGap)
	limit(&s.Tolerance, d.Tolerance)
	if s.Kinds == nil {
		s.Kinds = d.Kinds
	}
	if s.Period == 0 {
		s.Period = d.Period
	}
	if s.Fill == (ops.Fill{}) {
		s.Fill = d.Fill
	}
	if s.Offset == 0 {
		s.Offset = d.Offset
	}
	if s.DType == 0 {
		s.DType = d.DType
	}
	s.FillGaps = s.FillGaps || d.FillGaps
	return s
}
