package batching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// Plan returns the plan of the plan file, or a plan made from the arguments. If neither sets a rate, it has the dataset's rate. An invalid
// plan file is an *align.PlanError, an unreadable one an *InputError, and an invalid argument an *OptionError.
func (s *Source) Plan(ctx context.Context) (align.Plan, error) {
	if s.planned() {
		p, err := s.readPlan()
		var bad *align.PlanError
		if err != nil && !errors.As(err, &bad) {
			err = ReadError(s.PlanFile, err)
		}
		if err == nil {
			p.Streams = s.withoutCameras(p.Streams)
			err = s.rowFrames(ctx, &p)
		}
		if err == nil && len(p.Windows) == 0 {
			s.watch.note(dataset.CodeWindowsNone, "", dataset.Detail{Want: "{action: [0s, 1s]}"})
		}
		return p, err
	}
	p := align.Plan{Rate: s.Hz, Shuffle: "windows", Unordered: s.Unordered, Windows: map[string]align.Window{}}
	if s.Streaming || s.ShardWindows != 0 || s.MixShards != 0 {
		p.Shuffle = "shards"
	}
	p.Shuffle = cmp.Or(s.Shuffle, p.Shuffle)
	if rule := s.Normalise.All; rule != nil {
		p.Defaults.Normalise = *rule
	}
	if gap := s.MaxGap.All; gap != nil {
		p.Defaults.MaxGap = gap.limit()
	}
	if p.Rate == 0 {
		info := s.Data.Info()
		if info.Rate == 0 {
			return p, refusef("hz", fmt.Sprintf("the clock's rate, or %s: %s declares no rate; or %s, if it counts steps", s.Spell.of("plan"), s.Paths[0], s.Spell.of("rate")), "none")
		}
		p.Rate = info.Rate
		s.watch.note(dataset.CodeRateDeclared, "", dataset.Detail{Got: fmt.Sprint(p.Rate), Names: []string{s.Spell.of("hz")}})
	}
	p.Streams = slices.Clone(s.Streams)
	var names []string
	if len(s.Streams) == 0 {
		var err error
		if names, err = s.names(ctx); err != nil {
			return p, err
		}
		for _, name := range names {
			p.Streams = append(p.Streams, align.Stream{Name: name})
		}
	}
	for _, t := range s.Streams {
		names = append(names, t.Name)
	}
	all := slices.Clone(names)
	for _, name := range names {
		if recognise.IsAction(name) && !s.AnchorAlone {
			p.Windows[name] = align.Window{To: time.Second}
		}
	}
	for _, c := range s.Cameras {
		all = append(all, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Windows)) {
		if !slices.Contains(all, name) {
			return p, noStream("windows", name, all)
		}
		p.Windows[name] = s.Windows[name]
	}
	if err := s.rowFrames(ctx, &p); err != nil {
		return p, err
	}
	return p, errors.Join(s.Normalise.each(p.Streams, "normalise", func(to *align.Stream, rule string) { to.Normalise = rule }),
		s.MaxGap.each(p.Streams, "max_gap", func(to *align.Stream, gap Seconds) { to.MaxGap = gap.limit() }))
}

// rowFrames sets the sampling of cameras whose frames are chosen by Options.VideoBackend, unless the plan does: a target has the frame of
// the nearest row within the tolerance. The limit is below half a row's time, so that no target has the frame of a row's neighbour.
func (s *Source) rowFrames(ctx context.Context, p *align.Plan) error {
	if s.VideoBackend == "" || len(s.Cameras) == 0 {
		return nil
	}
	if len(p.Streams) == 0 {
		names, err := s.names(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			p.Streams = append(p.Streams, align.Stream{Name: name})
		}
	}
	within := s.FrameTolerance()
	if rate := s.Data.Info().Rate; rate > 0 {
		within = min(within, 0.49/rate)
	}
	for _, c := range s.Cameras {
		i := slices.IndexFunc(p.Streams, func(t align.Stream) bool { return t.Name == c.Name })
		if i < 0 {
			i, p.Streams = len(p.Streams), append(p.Streams, align.Stream{Name: c.Name})
		}
		if how := &p.Streams[i].Sampling; how.Kind == "" {
			how.Kind, how.Tolerance = "nearest", ops.Within(time.Duration(within*1e9))
		}
	}
	return nil
}

// noStream returns the *OptionError for an unknown stream in an argument.
func noStream(arg, name string, names []string) error {
	return refusef(arg, "one of "+text.Closest(name, names), "stream %q%s", name, text.DidYouMean(name, names))
}

// withoutCameras returns the streams except the ones that the dataset declares as cameras and Options.Cameras lacks, with a note for each.
// A plan file may have them for a conversion; batches take cameras from Options.Cameras.
func (s *Source) withoutCameras(streams []align.Stream) []align.Stream {
	info := s.Data.Info()
	return slices.DeleteFunc(slices.Clone(streams), func(w align.Stream) bool {
		name := w.Source()
		camera := w.Points == nil && info.DeclaresMedia(name) && !slices.ContainsFunc(s.Cameras, func(c loader.Camera) bool { return c.Name == w.Name })
		if camera {
			s.watch.note(dataset.CodePlanCamera, w.Name, dataset.Detail{Got: name, Names: []string{s.Spell.of("cameras")}})
		}
		return camera
	})
}

