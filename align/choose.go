package align

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// choose selects the streams that the plan names, or all streams if it names none. It adds notes about streams that cannot be put
// on a clock.
func (j *job) choose(e *dataset.Episode) error {
	j.notes = e.Notes
	want := j.plan.Streams
	if len(want) == 0 {
		for _, s := range e.Streams {
			want = append(want, Stream{Name: s.Name})
		}
		j.left = e.Notes.Of(dataset.ClassLeftOut)
		for i := range e.Media {
			j.left = append(j.left, mediaNote(&e.Media[i]))
		}
		for i := range e.Clouds {
			j.left = append(j.left, dataset.Note{Code: dataset.CodeCloudsNotAligned, Subject: e.Clouds[i].Name, Count: e.Clouds[i].Len()})
		}
	}
	var disorder error // of the first stream that is left out because of its timestamps
	for i, w := range want {
		name := w.Source()
		s, err := j.find(e, i, w)
		if err != nil {
			return err
		}
		if s == nil { // find has added a note
			continue
		}
		s, sorted, wrong, err := j.inOrder(s)
		if err != nil {
			return err
		}
		if wrong != nil {
			if disorder == nil {
				disorder = disorderError(s, wrong)
			}
			j.left = append(j.left, dataset.Note{Code: dataset.CodeDisorder, Subject: name, Count: s.Len(), Detail: dataset.Detail{Cause: wrong}})
			if !j.fuse || len(j.plan.Streams) == 0 {
				continue
			}
			if s, err = emptyStream(e, &dataset.EmptyStream{Name: name, Columns: s.Columns, DType: s.Values.DType()}); err != nil { // its columns keep their place in the row
				return err
			}
		}
		stats := s.Stats()
		if code := j.unusable(s, stats, len(j.plan.Streams) > 0); code != "" {
			j.left = append(j.left, dataset.Note{Code: code, Subject: name, Count: s.Len()})
			continue
		}
		if s, err = selected(s, w.Columns); err != nil {
			return j.at(i, "columns", err)
		}
		how, err := j.sampling(i, w)
		if err != nil {
			return err
		}
		for _, l := range []*ops.Limit{&how.MaxGap, &how.Tolerance} {
			pauses := recognise.IsCommand(name) && stats.Gaps > stats.Samples/100 // and holds meanwhile
			if longest := stats.Limit(); *l == AutoGap && longest > 0 && !pauses {
				*l = ops.Within(time.Duration(longest))
			} else if *l == AutoGap || *l == NoGap {
				*l = ops.Limit{}
			}
		}
		named := *s
		named.Name = w.Name
		t := take{index: i, stream: &named, from: name, how: how, own: w.Kind != "", stats: stats, sorting: sorted, empty: s.Len() == 0}
		if t.single() && !slices.Contains([]string{"", "hold", "clamp"}, how.Edge) {
			return j.at(i, "edge", &StreamError{Stream: name, Got: "a single timestamp and the edge " + how.Edge, Want: "hold or clamp, for streams with an end"})
		}
		j.takes = append(j.takes, t)
	}
	if disorder != nil && !slices.ContainsFunc(j.takes, func(t take) bool { return !t.empty }) {
		return disorder
	}
	if len(j.takes) == 0 || !j.fuse && j.plan.Targets == nil && !slices.ContainsFunc(j.takes, func(t take) bool { return !t.single() }) {
		return j.nothing()
	}
	return j.covers(e)
}

// find returns the stream in the recording that w names. If the name is a camera, or a stream that the reader left out, find adds a
// note and returns nil. If the recording has the stream's columns but no samples, find returns a stream without samples, because
// its columns keep their place in a row from Fuse. An unknown name or a point cloud is an error.
func (j *job) find(e *dataset.Episode, i int, w Stream) (*dataset.Stream, error) {
	name := w.Source()
	s := e.Stream(name)
	if w.Points != nil && (s == nil && e.EmptyStream(name) == nil || s != nil && len(s.Columns) != 3*w.Points.K) {
		return nil, j.mistake(i, "points", "a recording without them", "depth images, in batches or in train")
	}
	if m := e.MediaStream(name); s == nil && m != nil {
		j.left = append(j.left, mediaNote(m)) // plans for conversions name cameras
		return nil, nil
	}
	if c := e.CloudStream(name); s == nil && c != nil {
		return nil, j.at(i, "name", &StreamError{Stream: name, Got: fmt.Sprintf("%d point clouds", c.Len()), Want: "a stream of numbers"})
	}
	if s == nil {
		left, empty := e.Notes.LeftOut(name), e.EmptyStream(name)
		if left == nil && empty == nil {
			key := "name"
			if w.From != "" {
				key = "from"
			}
			return nil, j.at(i, key, &clocks.MissingError{Stream: name, Near: text.NearestStreams(name, e.Names()), Names: e.Names()})
		}
		if left != nil && (!j.fuse || empty == nil) {
			j.left = append(j.left, *left)
			return nil, nil
		}
		var err error
		if s, err = emptyStream(e, empty); err != nil { // its columns keep their place in the row
			return nil, err
		}
	}
	if err := s.Check(); err != nil {
		return nil, &StreamError{Stream: name, Err: err}
	}
	return s, nil
}

