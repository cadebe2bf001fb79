package batching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/near"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// Plan is the plan file, or what the options say; the rate that the dataset declares, where nothing else does.
func (s *Source) Plan(ctx context.Context) (align.Plan, error) {
	if s.PlanFile != "" {
		p, err := s.readPlan()
		var bad *align.PlanError
		if err != nil && !errors.As(err, &bad) {
			err = ReadError(s.PlanFile, err)
		}
		if err == nil {
			p.Streams = s.withoutCameras(p.Streams)
		}
		if err == nil && len(p.Windows) == 0 {
			s.watch.remark("the plan has no windows, so all streams have the anchor alone: windows: {action: [0s, 1s]} would give action a second")
		}
		return p, err
	}
	p := align.Plan{Rate: s.Hz, Shuffle: "windows", Unordered: s.Unordered, Windows: map[string]align.Window{}, Defaults: s.Defaults}
	if s.Streaming || s.Loader.ShardWindows != 0 || s.Loader.MixShards != 0 {
		p.Shuffle = "shards"
	}
	p.Shuffle = cmp.Or(s.Shuffle, p.Shuffle)
	if p.Rate == 0 {
		info := s.Data.Info()
		if info.Rate == 0 {
			return p, Usagef("no clock given, want --hz or --plan: %s declares no rate; or --rate, if it counts steps", s.Path)
		}
		p.Rate = info.Rate
		s.watch.remark("the clock has %g Hz, as the dataset has; --hz takes another", p.Rate)
	}
	p.Streams = slices.Clone(s.Taken)
	var names []string
	if len(s.Taken) == 0 {
		var err error
		if names, err = s.names(ctx); err != nil {
			return p, err
		}
		for _, name := range names {
			p.Streams = append(p.Streams, align.Stream{Name: name})
		}
	}
	for _, t := range s.Taken {
		names = append(names, t.Name)
	}
	for _, name := range names {
		if align.IsAction(name) {
			p.Windows[name] = align.Window{To: time.Second}
		}
	}
	at := func(flag, name string) (*align.Stream, error) {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, Usagef("--%s: got stream %q%s, want one of %s", flag, name, near.DidYouMean(name, names), strings.Join(names, ", "))
		}
		return &p.Streams[i], nil
	}
	for name, rule := range s.Normalise {
		stream, err := at("normalise", name)
		if err != nil {
			return p, err
		}
		stream.Normalise = rule
	}
	for name, gap := range s.MaxGaps {
		stream, err := at("max-gap", name)
		if err != nil {
			return p, err
		}
		stream.MaxGap = ops.Within(gap)
	}
	all := slices.Clone(names)
	for _, c := range s.Cameras {
		all = append(all, c.Name)
	}
	for _, w := range s.Windows {
		if !slices.Contains(all, w.Name) {
			return p, Usagef("--window: got stream %q%s, want one of %s", w.Name, near.DidYouMean(w.Name, all), strings.Join(all, ", "))
		}
		p.Windows[w.Name] = w.Window
	}
	return p, nil
}

// withoutCameras passes over the streams of a plan that the dataset declares as cameras: a conversion takes them, and batches have Cameras.
func (s *Source) withoutCameras(streams []align.Stream) []align.Stream {
	info := s.Data.Info()
	return slices.DeleteFunc(slices.Clone(streams), func(w align.Stream) bool {
		name := cmp.Or(w.From, w.Name)
		camera := info.DeclaresMedia(name)
		if camera {
			s.watch.remark("the plan's stream %s is a camera, which batches have by --camera %s=WIDTHxHEIGHT", w.Name, name)
		}
		return camera
	})
}

// readPlan reads the plan file.
func (s *Source) readPlan() (align.Plan, error) {
	if s.PlanText != nil {
		return align.ParsePlan(s.PlanFile, s.PlanText)
	}
	return align.ReadPlan(s.PlanFile)
}

// names returns those of the streams: of a dataset that is no store those of the first episode that can be read.
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
		err = errors.Join(err, failed)
	}
	return nil, ReadError(s.Path, err)
}

