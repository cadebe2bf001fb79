package align

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/planorigin"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Plan describes how a recording is put on a clock. A plan with only a Rate takes every stream.
type Plan struct {
	// Rate is the rate of the common clock, in Hz.
	Rate float64
	// Targets [T] are the times of the common clock, instead of a Rate, in the dtype of the streams' timestamps. A plan file cannot have
	// them.
	Targets *tensor.Tensor
	// Range is the time that the clock covers. It has no effect with Targets.
	Range Range
	// Snap is how near to a sample a target counts as on it; a microsecond unless given, ops.Within(0) for none.
	Snap ops.Limit
	// Unordered is the rule for a stream with timestamps that step back or are no times: one of Unordereds, "drop" unless given.
	Unordered string
	// Defaults fill the empty fields of each stream's Sampling.
	Defaults Sampling
	// Streams are the streams to take, in the order of the output. If there are none, all that can be put on a clock are taken.
	Streams []Stream

	// The other fields are for a loader. Resample and Fuse only check them.

	Windows map[string]Window // of streams by name: seconds from each anchor
	Padding string            // one of Paddings: the values of a window beyond its episode
	// PadAfter is how far windows may reach beyond the last tick of an episode's clock. Only the padding diffusion_policy has it, and needs
	// it: see Anchors.
	PadAfter ops.Limit
	Shuffle  string // one of Shuffles
	Filter   dataset.Filter

	origin *planorigin.Origin // nil if the plan was not read from a file
	places []int              // of the streams in the file, if Pick has made the plan; nil if they are the same as in Streams
}

// Pick returns the plan with some of the streams, by their indices in Streams, in that order. Their errors keep their lines in the plan
// file. Streams that are appended later have none.
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

// Stream is a stream to take.
type Stream struct {
	Name string `json:"name"` // in the output
	From string `json:"-"`    // in the recording; Name unless given
	// Columns are the columns to take, in order: a name, the name of an array for all its elements ("q" for q[0] to q[3]), or a range of
	// indices without its end ("0:7"). If there are none, all are taken.
	Columns  []string `json:"columns"`
	Sampling `json:"-"`
}

// source returns the stream's name in the recording.
func (s *Stream) source() string {
	if s.From != "" {
		return s.From
	}
	return s.Name
}

// Sampling describes how a stream's columns are put on the clock. Empty fields are taken from Plan.Defaults. If these are empty too, the
// type of the column decides.
type Sampling struct {
	// Kind is the name of an interpolation: "linear", "previous", "slerp"; see ops.Interps. Whole numbers keep their previous value, unless
	// the stream has only whole numbers and a Kind of its own. If a kind takes several columns together, as slerp takes 4, the stream needs
	// arrays of as many floats.
	Kind string
	// Kinds are for single columns, whole numbers too. ColumnKind.Columns is as in Stream.Columns; a range of indices counts the columns
	// that are taken.
	Kinds []ColumnKind
	// Quat is the order of quaternions: "xyzw" or "wxyz"; the recording's own unless given, and xyzw if it has none.
	Quat string
	// Period is the period of angles; 2 pi unless given.
	Period float64
	// Window is the length of time before each target that the window kinds reduce.
	Window ops.Limit
	// Edge is the name of a rule for targets outside the samples: "clamp", "fill", "extrapolate", "hold", "error". It is clamp unless
	// given, and hold for topics that are published on change.
	Edge string
	// Fill is the value of targets without a value: NaN unless given, and 0 in Fuse.
	Fill ops.Fill
	// MaxGap makes targets invalid if the samples around them are further apart, Tolerance if their sample is further away. FillGaps writes
	// the fill value to both. Both may be AutoGap, and NoGap where Defaults have a limit.
	MaxGap, Tolerance ops.Limit
	FillGaps          bool
	// Offset corrects the stream's clock: stream time + Offset = common time. Only Fuse takes one.
	Offset time.Duration
	// Normalise is one of Normalisations. It is for a loader, because it needs the statistics of a dataset: Resample and Fuse add a note
	// and leave it out.
	Normalise string
	// DType is the dtype of the values. If it is not given, Resample keeps the stream's own. In Fuse all streams have one: f64 if any
	// stream has it, else f32.
	DType tensor.DType
}

// AutoGap is the limit that follows from a stream's own rate: dataset.GapLimit of its median step, and no limit for a stream without a rate.
// A loader has the longest such limit of its episodes. NoGap is no limit.
var AutoGap, NoGap = ops.Within(-1), ops.Within(-2)

// GapText returns a MaxGap or Tolerance as a plan file has it: "auto", "none" or a length of time; empty if it is not given.
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

// ParseGap returns the limit of a name in a plan file, and false for other text.
func ParseGap(name string) (limit ops.Limit, ok bool) {
	for _, limit := range []ops.Limit{AutoGap, NoGap} {
		if GapText(limit) == name {
			return limit, true
		}
	}
	return limit, false
}

// ColumnKind is a kind for some columns.
type ColumnKind struct{ Columns, Kind string }

// RangeMode is a rule for the beginning and end of a clock. Its String is the name in a plan file.
type RangeMode = clocks.Mode

const (
	// RangeCommon is the time that all streams have in common. Topics that hold their value and streams that cover less than half of the
	// recording do not narrow it. If nothing is common, it is RangeUnion.
	RangeCommon RangeMode = clocks.Common
	// RangeIntersection is the time that all streams have in common, without exception. It is an error if there is none.
	RangeIntersection RangeMode = clocks.Intersection
	// RangeUnion is from the first sample of any stream to the last.
	RangeUnion RangeMode = clocks.Union
	// RangeBetween is from Range.From to Range.To after the recording's first timestamp.
	RangeBetween RangeMode = clocks.Between
)

// Range is the time that a clock covers. From and To are for RangeBetween.
type Range struct {
	Mode     RangeMode
	From, To time.Duration
}

// Between is the range of the mode RangeBetween.
func Between(from, to time.Duration) Range { return Range{Mode: RangeBetween, From: from, To: to} }

// Window is a range of time around an anchor. If To is at most 0, it has the ticks after From up to To, else the ticks from From to before
// To.
type Window struct{ From, To time.Duration }

// UnmarshalJSON reads a list of both in seconds, as in a plan file, for example [-0.5, 0].
func (w *Window) UnmarshalJSON(text []byte) error {
	var seconds []float64
	if err := json.Unmarshal(text, &seconds); err != nil || len(seconds) != 2 {
		return bad("windows", string(text), "[from, to] in seconds")
	}
	for i, to := range []*time.Duration{&w.From, &w.To} {
		if *to = time.Duration(math.Round(seconds[i] * 1e9)); math.Abs(seconds[i]) >= 9e9 {
			return bad("windows", fmt.Sprintf("%g to %g", seconds[0], seconds[1]), "seconds")
		}
	}
	return nil
}

// The names that a plan may use.
var (
	Normalisations = []string{"none", "mean-std", "min-max", "q01-q99", "q10-q90", "lerobot", "openpi", "octo", "gr00t", "robomimic"}
	Paddings       = []string{"lerobot", "octo", "openpi", "robomimic", "diffusion_policy"}
	Shuffles       = []string{"windows", "shards", "none"}
	// Unordereds are the rules for a stream with timestamps out of order. "drop" leaves it out with a note, "sort" sorts its samples by
	// time, and counts and leaves out samples without a time, and "error" returns an error.
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
