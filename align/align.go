package align

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// take is a stream that is taken, and how.
type take struct {
	index  int             // in the plan
	stream *dataset.Stream // with the output's name and the columns that are taken
	from   string          // its name in the recording
	how    Sampling
	own    bool // the stream's plan, not the defaults, asked for the kind
	edge   ops.Edge
	cover  Cover
	stats  dataset.Stats
	empty  bool
	// speaks when something changes: whole numbers, under one message a second of the recording
	onChange bool
}

// job is an episode with a plan.
type job struct {
	plan    Plan
	snap    ops.Limit
	takes   []take
	left    []LeftOut
	clock   ops.Clock
	span    Span
	covered map[string]Cover // what each stream of the recording covers that has good timestamps
	whole   Cover            // of the recording
	targets *tensor.Tensor
	fuse    bool
}

// prepare chooses streams and makes the clock.
func prepare(e *dataset.Episode, plan Plan, fuse bool) (*job, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	j := &job{plan: plan, snap: plan.Snap, fuse: fuse}
	if d, given := plan.Snap.Get(); !given {
		j.snap = ops.Within(Snap)
	} else if d == 0 {
		j.snap = ops.Limit{}
	}
	if err := uniqueNames(e); err != nil {
		return nil, err
	}
	if err := j.choose(e); err != nil {
		return nil, err
	}
	if err := j.fits(); err != nil {
		return nil, err
	}
	return j, j.makeClock()
}

// uniqueNames checks that no two streams of a recording have one name.
func uniqueNames(e *dataset.Episode) error {
	seen := map[string]bool{}
	for _, s := range e.Streams {
		if seen[s.Name] {
			return &StreamError{Stream: s.Name, Got: "two streams of this name", Want: "each name once"}
		}
		seen[s.Name] = true
	}
	return nil
}

// mistake is a mistake in what the plan says of a stream, with its place if the plan was read from a file.
func (j *job) mistake(stream int, key, got, want string) error {
	e := &PlanError{Key: fmt.Sprintf("streams[%d].%s", stream, key), Got: got, Want: want}
	if o := j.plan.origin; o != nil {
		e.Path = o.path
		e.Line, e.Column = o.place(e.Key)
	}
	return e
}

// at says where in a plan file a stream that cannot be taken is asked for.
func (j *job) at(stream int, key string, err error) error {
	if j.plan.origin == nil || stream >= len(j.plan.Streams) {
		return err
	}
	line, column := j.plan.origin.place(fmt.Sprintf("streams[%d].%s", stream, key))
	return &InPlanError{Path: j.plan.origin.path, Line: line, Column: column, Err: err}
}

// choose takes the streams that the plan names, or all, and lists those that have no place on a clock.
func (j *job) choose(e *dataset.Episode) error {
	want := j.plan.Streams
	if len(want) == 0 {
		for _, s := range e.Streams {
			want = append(want, Stream{Name: s.Name})
		}
		for _, l := range e.LeftOut {
			j.left = append(j.left, LeftOut{l.Name, l.Reason})
		}
	}
	for i, w := range want {
		name := w.source()
		s := e.Stream(name)
		if s == nil {
			left := slices.IndexFunc(e.LeftOut, func(l dataset.LeftOut) bool { return l.Name == name })
			if left < 0 {
				key := "name"
				if w.From != "" {
					key = "from"
				}
				return j.at(i, key, &MissingError{Stream: name, Near: nearest(name, e.Names()), Names: e.Names()})
			}
			l := &e.LeftOut[left]
			if !j.fuse || l.Columns == nil {
				j.left = append(j.left, LeftOut{name, l.Reason})
				continue
			}
			var err error
			if s, err = emptyStream(e, l); err != nil { // its columns have a place in the row all the same
				return err
			}
		}
		if err := s.Check(); err != nil {
			return &StreamError{Stream: name, Err: err}
		}
		stats := s.Stats()
		if reason := j.unusable(s, stats, len(j.plan.Streams) > 0); reason != "" {
			j.left = append(j.left, LeftOut{name, reason})
			continue
		}
		s, err := selected(s, w.Columns)
		if err != nil {
			return j.at(i, "columns", err)
		}
		named := *s
		named.Name = w.Name
		how := w.Sampling.over(j.plan.Defaults)
		if j.plan.said(i, "offset") {
			how.Offset = w.Offset
		}
		if j.plan.said(i, "fill_gaps") {
			how.FillGaps = w.FillGaps
		}
		switch {
		case !j.fuse && how.Offset != 0:
			return j.mistake(i, "offset", how.Offset.String(), "none, or Fuse: Resample shifts no clock")
		case j.fuse && w.DType != 0 && w.DType != cmp.Or(j.plan.Defaults.DType, tensor.F32):
			return j.mistake(i, "dtype", w.DType.String(), fmt.Sprintf("%v, that of all streams of a Fuse, which the defaults set", cmp.Or(j.plan.Defaults.DType, tensor.F32)))
		}
		j.takes = append(j.takes, take{index: i, stream: &named, from: name, how: how, own: w.Kind != "", stats: stats, empty: s.Len() == 0})
	}
	if len(j.takes) == 0 {
		var list []string
		for _, l := range j.left {
			list = append(list, l.Name+" ("+l.Reason+")")
		}
		return &NoStreamsError{LeftOut: list}
	}
	return j.covers(e)
}

