package convert

import (
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/tensor"
)

// arranged is an episode and a plan in the form that package align takes. Each camera is a stream of frame numbers, so that the plan's
// clock, kinds, gaps and tolerances apply to it as to any stream. An offset in the plan is added to the stream's times and removed from
// the plan.
type arranged struct {
	episode *dataset.Episode
	plan    align.Plan
	origin  map[string]source // the recorded stream, by the stream's name in episode
	names   map[string]string // names of streams in episode, by their names in the output; only renamed streams
}

// source is the recorded stream or camera that a stream in an arranged episode was made from.
type source struct {
	name    string // in the recording
	samples int
	media   *dataset.Media // nil for a stream of numbers
}

func (a *arranged) from(name string) source {
	if in, renamed := a.names[name]; renamed {
		name = in
	}
	return a.origin[name]
}

// arrange returns a recording and the conversion's plan in the form that package align takes. A camera method that needs values between
// two frames, for example linear, is an *OptionError.
func (c *Conversion) arrange(e *dataset.Episode) (*arranged, error) {
	own := *e
	own.Streams, own.Media, own.Clouds = slices.Clone(e.Streams), nil, nil
	a := &arranged{episode: &own, plan: *c.opt.Plan, origin: map[string]source{}, names: map[string]string{}}
	for i := range own.Streams {
		a.origin[own.Streams[i].Name] = source{own.Streams[i].Name, own.Streams[i].Len(), nil}
	}
	clock := tensor.I64
	if len(own.Streams) > 0 {
		clock = own.Streams[0].Times.DType()
	}
	named := len(a.plan.Streams) > 0
	var keep []int // indexes in the plan's streams, without cameras that are not selected
	for k := range a.plan.Streams {
		if s := &a.plan.Streams[k]; e.MediaStream(s.Source()) == nil || c.wantsMedia(s.Source()) {
			keep = append(keep, k)
		}
	}
	a.plan = a.plan.Pick(keep...)
	a.plan.Streams = slices.Clone(a.plan.Streams)
	for i := range e.Media {
		m := &e.Media[i]
		if !c.wantsMedia(m.Name) || m.Len() == 0 || a.origin[m.Name].name != "" {
			continue
		}
		s, err := numbers(m, clock)
		if err != nil {
			return nil, err
		}
		own.Streams = append(own.Streams, s)
		a.origin[m.Name] = source{m.Name, m.Len(), m}
		k := slices.IndexFunc(a.plan.Streams, func(s align.Stream) bool { return s.Source() == m.Name })
		if k >= 0 {
			s := &a.plan.Streams[k]
			if s.Kinds == nil {
				s.Kinds = noKinds
			}
			if s.Normalise = "none"; !slices.Contains(frameKinds, s.Kind) || len(s.Kinds)+len(s.Columns) > 0 {
				got := fmt.Sprintf("method %q for the camera %s, or its columns", s.Kind, s.Name)
				return nil, refuse("Plan", got, "previous, nearest or next: there is nothing between two frames")
			}
		} else if named {
			a.plan.Streams = append(a.plan.Streams, align.Stream{Name: m.Name, Sampling: align.Sampling{Kind: "previous", Kinds: noKinds, Normalise: "none"}})
		}
	}
	if err := a.shift(); err != nil {
		return nil, err
	}
	for i := range a.plan.Streams {
		if s := &a.plan.Streams[i]; s.Name != s.Source() {
			a.names[s.Name] = s.Source()
		}
	}
	return a, nil
}

// shift adds the plan's offsets to the streams' times. If the plan takes one stream with several offsets, the episode gets a copy for each.
func (a *arranged) shift() error {
	if len(a.plan.Streams) == 0 {
		by := a.plan.Defaults.Offset
		a.plan.Defaults.Offset = 0
		for i := range a.episode.Streams {
			if err := later(&a.episode.Streams[i], by); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range a.plan.Streams {
		s := &a.plan.Streams[i]
		by := a.plan.OffsetOf(i)
		s.Offset = 0
		recorded := a.episode.Stream(s.Source())
		if by == 0 || recorded == nil {
			continue
		}
		moved := *recorded
		moved.Name = fmt.Sprintf("%s (offset %v)", recorded.Name, by)
		if err := later(&moved, by); err != nil {
			return err
		}
		a.origin[moved.Name] = a.origin[recorded.Name]
		if a.episode.Stream(moved.Name) == nil {
			a.episode.Streams = append(a.episode.Streams, moved)
		}
		s.From = moved.Name
	}
	a.plan.Defaults.Offset = 0
	return nil
}

// later adds a duration to a stream's times.
func later(s *dataset.Stream, by time.Duration) (err error) {
	s.Times, err = clocks.Shifted(s.Times, by)
	return err
}

// Unwritten returns the names of streams and cameras that Options.Media or the plan requests, if no episode in the output has them. shards
// are the reports of all shards.
func Unwritten(shards []*Report, opt Options) (names []string) {
	asked := slices.Clone(opt.Media)
	if opt.Plan != nil {
		for i := range opt.Plan.Streams {
			s := &opt.Plan.Streams[i]
			if k := slices.Index(asked, s.Source()); k >= 0 {
				asked[k] = s.Name
			} else if !slices.ContainsFunc(shards, func(r *Report) bool { return opt.Media != nil && r.isMedia(s.Source()) }) { // Options.Media leaves such cameras out
				asked = append(asked, s.Name)
			}
		}
	}
	for _, name := range asked {
		written := func(r *Report) bool {
			return slices.ContainsFunc(r.Streams, func(a StreamAccount) bool { return a.Name == name && a.Rows > 0 })
		}
		if name != "" && !slices.ContainsFunc(shards, written) {
			names = append(names, name)
		}
	}
	return names
}

// isMedia reports whether the name is the name of a media stream in the shard.
func (r *Report) isMedia(name string) bool {
	return slices.ContainsFunc(r.Streams, func(a StreamAccount) bool { return a.Name == name && a.Kind == mediaKind })
}
