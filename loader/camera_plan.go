package loader

import (
	"cmp"
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

// filming is what a plan says of cameras.
type filming struct {
	cameras []Camera
	streams []align.Stream // of each, as the plan names it
	whole   align.Plan     // with the cameras: its windows are those of all
	plans   []align.Plan   // of each: of its frames' numbers
	shapes  [][5]int       // of each camera's frames in a batch: [B,T,H,W,3]
	seen    []string       // media streams of the episodes
	why     []noFrames     // of each camera, the first episode that has left it out, if there is one
}

// noFrames is why an episode has no frames of a camera.
type noFrames struct {
	episode string
	note    dataset.Note
}

// split takes the cameras out of a plan: what is left names streams of numbers.
func split(plan align.Plan, cameras []Camera) (align.Plan, *filming, error) {
	f := &filming{cameras: cameras, whole: plan, why: make([]noFrames, len(cameras))}
	all := len(plan.Streams) == 0
	plan.Windows = maps.Clone(plan.Windows)
	plan.Padding, plan.PadAfter = "", ops.Limit{} // which is of all windows: see anchors
	frames := plan                                // of a camera's numbers
	frames.Windows, frames.Filter, frames.Range, frames.Rate = nil, dataset.Filter{}, align.Range{}, 0
	frames.Targets = tensor.Must(tensor.Of([]int64{0}, 1))
	for i, c := range cameras {
		if c.Height < 1 || c.Width < 1 || c.Name == "" || slices.ContainsFunc(cameras[:i], func(o Camera) bool { return o.Name == c.Name }) {
			return plan, nil, refuse(fmt.Sprintf("Cameras[%d]", i), fmt.Sprintf("%q, %dx%d", c.Name, c.Height, c.Width), "a name of its own, and a size of one pixel or more")
		}
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
			return plan, nil, refuse("plan.streams."+c.Name+".kind", s.Kind, "previous, nearest or next: there is nothing between two frames")
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
		return plan, nil, refuse("plan.streams", "cameras alone", "a stream of numbers, over which anchors are")
	}
	return plan, f, f.whole.Check()
}

// filmed are the frames of an episode, as numbers on a clock.
type filmed struct {
	streams []prepared.Stream
	leftOut dataset.Notes  // cameras of it that have no place on a clock
	media   []string       // the names of its media streams
	why     []dataset.Note // of each camera, why it has no frames, if it says so
}

// film finds an episode's frames.
func (f *filming) film(e *dataset.Episode, strict bool) (*filmed, error) {
	out := &filmed{streams: make([]prepared.Stream, len(f.streams)), why: make([]dataset.Note, len(f.streams))}
	for _, m := range e.Media {
		out.media = append(out.media, m.Name)
	}
	for i, s := range f.streams {
		name := f.from(i)
		if n := e.Notes.LeftOut(name); n != nil {
			out.why[i] = *n
		}
		media := e.MediaStream(name)
		if media == nil || len(media.Times) == 0 {
			continue
		}
		numbers := make([]float64, len(media.Times))
		for j := range numbers {
			numbers[j] = float64(j)
		}
		frames, err := tensor.Of(numbers, len(numbers), 1)
		if err != nil {
			return nil, err
		}
		stream, err := dataset.NewStream(name, media.Times, frames, nil)
		if err != nil {
			return nil, err
		}
		p, err := (&align.Preparer{Plan: f.plans[i]}).Prepare(&dataset.Episode{Streams: []dataset.Stream{stream}})
		switch {
		case err != nil && (strict || fatal(err)):
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

// none says why no episode has frames of a camera.
func (f *filming) none(camera int) error {
	if why := f.why[camera]; why.note.Code != "" {
		return &store.MediaError{Media: f.from(camera), Episode: why.episode, Note: why.note}
	}
	return store.UnknownMedia(fmt.Sprintf("Cameras[%d]", camera), f.from(camera), f.seen)
}

// from is a camera's name in the recordings.
func (f *filming) from(camera int) string {
	return cmp.Or(f.streams[camera].From, f.cameras[camera].Name)
}

// tell takes up which media streams an episode has, and why it has no frames of a camera.
func (f *filming) tell(episode string, film *filmed) {
	for _, name := range film.media {
		if !slices.Contains(f.seen, name) {
			f.seen = append(f.seen, name)
		}
	}
	for i, why := range film.why {
		if f.why[i].note.Code == "" {
			f.why[i] = noFrames{episode, why}
		}
	}
	film.media, film.why = nil, nil
}