// emptyStream returns a stream without samples, on a clock of the recording's dtype.
func emptyStream(e *dataset.Episode, l *dataset.LeftOut) (*dataset.Stream, error) {
	s := &dataset.Stream{Name: l.Name, Columns: l.Columns}
	clock := tensor.I64
	if len(e.Streams) > 0 {
		clock = e.Streams[0].Times.DType()
	}
	var err error
	if s.Times, err = tensor.New(clock, 0); err != nil {
		return nil, err
	}
	s.Values, err = tensor.New(tensor.F32, 0, len(l.Columns))
	return s, err
}

// NoStreamsError says that nothing of a recording can be put on a clock.
type NoStreamsError struct {
	LeftOut []string // the streams with the reasons
}

func (e *NoStreamsError) Error() string {
	s := "no stream that can be put on a clock, want one with samples and columns"
	for i, l := range e.LeftOut {
		s += []string{": ", ", "}[min(i, 1)] + l
	}
	return s
}

// unusable says why a stream has no place on a clock, or nothing.
func (j *job) unusable(s *dataset.Stream, st dataset.Stats, named bool) string {
	switch {
	case len(s.Columns) == 0:
		return "no columns"
	case j.fuse && named: // its columns have a place in the row all the same
		return ""
	case st.Samples == 0:
		return "no samples"
	case st.Samples-st.Duplicates < 2:
		return "fewer than two distinct timestamps"
	}
	return ""
}

// covers finds what each stream covers, and with it those that speak when something changes.
func (j *job) covers(e *dataset.Episode) error {
	j.whole, j.covered = wholeOf(e)
	for i := range j.takes {
		t := &j.takes[i]
		if t.empty {
			continue
		}
		var known bool
		if t.cover, known = j.covered[t.from]; !known {
			_, err := CoverOf(t.from, t.stream.Times)
			return &StreamError{Stream: t.from, Err: err}
		}
		t.cover.Name = t.stream.Name
		t.cover.First, t.cover.Last = after(t.cover.First, t.how.Offset), after(t.cover.Last, t.how.Offset)
	}
	for i := range j.takes {
		t := &j.takes[i]
		t.onChange = !t.empty && t.stream.AllInteger() && float64(t.stream.Len()) < j.whole.length()/1e9
		switch {
		case t.how.Edge != "":
			edge, err := ops.ParseEdge(t.how.Edge)
			if err != nil {
				return err
			}
			t.edge = edge
		case t.onChange:
			t.edge = ops.EdgeHold
		}
	}
	return nil
}

