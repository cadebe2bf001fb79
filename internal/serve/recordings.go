package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all" // so that every format opens
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// keptBytes bounds the episode that is kept for the next request, which is often for the same episode, and the bytes that are read ahead.
const keptBytes = 64 << 20

// mostKept is the number of recordings that keep an episode and read ahead: the most recently used.
const mostKept = 4

// recordings are the open recordings of a connection, by handle.
type recordings struct {
	last   int
	open   map[int]*recording
	recent []*recording // recordings that may keep an episode, most recently used first
}

// recording is an open recording, or dataset of several.
type recording struct {
	dataset.Dataset
	path   string
	info   dataset.Info
	strict bool
	at     int              // the last episode that was read, or -1
	kept   *dataset.Episode // that episode, or nil if it is large
	ahead  *ahead           // reads the next episodes, or nil
	sets   [][]dataset.Column
	set    map[string]int // index in sets by stream name: the last columns of that stream
}

// columns returns the index in sets for the columns of a stream. Most episodes have the same columns.
func (r *recording) columns(s *dataset.Stream) int {
	at, known := r.set[s.Name]
	if known && dataset.SameColumns(r.sets[at], s.Columns) {
		return at
	}
	at = slices.IndexFunc(r.sets, func(list []dataset.Column) bool { return dataset.SameColumns(list, s.Columns) })
	if at < 0 {
		at = len(r.sets)
		r.sets = append(r.sets, s.Columns)
	}
	if r.set == nil {
		r.set = map[string]int{}
	}
	r.set[s.Name] = at
	return at
}

// ahead reads the following episodes in parallel.
type ahead struct {
	at   int // the number of the next episode
	next func() (*dataset.Episode, error, bool)
	stop func()
}

// rest is a dataset without its first episodes.
type rest struct {
	dataset.Dataset
	from int
}

func (r rest) Len() int { return r.Dataset.Len() - r.from }
func (r rest) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return r.Dataset.Episode(ctx, r.from+i)
}

type openRequest struct {
	Do
	Path string `json:"path"`
	dataset.Options
}

// opened is the reply to "open": the metadata of a dataset.
type opened struct {
	Handle     int                  `json:"handle"`
	Name       string               `json:"name"`
	Format     string               `json:"format"`
	Version    string               `json:"version"`
	Episodes   int                  `json:"episodes"`
	Frames     int                  `json:"frames"` // in all episodes; 0 if unknown
	Rate       float64              `json:"rate_hz"`
	RateFrom   string               `json:"rate_from"`
	Clock      string               `json:"clock"`
	Clocks     []string             `json:"clocks"`
	Numbers    []int                `json:"numbers,omitempty"` // the dataset's own of its episodes, whose places are what requests have
	Splits     map[string][]int     `json:"splits"`
	Features   []inspection.Feature `json:"features"`
	Tasks      []string             `json:"tasks"`
	Attributes map[string]string    `json:"attributes"`
	Problems   []inspection.Problem `json:"problems"`
}

func openRecording(ctx context.Context, c *Conn, r *Request, q openRequest) (*Reply, error) {
	at, err := storage.Find(q.Path)
	if err != nil {
		return nil, &RecordingError{Path: q.Path, Episode: -1, Err: err}
	}
	q.Path = at
	d, err := inspection.Open(ctx, q.Path, q.Options)
	if err != nil {
		return nil, &RecordingError{Path: q.Path, Episode: -1, Err: err}
	}
	s := &c.recordings
	if s.open == nil {
		s.open = map[int]*recording{}
		c.closing(s.close)
	}
	s.last++
	s.open[s.last] = &recording{Dataset: d, path: q.Path, info: d.Info(), strict: q.Strict, at: -1}
	info := s.open[s.last].info
	o := opened{Handle: s.last, Name: d.Name(), Format: d.Format(), Version: info.Version, Episodes: d.Len(), Frames: info.Frames, Rate: info.Rate,
		RateFrom: info.RateFrom, Clock: info.Clock, Clocks: append([]string{}, info.Clocks...), Numbers: info.Numbers, Splits: map[string][]int{},
		Features: inspection.Features(&info), Tasks: append([]string{}, info.Tasks...), Attributes: info.Attributes, Problems: inspection.Problems(info.Notes)}
	for _, p := range info.Splits {
		o.Splits[p.Name] = []int{}
		for _, place := range p.Episodes {
			o.Splits[p.Name] = append(o.Splits[p.Name], info.Number(place))
		}
	}
	return &Reply{Value: o}, nil
}