// Explain says what an error of the loader means for whoever asked for the batches.
func (r *Request) Explain(err error) error {
	var option *loader.OptionError
	var empty *loader.EmptyError
	var missing *align.MissingError
	var mixture *loader.MixtureError
	var camera *loader.CameraError
	var media *loader.MediaError
	var lacking *loader.LackingError
	var placed *align.InPlanError
	errors.As(err, &placed)
	switch {
	case errors.As(err, &lacking):
		msg := "episode " + lacking.Episode + " has no samples of it"
		if lacking.All {
			msg = "none of the episodes has samples of it to draw: episode " + lacking.Episode
		}
		return &InputError{Path: r.Paths()[lacking.Dataset], Plan: placed, Stream: lacking.Stream, Msg: msg, Err: &dataset.NoteError{Note: lacking.Note}}
	case errors.As(err, &mixture) && mixture.What == "weight":
		return Usagef("--weight: got %s, want %s", mixture.Got, mixture.Want)
	case errors.As(err, &mixture):
		return &InputError{Path: r.Paths()[mixture.Store], Err: err}
	case errors.As(err, &option):
		name := strings.TrimPrefix(option.Arg, "plan.")
		stream, window := strings.CutPrefix(name, "windows.")
		if i := strings.Index(name, "Statistics["); i == 0 {
			return Usagef("--statistics: stream %s: got %s, want %s", strings.Trim(name[len("Statistics"):], "[]"), option.Got, option.Want)
		}
		switch {
		case strings.HasPrefix(name, "Cameras["):
			name = "camera"
		case window && r.PlanFile == "":
			return Usagef("--window: got %s=%s, want %s", stream, option.Got, option.Want)
		case strings.HasPrefix(option.Arg, "plan.") && r.PlanFile != "":
			return &InputError{Path: r.PlanFile, Msg: fmt.Sprintf("%s: got %s, want %s", name, option.Got, option.Want), Got: option.Got, Want: option.Want}
		}
		for i, of := range []string{"ShardWindows", "MixShards", "EpochWindows"} {
			if name == of {
				name = []string{"shard-windows", "mix-shards", "epoch-windows"}[i]
			}
		}
		return Usagef("--%s: got %s, want %s", strings.ToLower(name), option.Got, option.Want)
	case errors.As(err, &camera):
		return &InputError{Path: strings.Join(r.Paths(), ", "), Stream: camera.Camera, Msg: "episode " + camera.Episode, Err: camera.Err}
	case errors.As(err, &media):
		return r.Packing.Explain(err)
	case errors.As(err, &empty) && empty.Steps():
		return &InputError{Path: r.Path, Err: fmt.Errorf("%w; %s", err, wantRate)}
	case errors.As(err, &missing) && strings.Contains(missing.Stream, ","):
		return &InputError{Path: r.Path, Err: fmt.Errorf("%w; each stream has a --stream of its own", err)}
	case errors.As(err, &missing) && placed != nil:
		return &InputError{Path: r.Path, Plan: placed, Err: missing}
	case errors.As(err, &empty), errors.As(err, &missing):
		return &InputError{Path: r.Path, Err: err}
	}
	return r.noRoom(err)
}

// noRoom says which options need less memory than there is; err itself where they do not matter.
func (r *Request) noRoom(err error) error {
	var room *loader.RoomError
	var memory *ops.MemoryError
	var frames *loader.FramesError
	switch {
	case errors.As(err, &frames): // which the dataset's size does not change
		return fmt.Errorf("--camera: %w", err)
	case errors.As(err, &room) && room.FitMix > 0:
		return fmt.Errorf("%w; want --mix-shards %d and --shard-windows %d, which are another order", err, room.FitMix, room.FitWindows)
	case errors.As(err, &memory) && !r.Streaming:
		return fmt.Errorf("%w; --streaming keeps a small part of the dataset there and reads the rest meanwhile", err)
	}
	return err
}

// Unreadable says that an error of a batch is one of the dataset, where it is.
func (r *Request) Unreadable(err error) error {
	var episode *dataset.EpisodeError
	if errors.As(err, &episode) {
		return &InputError{Path: r.Path, Err: err}
	}
	return err
}
