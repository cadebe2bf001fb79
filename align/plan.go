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

// Plan says what to make of a recording. The zero value but for Rate takes every stream.
type Plan struct {
	// Rate is that of the common clock, in Hz.
	Rate float64
	// Targets [T] are the common clock's times instead of a Rate, of the dtype that the streams' timestamps have. A file cannot give them.
	Targets *tensor.Tensor
	// Range is the time that the clock covers; Targets have no use for it.
	Range Range
	// Snap is how near to a sample a target counts as on it; a microsecond unless given, ops.Within(0) for none.
	Snap ops.Limit
	// Unordered is what becomes of a stream whose timestamps step back, or are no times: one of Unordereds, "drop" unless given.
	Unordered string
	// Defaults are for whatever a stream leaves open.
	Defaults Sampling
	// Streams are those to take, in the order of the output; all that can be put on a clock unless given.
	Streams []Stream

	// What follows says how a loader makes batches. Resample and Fuse check it and have no use for it.

	Windows map[string]Window // of streams by name: seconds from each anchor
	Padding string            // one of Paddings: what a window gets beyond its episode
	// PadAfter is how far windows may reach beyond the last tick of an episode's clock, of the padding diffusion_policy, which needs it: see Anchors.
	PadAfter ops.Limit
	Shuffle  string // one of Shuffles
	Filter   dataset.Filter

	origin *planorigin.Origin // of a plan that was read from a file
	places []int              // of the streams in what was read, of a plan that Pick has made; else they are where they were
}

// Pick returns the plan of some of the streams, by their places in Streams, in that order. What its file says of them is theirs still. Streams that
// are added to it are of no file.
func (p Plan) Pick(streams ...int) Plan {
	q := p
	q.Streams, q.places = nil, []int{}
	for _, i := range streams {
		q.Streams, q.places = append(q.Streams, p.Streams[i]), append(q.places, p.placeOf(i))
	}
	return q
}

// placeOf is where a stream was in what was read; -1 if it was not there.
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
	// Columns are those to take, in order: a name, the name of an array for all its elements ("q" for q[0] to q[3]), or a range of indices without
	// its end ("0:7"). All unless given.
	Columns  []string `json:"columns"`
	Sampling `json:"-"`
}

// source is the stream's name in the recording.
func (s *Stream) source() string {
	if s.From != "" {
		return s.From
	}
	return s.Name
}

// Sampling says how a stream's columns are put on the clock. Empty fields are Plan.Defaults', and what these leave open is chosen by the column.
type Sampling struct {
	// Kind is the name of an interpolation, as ops.Kind writes it: "linear", "previous", "slerp". Whole numbers keep their previous value whatever it
	// is, but where a stream of nothing else has it as its own. Of a kind that takes several columns together, such as slerp, a stream needs arrays
	// of as many floats.
	Kind string
	// Kinds are of single columns, whole numbers too: the key is as in Stream.Columns, and a range of indices counts the columns that are taken.
	Kinds []ColumnKind
	// Quat is the order of quaternions: "xyzw" or "wxyz"; the recording's own unless given, and xyzw where it does not say.
	Quat string
	// Period is that of angles; 2 pi unless given.
	Period float64
	// Window is how long before each target the window kinds look.
	Window ops.Limit
	// Edge is the name of a rule for targets outside the samples, as ops.Edge writes it: "clamp", "fill", "extrapolate", "hold", "error". Clamp
	// unless given, and hold for topics that speak when something changes.
	Edge string
	// Fill is the value written where there is none: NaN unless given, and 0 in Fuse.
	Fill ops.Fill
	// MaxGap makes targets between samples further apart invalid, Tolerance those whose sample is further away. FillGaps writes the fill
	// value to both.
	MaxGap, Tolerance ops.Limit
	FillGaps          bool
	// Offset is what the stream's clock lacks: stream time + Offset = common time. Only Fuse takes one.
	Offset time.Duration
	// Normalise is one of Normalisations. It needs the statistics of a dataset, so it is for a loader: Resample and Fuse remark that they leave it
	// out.
	Normalise string
	// DType is that of the values; Resample's is the stream's own unless given. In Fuse all share one: f64 if any
	// stream is and f32 if none is unless given.
	DType tensor.DType
}

// ColumnKind is a kind for some columns.
type ColumnKind struct{ Columns, Kind string }

// RangeMode is a rule for the beginning and end of a clock. Its String is the name in a plan file.
type RangeMode = clocks.Mode

const (
	// RangeCommon is the time that all streams have in common. Topics that hold their value and streams that cover less than half of the recording do not
	// narrow it. If nothing is common, it is RangeUnion.
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

// Window is a stretch of time around an anchor: the ticks after From up to To where To is at most 0, else those from From to before To.
type Window struct{ From, To time.Duration }

// UnmarshalJSON reads a list of both in seconds, as a plan file has it: [-0.5, 0].
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
	// Unordereds are what may become of a stream whose timestamps are out of order: it is left out and listed; or its samples are sorted by time,
	// those without a time left out and counted; or it is an error.
	Unordereds = []string{"drop", "sort", "error"}
)

// over returns the sampling with what it leaves open taken from the defaults.
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