// of returns the recording with a handle and marks it as most recently used. If the handle is not open, the error is a *RequestError.
func (s *recordings) of(handle int) (*recording, error) {
	if r := s.open[handle]; r != nil {
		s.recent = slices.Insert(slices.DeleteFunc(s.recent, func(o *recording) bool { return o == r }), 0, r)
		if len(s.recent) > mostKept {
			s.recent[mostKept].forget()
			s.recent = slices.Delete(s.recent, mostKept, mostKept+1)
		}
		return r, nil
	}
	return nil, &RequestError{Arg: "handle", Got: fmt.Sprint(handle), Want: "for an open recording"}
}

// episode returns the recording with a handle and one of its episodes.
func (s *recordings) episode(ctx context.Context, handle, i int) (*recording, *dataset.Episode, error) {
	r, err := s.of(handle)
	if err != nil {
		return nil, nil, err
	}
	e, err := r.episode(ctx, i)
	return r, e, err
}

func (s *recordings) close() (err error) {
	for _, r := range s.open {
		err = errors.Join(err, r.Close())
	}
	s.open = nil
	return err
}

type closeRequest struct {
	Do
	Handles []int `json:"handles"`
}

// closeHandles handles "close": it closes the handles that are open.
func closeHandles(_ context.Context, c *Conn, _ *Request, q closeRequest) (_ *Reply, err error) {
	for _, h := range q.Handles {
		if r := c.recordings.open[h]; r != nil {
			delete(c.recordings.open, h)
			c.recordings.recent = slices.DeleteFunc(c.recordings.recent, func(o *recording) bool { return o == r })
			err = errors.Join(err, r.Close())
		}
		if p := c.policies[h]; p != nil {
			delete(c.policies, h)
			err = errors.Join(err, p.Close())
		}
	}
	return nil, err
}

// episode reads an episode, or returns the kept one. If requests are sequential, the next episodes are read ahead. ctx is the connection's
// context.
func (r *recording) episode(ctx context.Context, i int) (*dataset.Episode, error) {
	if r.kept != nil && r.at == i {
		return r.kept, nil
	}
	follows := i == r.at+1 && r.at >= 0 && i < r.Len()
	r.kept = nil // frees its memory before the next episode is read
	if r.ahead != nil && (r.ahead.at != i || !follows) {
		r.stopAhead()
	}
	if r.ahead == nil && follows {
		next, stop := iter.Pull2(dataset.ParallelWithin(ctx, rest{r.Dataset, i}, runtime.GOMAXPROCS(0), keptBytes))
		r.ahead = &ahead{i, next, stop}
	}
	var e *dataset.Episode
	var err error
	if r.ahead == nil {
		e, err = r.Episode(ctx, i)
	} else {
		var more bool
		e, err, more = r.ahead.next()
		r.ahead.at++
		var of *dataset.EpisodeError
		if errors.As(err, &of) { // its number counts from the first episode of ahead
			err = of.Err
		}
		if !more { // ctx has ended, because i is below Len
			err = context.Canceled
		}
	}
	r.at = i
	if err != nil {
		return nil, r.fails(i, err)
	}
	if e.Bytes() <= keptBytes {
		r.kept = e
	}
	return e, nil
}

// stopAhead stops reading ahead.
func (r *recording) stopAhead() {
	if r.ahead != nil {
		r.ahead.stop()
		r.ahead = nil
	}
}

// forget frees the episodes in memory.
func (r *recording) forget() {
	r.stopAhead()
	r.kept = nil
}

// Close stops reading ahead and closes the dataset.
func (r *recording) Close() error {
	r.stopAhead()
	return r.Dataset.Close()
}

// fails adds the path and the episode to an error. episode is -1 for all.
func (r *recording) fails(episode int, err error) error {
	if episode = r.info.Number(episode); r.Len() == 1 {
		episode = -1
	}
	return &RecordingError{Path: r.path, Episode: episode, Err: err}
}

type inspectRequest struct {
	Do
	Handle  int  `json:"handle"`
	Episode int  `json:"episode"` // -1 for all
	Columns bool `json:"columns"` // the text names each
}