// wholeOf returns the time of a recording, of all its streams, whichever are taken, and that of each by name.
func wholeOf(e *dataset.Episode) (Cover, map[string]Cover) {
	var list []source
	covered := map[string]Cover{}
	for _, s := range e.Streams {
		if c, err := CoverOf(s.Name, s.Times); err == nil { // one without timestamps, or with wrong ones, is an error if it is taken
			covered[s.Name] = c
			list = append(list, source{Cover: c, stray: float64(longestStep(&s)) > c.length()/2})
		}
	}
	return recordingOf(list), covered
}

// longestStep returns the longest time between neighbouring samples of sorted timestamps, in nanoseconds.
func longestStep(s *dataset.Stream) (longest uint64) {
	ns := s.Nanoseconds()
	for i := 1; i < len(ns); i++ {
		longest = max(longest, uint64(ns[i])-uint64(ns[i-1])) // of int64 it may overflow
	}
	return longest
}

// makeClock makes the clock over what the streams cover, unless the plan has targets.
func (j *job) makeClock() error {
	if j.plan.Targets != nil {
		j.clock, j.targets = ops.At(j.plan.Targets), j.plan.Targets
		return nil
	}
	var list []source
	dtype := j.takes[0].stream.Times.DType()
	for _, t := range j.takes {
		if !t.empty {
			list = append(list, source{Cover: t.cover, onChange: t.onChange})
		}
	}
	var err error
	if j.clock, j.span, err = clockOver(list, j.whole, j.plan.Range, j.plan.Rate, j.snap); err != nil {
		return err
	}
	if err := j.room(); err != nil {
		return err
	}
	j.targets, err = Ticks(j.clock, dtype)
	return err
}

// maxOutput is the most bytes that the results may take: a slip of the finger should not fill the memory.
const maxOutput = 64 << 30

// SizeError says that the results would not fit into the memory.
type SizeError struct {
	Rate        float64
	Targets     int
	Bytes, Most float64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%g Hz: got %d targets that take %.1f GiB, want at most %.1f GiB, what there is here", e.Rate, e.Targets, e.Bytes/(1<<30), e.Most/(1<<30))
}

// Unwrap returns ops.ErrTooLarge.
func (e *SizeError) Unwrap() error { return ops.ErrTooLarge }

// Room returns a *SizeError if a clock's results would not fit: of so many streams with so many columns together, of a dtype.
func Room(clock ops.Clock, streams, columns int, dtype tensor.DType) error {
	size := 8
	if dtype != 0 {
		size = dtype.Size()
	}
	// An age of 8 bytes and a flag beside the values.
	need := float64(clock.Count) * (float64(columns)*float64(size) + float64(streams)*9)
	if most := float64(min(maxOutput, tensor.Available())); need > most {
		return &SizeError{clock.Rate, clock.Count, need, most}
	}
	return nil
}

func (j *job) room() error {
	columns := 0
	for _, t := range j.takes {
		columns += len(t.stream.Columns)
	}
	return Room(j.clock, len(j.takes), columns, j.plan.Defaults.DType)
}

// options returns the operation's options for a stream.
func (j *job) options(t *take) (ops.ResampleOptions, error) {
	list, err := channels(t.stream, &t.how, t.own)
	return ops.ResampleOptions{
		Channels: list, Window: t.how.Window, Edge: t.edge, Fill: t.how.Fill, Snap: j.snap,
		MaxGap: t.how.MaxGap, Tolerance: t.how.Tolerance, FillGaps: t.how.FillGaps, DType: t.how.DType,
	}, err
}

// resolved is how the stream is sampled, with the edge that was chosen for it.
func (t *take) resolved() Sampling {
	s := t.how
	s.Edge = t.edge.String()
	return s
}

// report begins the report: the clock, and what became of the recording itself.
func (j *job) report(e *dataset.Episode) Report {
	r := NewReport(j.targets, j.plan.Rate)
	if j.plan.Targets == nil {
		r.Clock.Range = j.plan.Range.Mode.String()
		r.Clock.BeginsWith, r.Clock.EndsWith = j.span.BeginsWith, j.span.EndsWith
	}
	r.LeftOut = append(r.LeftOut, j.left...)
	if e.Dropouts != nil {
		r.Dropouts = &Dropouts{Count: len(e.Dropouts)}
		for _, d := range e.Dropouts {
			r.Dropouts.Seconds += float64(d.Duration) / 1e9
		}
	}
	r.LostBytes = e.Damage.Bytes()
	for _, d := range e.Damage {
		r.Remarks = append(r.Remarks, "lost: "+d.String())
	}
	if j.span.Remark != "" {
		r.Remarks = append(r.Remarks, j.span.Remark)
	}
	for _, t := range j.takes {
		if n := t.how.Normalise; n != "" && n != "none" {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %s was left out: it needs the statistics of a dataset", t.stream.Name, n))
		}
	}
	return r
}