// mediaNote returns the note about a media stream, which is not put on a clock.
func mediaNote(m *dataset.Media) dataset.Note {
	return dataset.Note{Code: dataset.CodeFramesNotAligned, Subject: m.Name, Count: m.Len(), Detail: dataset.Detail{Got: m.Encoding}}
}

// sampling returns the sampling of a stream, with the defaults.
func (j *job) sampling(i int, w Stream) (Sampling, error) {
	own := j.plan.Defaults
	if w.Points != nil { // defaults are for numbers
		own.Kind, own.Kinds, own.Normalise = PointMethods[0], nil, "none"
	}
	how := w.Sampling.over(own)
	if i < len(j.plan.Streams) {
		how.Offset = j.plan.OffsetOf(i)
	}
	if j.plan.said(i, "fill_gaps") {
		how.FillGaps = w.FillGaps
	}
	if !j.fuse && how.Offset != 0 {
		return how, j.mistake(i, "offset", how.Offset.String(), "none, or Fuse: Resample shifts no clock")
	}
	return how, nil
}

// inOrder returns a stream with its timestamps in order: sorted, if Unordered is "sort". If they are not in order, Unordered "error"
// returns err and "drop" returns wrong, a *cover.DisorderError.
func (j *job) inOrder(s *dataset.Stream) (in *dataset.Stream, how sorting, wrong, err error) {
	if wrong = cover.Disorder(s); wrong == nil {
		return s, how, nil, nil
	}
	switch j.plan.Unordered {
	case "error":
		return s, how, nil, disorderError(s, wrong)
	case "sort":
		sorted, late, lost, err := s.Sorted()
		return &sorted, sorting{late, lost}, nil, err
	}
	return s, how, wrong, nil
}

// unusable returns the code of the reason why a stream cannot be put on a clock, or "" if it can. named is true if the plan names
// the streams.
func (j *job) unusable(s *dataset.Stream, st dataset.Stats, named bool) dataset.Code {
	switch {
	case len(s.Columns) == 0:
		return dataset.CodeNoColumns
	case j.fuse && named: // its columns keep their place in the row
		return ""
	case st.Samples == 0:
		return dataset.CodeNoSamples
	case st.Samples-st.Duplicates < 2 && !named: // for example a static transform, which has the value of its edge everywhere
		return dataset.CodeTooFewTimes
	}
	return ""
}

// covers sets the time that each stream covers, whether it is published on change, its edge and its channels.
func (j *job) covers(e *dataset.Episode) error {
	for i := range j.takes {
		t := &j.takes[i]
		if t.empty {
			continue
		}
		var err error
		if t.cover, t.core, t.lo, t.hi, err = cover.Core(t.stream); err != nil {
			return &StreamError{Stream: t.from, Err: err}
		}
		for _, c := range []*cover.Cover{&t.cover, &t.core} {
			c.First, c.Last = clocks.After(c.First, t.how.Offset), clocks.After(c.Last, t.how.Offset)
		}
	}
	beside := j.beside(e)
	list := slices.Clone(beside)
	for i := range j.takes {
		t := &j.takes[i]
		if t.empty {
			continue
		}
		j.vouched(t, beside)
		if t.core != t.cover && j.plan.Targets == nil && j.plan.Range.Mode == RangeCommon {
			if err := t.cut(); err != nil {
				return err
			}
		}
		t.jumps = j.jump(t, beside)
		list = append(list, clocks.Source{Cover: t.core, Stray: cover.MostlyOneStep(t.kept())})
	}
	j.whole = clocks.Recording(list)
	for i := range j.takes {
		t := &j.takes[i]
		slow := t.stream.AllInteger() && float64(t.stream.Len()) < j.whole.Length()/1e9
		t.onChange = !t.empty && (slow || t.single())
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
		var err error
		if t.channels, err = j.before.channels(t, e.Rotation); err != nil {
			return j.at(t.index, "method", err)
		}
		for _, c := range t.channels {
			if _, given := t.how.Window.Get(); c.Interp.Windowed() && !given {
				return j.mistake(t.index, "window", "none for "+c.Interp.String(), "how long before a target it looks")
			}
		}
	}
	return nil
}

// disorderError returns the error for a stream with timestamps in disorder.
func disorderError(s *dataset.Stream, wrong error) error {
	e := &StreamError{Stream: s.Name, Err: wrong}
	if errors.Is(wrong, ops.ErrTimeRange) && s.Times.DType() != tensor.I64 {
		e.Got, e.Want = "a timestamp beyond 2^62 ns", "seconds, as floats are taken"
	}
	return e
}

// emptyStream returns a stream without samples, on a clock of the recording's dtype.
func emptyStream(e *dataset.Episode, l *dataset.EmptyStream) (*dataset.Stream, error) {
	s := &dataset.Stream{Name: l.Name, Columns: l.Columns}
	clock := tensor.I64
	if len(e.Streams) > 0 {
		clock = e.Streams[0].Times.DType()
	}
	var err error
	if s.Times, err = tensor.New(clock, 0); err != nil {
		return nil, err
	}
	s.Values, err = tensor.New(cmp.Or(l.DType, tensor.F32), 0, len(l.Columns))
	return s, err
}
