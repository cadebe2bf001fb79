package loader

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Camera is a media stream whose frames a batch has, decoded and resized. Which frame a target gets is said by the plan, as of any stream: its
// window, its edge, gaps and tolerance, and its kind, which is previous unless given, or nearest or next.
type Camera struct {
	Name   string `json:"name"`   // in the batch, in the plan, and in the recordings unless the plan says From
	Height int    `json:"height"` // pixels that its frames are resized to: see dataset.Resize
	Width  int    `json:"width"`
}

// CameraReport is a camera of the batches.
type CameraReport struct {
	Name    string `json:"name"`
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Targets int    `json:"targets"` // of a window
	Frames  int    `json:"frames"`  // of the episodes that windows are drawn from
	Empty   int    `json:"empty"`   // episodes without frames of it
	Bad     int    `json:"bad"`     // targets of the batches that were made whose frames could not be decoded: they are black and not valid
	// FirstBad is what was wrong with the first of them; empty without one.
	FirstBad string `json:"first_bad"`
}

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

// noFrame is the number of the frame that a target without one gets.
const noFrame = -1

// filmed are the frames of an episode, as numbers on a clock.
type filmed struct {
	streams []align.PreparedStream
	leftOut dataset.Notes  // cameras of it that have no place on a clock
	media   []string       // the names of its media streams
	why     []dataset.Note // of each camera, why it has no frames, if it says so
}

// film finds an episode's frames.
func (f *filming) film(e *dataset.Episode, strict bool) (*filmed, error) {
	out := &filmed{streams: make([]align.PreparedStream, len(f.streams)), why: make([]dataset.Note, len(f.streams))}
	media := e.Media
	for _, m := range media {
		out.media = append(out.media, m.Name)
	}
	for i, s := range f.streams {
		name := f.from(i)
		if n := e.Notes.LeftOut(name); n != nil {
			out.why[i] = *n
		}
		k := slices.IndexFunc(media, func(m dataset.Media) bool { return m.Name == name })
		if k < 0 || len(media[k].Times) == 0 {
			continue
		}
		numbers := make([]float64, len(media[k].Times))
		for j := range numbers {
			numbers[j] = float64(j)
		}
		frames, err := tensor.Of(numbers, len(numbers), 1)
		if err != nil {
			return nil, err
		}
		stream, err := dataset.NewStream(name, media[k].Times, frames, nil)
		if err != nil {
			return nil, err
		}
		p, err := align.Prepare(&dataset.Episode{Streams: []dataset.Stream{stream}}, f.plans[i])
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

// numbers makes the loader of frames' numbers, on the CPU: which frame a target gets is what Resample says of them.
func (f *filming) numbers(ctx context.Context, cpu *ops.Device, l *Loader, c *chosen) (*Loader, error) {
	n := &Loader{device: cpu, order: l.order, age: l.age}
	l.held.add(n)
	for i, s := range f.streams {
		p := part{name: s.Name, columns: []dataset.Column{{Name: "frame"}}, packed: tensor.F64, dtype: tensor.F64, width: 1, clock: i, offsets: []int64{0}}
		var err error
		if p.deltas, err = deltasOf(&f.whole, s.Name); err != nil {
			return nil, err
		}
		r := CameraReport{Name: s.Name, Height: f.cameras[i].Height, Width: f.cameras[i].Width, Targets: len(p.deltas)}
		var rows []row
		for _, film := range c.films {
			s := &film.streams[i]
			if s.Values == nil {
				r.Empty++
			} else {
				rows = append(rows, row{s.Values, s.Times})
				r.Frames += s.Len()
				if len(rows) == 1 {
					p.how, p.options = s.How, s.Options
					p.options.Fill = ops.FillWith(noFrame)
				}
			}
			p.offsets = append(p.offsets, int64(r.Frames))
		}
		if r.Frames == 0 {
			return nil, f.none(i)
		}
		if p.values, p.times, err = joined(rows, 1, r.Frames, tensor.F64); err != nil {
			return nil, err
		}
		n.parts = append(n.parts, p)
		l.report.Cameras = append(l.report.Cameras, r)
	}
	if err := n.upload(ctx, c, true); err != nil {
		return nil, err
	}
	n.held.add(n.feed)
	return n, n.plan(ctx)
}