// readPlan reads the plan file.
func (s *Source) readPlan() (align.Plan, error) {
	if s.PlanText != "" {
		return planfile.Parse(cmp.Or(s.PlanFile, "plan"), []byte(s.PlanText))
	}
	return planfile.Read(s.PlanFile)
}

// names returns a store's stream names, or those in a dataset's first readable episode.
func (s *Source) names(ctx context.Context) (names []string, err error) {
	if s.Store != nil {
		for _, stream := range s.Store.Streams {
			names = append(names, stream.Name)
		}
		return names, nil
	}
	for e, failed := range dataset.Episodes(ctx, s.Data) {
		if failed == nil {
			return e.Names(), nil
		}
		if err = errors.Join(err, failed); dataset.IsFatal(failed) {
			break
		}
	}
	return nil, ReadError(s.Paths[0], err)
}

// Explain converts a loader's error: it returns an *InputError with the path, or an *OptionError with the argument's JSON name. All other
// errors stay.
func (r *Request) Explain(err error) error {
	var option *OptionError
	var empty *loader.EmptyError
	var missing *clocks.MissingError
	var mixture *loader.MixtureError
	var camera *loader.CameraError
	var media *store.MediaError
	var lacking *loader.LackingError
	var placed *clocks.InPlanError
	errors.As(err, &placed)
	switch {
	case errors.As(err, &lacking):
		msg := "episode " + lacking.Episode + " has no samples"
		if lacking.All {
			msg = "no episode has samples to draw: episode " + lacking.Episode
		}
		return &InputError{Path: r.Paths[lacking.Dataset], Plan: placed, Stream: lacking.Stream, Msg: msg, Err: &dataset.NoteError{Note: lacking.Note}}
	case errors.As(err, &mixture) && mixture.What == "weight":
		return &OptionError{Arg: "weights", Got: mixture.Got, Want: mixture.Want}
	case errors.As(err, &mixture):
		return &InputError{Path: r.Paths[mixture.Store], Err: err}
	case errors.As(err, &option):
		return r.argument(option)
	case errors.As(err, &camera):
		return &InputError{Path: strings.Join(r.Paths, ", "), Stream: camera.Camera, Msg: "episode " + camera.Episode, Err: camera.Err}
	case errors.As(err, &media):
		return (&Packing{Path: r.Paths[0]}).Explain(err)
	case errors.As(err, &empty) && empty.Steps():
		return &InputError{Path: r.Paths[0], Err: r.wantRate(err)}
	case errors.As(err, &missing) && placed != nil:
		return &InputError{Path: r.Paths[0], Plan: placed, Err: missing}
	case errors.As(err, &empty), errors.As(err, &missing):
		return &InputError{Path: r.Paths[0], Err: err}
	}
	return r.noRoom(err)
}

// argument converts the error for a loader option or a plan key to an error that names its source: the argument, or the plan file.
func (r *Request) argument(err *OptionError) error {
	key, inPlan := strings.CutPrefix(err.Arg, "plan.")
	stream, window := strings.CutPrefix(key, "windows.")
	field, _, _ := strings.Cut(key, "[") // for example Cameras[0]
	switch {
	case inPlan && r.planned():
		return &InputError{Path: r.PlanFile, Msg: key, Got: err.Got, Want: err.Want}
	case window:
		return &OptionError{Arg: "windows", Got: stream + "=" + err.Got, Want: err.Want}
	case field == "Statistics":
		return &OptionError{Arg: "statistics" + strings.TrimPrefix(key, field), Got: err.Got, Want: err.Want}
	}
	return &OptionError{Arg: argument(field), Got: err.Got, Want: err.Want}
}

// noRoom adds the options that need less memory to an error about memory. All other errors stay.
func (r *Request) noRoom(err error) error {
	var room *loader.RoomError
	var memory *ops.MemoryError
	var frames *loader.FramesError
	switch {
	case errors.As(err, &frames): // streaming does not change it
		return fmt.Errorf("%s: %w", r.Spell.of("cameras"), err)
	case errors.As(err, &room) && room.FitMix > 0:
		return fmt.Errorf("%w; want %s %d and %s %d, which are another order", err, r.Spell.of("mix_shards"), room.FitMix, r.Spell.of("shard_windows"), room.FitWindows)
	case errors.As(err, &memory) && !r.Streaming:
		return fmt.Errorf("%w; %s keeps a small part of the dataset there and reads the rest meanwhile", err, r.Spell.of("streaming"))
	}
	return err
}

// Unreadable returns an *InputError if a batch failed because an episode cannot be read. All other errors stay.
func (r *Request) Unreadable(err error) error {
	var episode *dataset.EpisodeError
	if errors.As(err, &episode) {
		return &InputError{Path: r.Paths[0], Err: err}
	}
	return err
}
