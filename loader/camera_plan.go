package loader

import (
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cameraPlan holds a plan's cameras, with their streams and windows.
type cameraPlan struct {
	cameras []Camera
	streams []align.Stream // one a camera, as in the plan
	whole   align.Plan     // with the cameras: its windows include theirs
	plans   []align.Plan   // one a camera, over its frame numbers
	options []ops.FramesOptions
	names   []string   // the episodes' media streams
	why     []noFrames // one a camera: the first episode that leaves it out, if any
}

// noFrames explains why an episode lacks a camera's frames.
type noFrames struct {
	episode string
	note    dataset.Note
}

// split returns the plan without its cameras, and the cameras' own plans. The error is an *OptionError if a camera is invalid.
func split(plan align.Plan, cameras []Camera, seed uint64) (align.Plan, *cameraPlan, error) {
	f := &cameraPlan{cameras: slices.Clone(cameras), whole: plan, why: make([]noFrames, len(cameras))}
	all := len(plan.Streams) == 0
	plan.Windows = maps.Clone(plan.Windows)
	plan.Padding, plan.PadAfter = "", ops.Limit{} // they apply to all windows: see anchors
	frames := plan                                // the plan of a camera's frame numbers
	frames.Windows, frames.Filter, frames.Range, frames.Rate = nil, dataset.Filter{}, align.Range{}, 0
	frames.Targets = tensor.Must(tensor.Of([]int64{0}, 1))
	for i, c := range cameras {
		arg := fmt.Sprintf("Cameras[%d]", i)
		options, err := f.cameras[i].check(arg, seed)
		if err != nil {
			return plan, nil, err
		}
		if slices.ContainsFunc(cameras[:i], func(o Camera) bool { return o.Name == c.Name }) {
			return plan, nil, refuse(arg, fmt.Sprintf("%q twice", c.Name), "its own name")
		}
		f.options = append(f.options, options)
		delete(plan.Windows, c.Name)
		s, own := align.Stream{Name: c.Name}, frames.Pick()
		if k := slices.IndexFunc(plan.Streams, func(s align.Stream) bool { return s.Name == c.Name }); k >= 0 {
			s, own = plan.Streams[k], frames.Pick(k)
		}
		switch s.Kind {
		case "":
			s.Kind = "previous"
		case "previous", "nearest", "next":
		default:
			return plan, nil, refuse("plan.streams."+c.Name+".method", s.Kind, "previous, nearest or next: there is nothing between two frames")
		}
		s.Normalise, s.DType = "none", tensor.F64
		if !all && !slices.ContainsFunc(f.whole.Streams, func(o align.Stream) bool { return o.Name == c.Name }) {
			f.whole.Streams = append(slices.Clip(f.whole.Streams), s)
		}
		own.Streams = []align.Stream{s}
		f.streams, f.plans = append(f.streams, s), append(f.plans, own)
	}
	var others []int
	for i := range plan.Streams {
		if !slices.ContainsFunc(cameras, func(c Camera) bool { return c.Name == plan.Streams[i].Name }) {
			others = append(others, i)
		}
	}
	plan = plan.Pick(others...)
	if !all && len(plan.Streams) == 0 {
		return plan, nil, refuse("plan.streams", "cameras alone", "a stream of numbers, to place anchors over")
	}
	return plan, f, f.whole.Check()
}

// frameStreams are an episode's camera frames. For each camera there is a stream of frame numbers, on the camera's clock.
type frameStreams struct {
	streams []prepared.Stream
	leftOut dataset.Notes  // cameras that Prepare refuses
	counts  []int          // one a camera: all its frames
	media   []string       // names of all media streams
	why     []dataset.Note // one a camera, if the recording explains why it has no frames
}

// findFrames returns an episode's camera frames as streams of frame numbers. If the plan cannot use a camera's frames, the camera is left
// out with a note; with strict that is an error.
func (f *cameraPlan) findFrames(e *dataset.Episode, place int, strict bool) (*frameStreams, error) {
	n := len(f.streams)
	out := &frameStreams{media: e.MediaNames(), streams: make([]prepared.Stream, n), counts: make([]int, n), why: make([]dataset.Note, n)}
	for i, s := range f.streams {
		name := f.from(i, place)
		if n := e.Notes.LeftOut(name); n != nil {
			out.why[i] = *n
		}
		media := e.MediaStream(name)
		if media == nil || len(media.Times) == 0 {
			continue
		}
		out.counts[i] = media.Len()
		numbers := make([]float64, len(media.Times))
		for j := range numbers {
			numbers[j] = float64(j)
		}
		frames, err := tensor.Of(numbers, len(numbers), 1)
		if err != nil {
			return nil, err
		}
		stream, err := dataset.NewStream(s.Source(), media.Times, frames, nil)
		if err != nil {
			return nil, err
		}
		p, err := (&align.Preparer{Plan: f.plans[i]}).Prepare(&dataset.Episode{Streams: []dataset.Stream{stream}})
		switch {
		case err != nil && (strict || isFatal(err)):
			return nil, err
		case err != nil:
			out.why[i] = dataset.Note{Code: dataset.CodeCameraRefused, Subject: e.Name, Detail: dataset.Detail{Got: s.Name, Cause: err}}
			out.leftOut = append(out.leftOut, out.why[i])
		default:
			out.streams[i] = p.Streams[0]
		}
	}
	return out, nil
}

// none returns the error for a camera without frames in any episode.
func (f *cameraPlan) none(camera int) error {
	if why := f.why[camera]; why.note.Code != "" {
		return &store.MediaError{Media: f.from(camera, 0), Episode: why.episode, Note: why.note}
	}
	return store.UnknownMedia(fmt.Sprintf("Cameras[%d]", camera), f.from(camera, 0), f.names)
}

// from returns a camera's name in the recordings of a dataset.
func (f *cameraPlan) from(camera, place int) string {
	if name := f.cameras[camera].NameIn(place); name != f.cameras[camera].Name {
		return name
	}
	return f.streams[camera].Source()
}

// record adds an episode's media streams, and the reasons for missing frames.
func (f *cameraPlan) record(episode string, film *frameStreams) {
	for _, name := range film.media {
		if !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
	for i, why := range film.why {
		if f.why[i].note.Code == "" {
			f.why[i] = noFrames{episode, why}
		}
	}
	film.media, film.why = nil, nil
}
