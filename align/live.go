package align

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Live computes a plan's windows while samples arrive, so that a policy gets the same input at run time as in training. If all
// samples for a target have arrived, its values equal [Fuse] of the whole recording bit for bit. The method previous and the
// windowed methods need no sample after the target. Other methods do, so the caller asks for their windows later by that much. A
// target without its samples is not valid.
//
// A Live is for one goroutine at a time. NewLive allocates its buffers from the rates; Push and Window allocate nothing.
type Live struct {
	device  *ops.Device
	queue   *ops.Queue
	streams []liveStream
	anchor  []int64
	parts   []LivePart
	horizon int64 // ns
	newest  int64
	plans   []*ops.Plan // all, for Close
	closed  bool
}

// LiveStream describes a stream that will arrive.
type LiveStream struct {
	Name    string
	Columns []dataset.Column // as in a recording
	DType   tensor.DType     // the dtype of its values in recordings: F32 or F64
	Hz      float64          // approximate number of samples a second
	// Shift, Scale, ClipMin and ClipMax [D] normalise the columns that the plan selects, as in ops.FuseStream.
	Shift, Scale, ClipMin, ClipMax []float32
	// Camera is set if the stream's samples are frames. Columns and DType are not used then.
	Camera *LiveCamera
}

// LivePart is a stream in a window. Every window uses the same tensors.
type LivePart struct {
	Name   string
	Values *tensor.Tensor // [T,D]; of a camera the numbers of the frames, from 0 in the order of their arrival, or -1 for none: [T,1] f64
	Valid  *tensor.Tensor // [T] u8
	Pad    *tensor.Tensor // [T] u8: 1 if the target is outside the arrived samples; if no method needs later ones, only before the first
	Age    *tensor.Tensor // [T] i64, ns
	Frames *tensor.Tensor // of a camera [T,H,W,3], or [T,3,H,W] with LayoutCHW: black if there is no frame; else nil

	// Counts of samples so far.
	Taken     int // accepted, in order or not
	Unordered int // accepted after a later sample
	Late      int // refused, because they came after the horizon
}

// liveStream is a stream with the samples that are kept.
type liveStream struct {
	name    string
	columns []int // the taken columns of a sample
	width   int   // of a sample
	reach   int64 // from the earliest sample that a window needs to the anchor, ns
	offset  int64

	times         []int64
	f32           []float32
	f64           []float64
	lo, hi        int // the samples that are kept
	start, length []int64
	fuse          *ops.Plan
	part          int
	camera        *liveCamera // nil for numbers

	// looksBack is set if no column needs a sample after its target, no target is after the anchor, and the edge does not hold the last
	// value. A sample at after ns from the anchor is later than all targets, and too late for any to snap to it.
	looksBack bool
	after     int64
}

// spare is the number of samples that are kept before the earliest target, because kinds need samples before it.
const spare = 4