// account adds a stream's line to the report.
func (r *Report) account(t *take, a *Aligned, targets *tensor.Tensor, lost func(n *Narrowed) error) error {
	line := StreamReport{
		Name: a.Name, Rows: 1, Columns: len(a.Columns), DType: a.Values.DType().String(),
		Inexact: a.Recorded.Inexact, Kinds: countKinds(a.Channels), Edge: t.edge.String(),
	}
	line.Clock(t.stats)
	own, err := shifted(targets, -t.how.Offset)
	if err == nil {
		err = line.Count(a.Recorded.Times, own, a.Valid)
	}
	if err == nil {
		err = lost(&line.Narrowed)
	}
	r.Streams = append(r.Streams, line)
	return err
}

// shifted returns a clock that is later by d.
func shifted(times *tensor.Tensor, d time.Duration) (*tensor.Tensor, error) {
	if d == 0 {
		return times, nil
	}
	if times.DType() == tensor.I64 {
		return shiftedBy(times, int64(d))
	}
	if times.DType() == tensor.F64 {
		return shiftedBy(times, float64(d)/1e9)
	}
	return shiftedBy(times, float32(float64(d)/1e9))
}

func shiftedBy[T int64 | float64 | float32](times *tensor.Tensor, d T) (*tensor.Tensor, error) {
	list, err := tensor.Data[T](times)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, t := range list {
		out[i] = t + d
	}
	return tensor.Of(out, len(out))
}

// Resample puts each stream that the plan takes on the common clock, in one launch a stream. A mistake in the plan is a *PlanError, a stream that
// cannot be taken so a *StreamError, a clock that cannot be made a *RangeError or *SizeError; nothing is computed then.
func Resample(ctx context.Context, device *ops.Device, e *dataset.Episode, plan Plan) (*Resampled, error) {
	j, err := prepare(e, plan, false)
	if err != nil {
		return nil, err
	}
	out := &Resampled{Clock: j.clock, Times: j.targets, Report: j.report(e)}
	for i := range j.takes {
		t := &j.takes[i]
		opts, err := j.options(t)
		if err != nil {
			return nil, j.at(t.index, "kind", err)
		}
		args := ops.ResampleArgs{Src: t.stream.Values, SrcTimes: t.stream.Times, Targets: j.clock}
		got, err := device.Resample(ctx, args, opts)
		if err != nil {
			return nil, ofStream(t.from, err)
		}
		a := Aligned{Stream: *t.stream, Valid: got.Valid, Age: got.Age, Channels: opts.Channels, How: t.resolved(), Recorded: t.stream}
		a.Times, a.Values = j.targets, got.Values
		err = out.Report.account(t, &a, j.targets, func(n *Narrowed) error {
			wide := opts
			wide.DType = tensor.F64
			return n.Compare(got.Values, j.targets, 0, a.Columns, args.Src.DType(), func(clock ops.Clock) (*tensor.Tensor, error) {
				again := args
				again.Targets = clock
				out, err := device.Resample(ctx, again, wide)
				return out.Values, err
			})
		})
		if err != nil {
			return nil, err
		}
		out.Streams = append(out.Streams, a)
	}
	return out, ctx.Err()
}

// ofStream names the stream of an operation's error, if the input is its cause.
func ofStream(name string, err error) error {
	var arg *ops.ArgError
	var value *ops.ValueError
	if errors.As(err, &arg) || errors.As(err, &value) {
		return &StreamError{Stream: name, Err: err}
	}
	return fmt.Errorf("stream %s: %w", name, err)
}