// reply returns a reply with arrays, or the error for an episode.
func (r *recording) reply(episode int, what string, a *arrays, value any) (*Reply, error) {
	reply, err := a.reply(what, value)
	if err != nil {
		err = r.fails(episode, err)
	}
	return reply, err
}

// inspect handles "inspect": it returns the report of robocache inspect, as JSON and as text.
func inspect(ctx context.Context, c *Conn, r *Request) (*Reply, error) {
	q := inspectRequest{Episode: -1}
	if err := r.Decode(&q); err != nil {
		return nil, err
	}
	rec, err := c.recordings.of(q.Handle)
	if err != nil {
		return nil, err
	}
	if q.Episode >= rec.Len() {
		return nil, rec.fails(-1, &dataset.RangeError{What: "episode", Got: q.Episode, Len: rec.Len()})
	}
	rec.forget()
	found, _, err := inspection.Look(ctx, rec.path, rec, inspection.Options{Episode: q.Episode, Strict: rec.strict})
	if err != nil {
		return nil, rec.fails(q.Episode, err)
	}
	var text bytes.Buffer
	if err := found.Print(&text, q.Columns); err != nil {
		return nil, err
	}
	for _, line := range InspectionLines(found) {
		fmt.Fprintf(&text, "remark: %s\n", line)
	}
	return &Reply{Value: map[string]any{"report": InspectionReport{found, notetext.EpisodeEntries(found.Notes.List)}, "text": text.String()}}, nil
}

// InspectionReport is a report with the sentences of its notes.
type InspectionReport struct {
	*inspection.Report
	Entries []notetext.EpisodeEntry `json:"notes"`
}

// InspectionLines returns the lines of a report's notes, except notes about data that is left out, because Print writes these.
func InspectionLines(r *inspection.Report) []string {
	episodes := r.Episodes
	if r.Episode != nil {
		episodes = 1
	}
	others := slices.DeleteFunc(slices.Clone(r.Notes.List), func(n dataset.EpisodeNote) bool { return n.Note.Code.Class() == dataset.ClassLeftOut })
	return notetext.EpisodeLines(others, episodes)
}

type statsRequest struct {
	Do
	DType string `json:"dtype"`
}

// stats handles "stats": it returns the statistics of the timestamps in the blob. The request's "dtype" is their dtype.
func stats(_ context.Context, _ *Conn, r *Request, q statsRequest) (*Reply, error) {
	times, err := timesOf("dtype", q.DType, r.Blob)
	if err != nil {
		return nil, err
	}
	s := dataset.Stream{Times: times}
	st := s.Stats()
	return &Reply{Value: map[string]any{
		"samples": st.Samples, "first_ns": st.First, "last_ns": st.Last, "rate_hz": st.Rate, "median_ns": st.Median, "jitter_ns": st.Jitter, "gaps": st.Gaps,
		"longest_gap_ns": st.LongestGap, "duplicates": st.Duplicates, "back_steps": st.BackSteps,
	}}, nil
}

// timesOf returns the timestamps in a blob, little endian. arg is the name of the field with their dtype, for errors.
func timesOf(arg, dtype string, blob []byte) (*tensor.Tensor, error) {
	t, err := tensor.ParseDType(dtype)
	if err != nil || t != tensor.I64 && t != tensor.F64 && t != tensor.F32 {
		return nil, &RequestError{Arg: arg, Got: fmt.Sprintf("%q", dtype), Want: "i64, f64 or f32"}
	}
	n := len(blob) / t.Size()
	if n*t.Size() != len(blob) {
		return nil, &RequestError{Arg: "blob", Got: fmt.Sprintf("%d bytes", len(blob)), Want: fmt.Sprintf("a multiple of %d", t.Size())}
	}
	switch t {
	case tensor.I64:
		return numbers(make([]int64, n), blob)
	case tensor.F64:
		return numbers(make([]float64, n), blob)
	}
	return numbers(make([]float32, n), blob)
}

func numbers[T tensor.Element](list []T, blob []byte) (*tensor.Tensor, error) {
	if _, err := binary.Decode(blob, binary.LittleEndian, list); err != nil {
		return nil, err
	}
	return tensor.Of(list, len(list))
}