// NewLive prepares a plan for streams that will arrive. A stream without a window in the plan has only the anchor tick. The default
// edge is clamp, because it is not yet known which streams are published on change. horizon is the longest accepted delay of a
// sample after the newest sample in any stream; 0 means a second. Samples with a longer delay are counted and left out.
func NewLive(plan Plan, streams []LiveStream, horizon time.Duration) (*Live, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}
	if plan.Rate == 0 {
		return nil, bad("rate", "none", "the windows' clock rate")
	}
	plan, streams, err := cameraStreams(plan, streams)
	if err != nil {
		return nil, err
	}
	l := &Live{horizon: int64(cmp.Or(horizon, time.Second)), anchor: []int64{0}}
	e := &dataset.Episode{}
	for i := range streams {
		s := &streams[i]
		values, err := tensor.New(cmp.Or(s.DType, tensor.F32), 0, len(s.Columns))
		if err != nil {
			return nil, err
		}
		made, err := dataset.NewStream(s.Name, nil, values, s.Columns)
		if err != nil {
			return nil, err
		}
		e.Streams = append(e.Streams, made)
	}
	if len(plan.Streams) == 0 {
		for _, s := range streams {
			plan.Streams = append(plan.Streams, Stream{Name: s.Name})
		}
	}
	j, err := newJob(e, &Preparer{Plan: plan}, true)
	if err != nil {
		return nil, err
	}
	if l.device, err = ops.Open("cpu"); err != nil {
		return nil, err
	}
	if l.queue, err = l.device.NewQueue(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for i := range j.takes {
		if err := l.add(j, &j.takes[i], plan, streams); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// add plans a stream, as a Fuse of one stream, because each has its own window.
func (l *Live) add(j *job, t *take, plan Plan, streams []LiveStream) error {
	in := &streams[slices.IndexFunc(streams, func(s LiveStream) bool { return s.Name == t.from })]
	deltas := []int64{0}
	if w, given := plan.Windows[t.stream.Name]; given {
		if deltas = w.Ticks(plan.Rate); len(deltas) == 0 {
			return bad("windows."+t.stream.Name, w.String(), "a window with a tick in it")
		}
	}
	o := j.options(t)
	o.DType = 0
	window, _ := o.Window.Get()
	snap, _ := j.snap.Get()
	s := liveStream{name: t.from, width: len(in.Columns), offset: int64(t.how.Offset), reach: int64(window) - slices.Min(deltas) + l.horizon, start: []int64{0}, length: []int64{0}, part: len(l.parts),
		after: 2*int64(snap) + 1}
	for _, c := range t.stream.Columns {
		s.columns = append(s.columns, slices.IndexFunc(in.Columns, func(o dataset.Column) bool { return o == c }))
	}
	if t.how.Edge == "" {
		o.Edge = ops.EdgeClamp
	}
	s.looksBack = slices.Max(deltas) <= 0 && !slices.ContainsFunc(t.channels, func(c ops.Channel) bool {
		return !c.Interp.LooksBack() || c.Interp == ops.InterpPrevious && o.Edge == ops.EdgeHold
	})
	if in.Hz <= 0 {
		return &StreamError{Stream: s.name, Got: fmt.Sprint(in.Hz, " Hz"), Want: "about how many samples a second there will be"}
	}
	if in.Camera != nil {
		o.Fill = ops.FillWith(-1)
	}
	room := 2*(int(in.Hz*float64(s.reach)/1e9*1.5)+2*spare) + 64
	dtype := t.stream.Values.DType()
	s.times = make([]int64, room)
	d := len(s.columns)
	var values *tensor.Tensor
	var err error
	if dtype == tensor.F64 {
		s.f64 = make([]float64, room*d)
		values, err = tensor.Of(s.f64, room, d)
	} else {
		s.f32 = make([]float32, room*d)
		values, err = tensor.Of(s.f32, room, d)
	}
	if err != nil {
		return err
	}
	out := dtype
	if t.how.DType != 0 {
		out = t.how.DType
	}
	part := LivePart{Name: t.stream.Name}
	n := len(deltas)
	list := func(v []int64) *tensor.Tensor { return tensor.Must(tensor.Of(v, len(v))) }
	var errs [4]error
	part.Values, errs[0] = tensor.New(out, 1, n, d)
	part.Valid, errs[1] = tensor.New(tensor.U8, 1, n, 1)
	part.Pad, errs[2] = tensor.New(tensor.U8, 1, n, 1)
	part.Age, errs[3] = tensor.New(tensor.I64, 1, n, 1)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	p, err := l.device.PlanFuse(ops.FuseArgs{Dst: part.Values, Valid: part.Valid, Pad: part.Pad, Age: part.Age, Targets: ops.Anchored(list(l.anchor), list(deltas)),
		Streams: []ops.FuseStream{{Src: values, SrcTimes: list(s.times), SrcStarts: list(s.start), SrcLengths: list(s.length), Offset: t.how.Offset, Options: o,
			Shift: in.Shift, Scale: in.Scale, ClipMin: in.ClipMin, ClipMax: in.ClipMax}}}, ops.FuseOptions{TrustTimes: true})
	if err != nil {
		return ofStream(s.name, err)
	}
	l.plans, s.fuse = append(l.plans, p), p
	for _, v := range []struct {
		t     **tensor.Tensor
		shape []int
	}{{&part.Values, []int{n, d}}, {&part.Valid, []int{n}}, {&part.Pad, []int{n}}, {&part.Age, []int{n}}} {
		if *v.t, err = (*v.t).Reshape(v.shape...); err != nil {
			return err
		}
	}
	if in.Camera != nil {
		if s.camera, err = newLiveCamera(l.device, in.Camera, &part, room); err != nil {
			return ofStream(s.name, err)
		}
		l.plans = append(l.plans, s.camera.plan)
	}
	l.parts = append(l.parts, part)
	l.streams = append(l.streams, s)
	return nil
}

// Push adds a sample to a stream, with all recorded columns, at a time in nanoseconds on the stream's own clock. If a later sample
// arrived before, this one is inserted; if its delay exceeds the horizon, it is counted and left out. The error is a *StreamError,
// and the sample is not added, if the number of values is wrong, if the time exceeds 2^62 ns, or if many more samples arrive than
// Hz allows. For an unknown stream the error wraps dataset.ErrNotFound.
func (l *Live) Push(stream string, at int64, values []float64) error {
	return l.push(stream, at, func(s *liveStream) ([]float64, error) {
		if s.camera != nil {
			return nil, &StreamError{Stream: stream, Got: "values", Want: "frames: the stream is a camera"}
		}
		return values, nil
	})
}

// push adds a sample to all streams with a name, because the plan may take one stream twice, under two names.
func (l *Live) push(stream string, at int64, sample func(s *liveStream) ([]float64, error)) error {
	found := false
	for i := range l.streams {
		if s := &l.streams[i]; s.name == stream {
			found = true
			values, err := sample(s)
			if err != nil {
				return err
			}
			if len(values) != s.width || at > 1<<62 || at < -1<<62 {
				return &StreamError{Stream: stream, Got: fmt.Sprintf("%d values at %d ns", len(values), at), Want: fmt.Sprintf("%d, within 2^62 ns of 0", s.width)}
			}
			if !l.take(s, at, values) {
				return s.full()
			}
		}
	}
	if !found {
		return &clocks.MissingError{Stream: stream}
	}
	return nil
}

// full returns the error of a stream without room for a sample.
func (s *liveStream) full() error {
	return &StreamError{Stream: s.name, Got: fmt.Sprintf("%d samples since %d ns", len(s.times)/2, s.times[s.lo]), Want: "no more than LiveStream.Hz leaves room for"}
}

// take adds a sample to a stream's buffer in time order, and reports whether there was room.
func (l *Live) take(s *liveStream, at int64, values []float64) bool {
	part := &l.parts[s.part]
	common := at + s.offset
	if common < l.newest-l.horizon && s.hi > s.lo {
		part.Late++
		return true
	}
	if s.hi == len(s.times) && !s.drop() {
		return false
	}
	l.newest = max(l.newest, common)
	d := len(s.columns)
	place := s.hi
	if s.hi > s.lo && at < s.times[s.hi-1] { // if times are equal, the later arrival is the later sample
		place = s.lo + sort.Search(s.hi-s.lo, func(i int) bool { return s.times[s.lo+i] > at })
		part.Unordered++
		copy(s.times[place+1:s.hi+1], s.times[place:s.hi])
		copyRows(s.f32, place, s.hi, d)
		copyRows(s.f64, place, s.hi, d)
	}
	s.times[place] = at
	for k, c := range s.columns {
		if s.f64 != nil {
			s.f64[place*d+k] = values[c]
		} else {
			s.f32[place*d+k] = float32(values[c])
		}
	}
	s.hi++
	part.Taken++
	return true
}

// copyRows moves rows place to end-1 back by one row, to make room for a row at index place. d is the row width.
func copyRows[T float32 | float64](list []T, place, end, d int) {
	if list != nil {
		copy(list[(place+1)*d:(end+1)*d], list[place*d:end*d])
	}
}

// drop moves the samples that are still needed to the beginning, and reports whether half of the room is free.
func (s *liveStream) drop() bool {
	before := s.times[s.hi-1] - s.reach
	first := s.lo + sort.Search(s.hi-s.lo, func(i int) bool { return s.times[s.lo+i] > before })
	first = max(first-spare, s.lo)
	if s.hi-first > len(s.times)/2 {
		return false
	}
	d := len(s.columns)
	copy(s.times, s.times[first:s.hi])
	if s.f64 != nil {
		copy(s.f64, s.f64[first*d:s.hi*d])
	} else {
		copy(s.f32, s.f32[first*d:s.hi*d])
	}
	s.lo, s.hi = 0, s.hi-first
	return true
}

// expect appends a sample after all targets, in place of the next one to arrive, and returns 1. A target after the last sample is
// then between samples, as in the recording. It returns 0 and appends no sample if a method would use it, if a sample after the
// targets has arrived, or if no sample has arrived yet.
func (s *liveStream) expect(anchor int64) int {
	at := anchor + s.after - s.offset
	if !s.looksBack || s.hi == s.lo || s.times[s.hi-1] >= at || at > 1<<62 || s.hi == len(s.times) && !s.drop() {
		return 0
	}
	s.times[s.hi] = at
	d := len(s.columns)
	if s.f64 != nil {
		clear(s.f64[s.hi*d : (s.hi+1)*d])
	} else {
		clear(s.f32[s.hi*d : (s.hi+1)*d])
	}
	return 1
}

// Window computes the window at an anchor, ns on the common clock, and returns its streams. The next call overwrites the tensors.
func (l *Live) Window(ctx context.Context, anchor int64) ([]LivePart, error) {
	if l.closed {
		return nil, fmt.Errorf("align: Live: %w", dataset.ErrClosed)
	}
	l.anchor[0] = anchor
	for i := range l.streams {
		s := &l.streams[i]
		s.start[0], s.length[0] = int64(s.lo), int64(s.hi-s.lo+s.expect(anchor))
		if err := s.fuse.Run(l.queue); err != nil {
			return nil, err
		}
	}
	err := l.queue.Synchronize(ctx)
	for i := range l.streams {
		if c := l.streams[i].camera; c != nil && err == nil {
			if err = c.run(l.queue); err == nil {
				err = l.queue.Synchronize(ctx)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return l.parts, nil
}

// Close releases the plans. Close twice is fine.
func (l *Live) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var errs []error
	for _, p := range l.plans {
		errs = append(errs, p.Close())
	}
	if l.queue != nil {
		errs = append(errs, l.queue.Close())
	}
	return errors.Join(append(errs, l.device.Close())...)
}

// Parts returns the streams in a window, with the counts of their samples so far.
func (l *Live) Parts() []LivePart { return l.parts }
