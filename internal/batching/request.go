package batching

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Request has the arguments of batches, without the device. The Python package's Loader sends it as JSON. Errors use its JSON names.
type Request struct {
	Paths   []string  `json:"paths"`
	Weights []float64 `json:"weights"` // one for each dataset, or none
	Fresh   string    `json:"fresh"`   // a dataset; the store must have been packed from its present files
	Packing           // how a dataset is read; Open sets Path, Strict and Build

	PlanFile string                  `json:"plan_name"` // name of a plan file, instead of Hz to MaxGap
	PlanText string                  `json:"plan"`      // the plan, if PlanFile is only a name; else the file is read
	Hz       float64                 `json:"hz"`        // rate of the windows' clock; the dataset's by default
	Streams  []align.Stream          `json:"streams"`   // all by default
	Windows  map[string]align.Window `json:"windows"`
	// AnchorAlone gives an action without a window the anchor alone, as other streams. Its default is one second.
	AnchorAlone bool `json:"anchor_alone"`

	Shuffle   string             `json:"shuffle"`
	Unordered string             `json:"unordered"` // the treatment of streams with unsorted timestamps, as in align.Plan
	Normalise PerStream[string]  `json:"normalise"`
	MaxGap    PerStream[Seconds] `json:"max_gap"`
	LeaveOut  [][]int            `json:"leave_out"`  // numbers of episodes of each dataset that are not drawn from
	Given     []Normalised       `json:"statistics"` // replace the streams' own statistics; Check sets Options.Statistics from them

	Streaming bool `json:"streaming"`
	loader.Options
}

// PerStream is a value for all streams, or a value for each named stream. Its JSON is the value, or an object with a value by stream
// name.
type PerStream[T any] struct {
	All *T
	By  map[string]T
}

// UnmarshalJSON reads both forms.
func (p *PerStream[T]) UnmarshalJSON(text []byte) error {
	if text[0] == '{' {
		return json.Unmarshal(text, &p.By)
	}
	return json.Unmarshal(text, &p.All)
}

// each calls set for every stream that has its own value in By. A value for an unknown stream is an *OptionError of the argument.
func (p *PerStream[T]) each(streams []align.Stream, arg string, set func(*align.Stream, T)) error {
	for _, name := range slices.Sorted(maps.Keys(p.By)) {
		i := slices.IndexFunc(streams, func(s align.Stream) bool { return s.Name == name })
		if i < 0 {
			var names []string
			for _, s := range streams {
				names = append(names, s.Name)
			}
			return noStream(arg, name, names)
		}
		set(&streams[i], p.By[name])
	}
	return nil
}

// Seconds is a duration, or NaN for align.AutoGap. Its JSON is a number or "auto".
type Seconds float64

// UnmarshalJSON reads both forms.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	if string(text) == `"auto"` {
		*s = Seconds(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(s))
}

// SetMaxGap sets the limit of gaps of all streams.
func (r *Request) SetMaxGap(limit ops.Limit) {
	if d, given := limit.Get(); given && limit != align.NoGap {
		s := Seconds(d.Seconds())
		if limit == align.AutoGap {
			s = Seconds(math.NaN())
		}
		r.MaxGap.All = &s
	}
}

func (s Seconds) limit() ops.Limit {
	if s != s {
		return align.AutoGap
	}
	return ops.Within(time.Duration(math.Round(float64(s) * 1e9)))
}

// planned reports whether the request has a plan file or its text.
func (r *Request) planned() bool { return r.PlanFile != "" || r.PlanText != "" }

// Check returns an *OptionError if an argument is invalid, or contradicts another. It reads the statistics, and finds the datasets that are
// named by their ids on the Hub.
func (r *Request) Check() error {
	spell := r.Spell.of
	var err error
	for i := range r.Paths {
		if r.Paths[i], err = Find(r.Paths[i]); err != nil {
			return err
		}
	}
	if r.Fresh, err = Find(r.Fresh); err != nil {
		return err
	}
	switch n := len(r.Paths); {
	case n == 0:
		return refusef("paths", "a dataset or several", "none")
	case r.planned() && (r.Hz > 0 || len(r.Streams) > 0 || len(r.Windows) > 0 || r.Shuffle != "" || r.Unordered != "" || r.Normalise.All != nil || r.Normalise.By != nil || r.MaxGap.All != nil || r.MaxGap.By != nil):
		return refusef("plan", "these in the plan", "it with %s, %s, %s, %s or %s, or how streams are sampled", spell("hz"), spell("streams"), spell("windows"), spell("shuffle"), spell("unordered"))
	case !(r.Hz >= 0 && r.Hz <= 1e9):
		return refusef("hz", "more than 0, at most 1e9 Hz", "%g", r.Hz)
	case !(r.Rate >= 0 && r.Rate <= 1e9):
		return refusef("rate", "more than 0, at most 1e9 Hz", "%g", r.Rate)
	case r.Shuffle != "" && !slices.Contains(align.Shuffles, r.Shuffle):
		return refusef("shuffle", strings.Join(align.Shuffles, ", "), "%q", r.Shuffle)
	case r.Unordered != "" && !slices.Contains(align.Unordereds, r.Unordered):
		return refusef("unordered", strings.Join(align.Unordereds, ", "), "%q", r.Unordered)
	case len(r.Weights) > 0 && len(r.Weights) != n:
		return refusef("weights", fmt.Sprintf("one for each of %d datasets", n), "%d", len(r.Weights))
	case r.Streaming && n > 1:
		return refusef("streaming", "one: several are kept on the device together", "it with %d datasets", n)
	case r.Streaming && len(r.EpisodeWeights) > 0:
		return refusef("streaming", "one: a weighted dataset is kept on the device", "it with %s", spell("episode_weights"))
	case len(r.EpisodeWeights) > n:
		return refusef("episode_weights", fmt.Sprintf("one for each dataset, at most %d", n), "%d mappings", len(r.EpisodeWeights))
	case r.Streaming && len(r.Weights) > 0:
		return refusef("streaming", "one of the two: a weighted dataset is kept on the device", "it with %s", spell("weights"))
	case r.Fresh != "" && n > 1:
		return refusef("fresh", "one", "it with %d datasets", n)
	case r.Shuffle != "" && r.Shuffle != "shards" && (r.ShardWindows != 0 || r.MixShards != 0):
		return refusef("shuffle", "shards", "%s with %s or %s", r.Shuffle, spell("shard_windows"), spell("mix_shards"))
	case len(r.Options.Episodes) > n:
		return refusef("episodes", fmt.Sprintf("of %d", n), "those of %d datasets", len(r.Options.Episodes))
	case len(r.LeaveOut) > n:
		return refusef("leave_out", fmt.Sprintf("for %d datasets", n), "lists for %d", len(r.LeaveOut))
	case r.DType != 0 && !r.DType.IsFloat():
		return refusef("dtype", "f32, f64, f16 or bf16", "%q", r.DType)
	}
	gaps := slices.Collect(maps.Values(r.MaxGap.By))
	if r.MaxGap.All != nil {
		gaps = append(gaps, *r.MaxGap.All)
	}
	for _, s := range gaps {
		if s < 0 || s >= 9e9 {
			return refusef("max_gap", "seconds, 0 or more, or auto", "%g", s)
		}
	}
	if err := r.Packing.Options.Episodes.CheckInputs(len(r.Paths)); err != nil {
		return err
	}
	return r.readStatistics()
}

// readStatistics sets Statistics from Given. The rules in Given also set the streams' rules, unless other arguments or a plan set them. If
// lists in Given disagree in length, the error is an *OptionError.
func (r *Request) readStatistics() error {
	for i := range r.Given {
		n := &r.Given[i]
		s, err := n.Statistics()
		if err != nil {
			return err
		}
		if r.Statistics == nil {
			r.Statistics = map[string]loader.Statistics{}
		}
		r.Statistics[n.Name] = s
		if _, own := r.Normalise.By[n.Name]; !own && r.Normalise.All == nil && !r.planned() && n.Rule != "" && n.Shift == nil {
			if r.Normalise.By == nil {
				r.Normalise.By = map[string]string{}
			}
			r.Normalise.By[n.Name] = n.Rule
		}
	}
	return nil
}

// Source is the data that batches are drawn from. The caller closes it after its loaders.
type Source struct {
	*Request
	Data dataset.Dataset
	// Store is Data if Data is a store. Stores are all stores, Store first; none if a dataset is streamed.
	Store  *store.Store
	Stores []*store.Store
	// recordings are the datasets that were packed into memory.
	recordings []dataset.Dataset
	// Absent has a note, with the input as Subject, for each input without some declared episodes.
	Absent        dataset.Notes
	Problems      dataset.Notes // of the datasets as a whole: dataset.Info.Problems
	episodes      [][]int       // selected in each store; nil in other datasets, because these are opened with the selected episodes alone
	watch         Watch
	hasUnusedNote bool // of unused statistics
}

// Open opens the request's paths: stores are mapped, a dataset is opened for streaming if Streaming is set, and all other datasets are
// packed into memory. After an error nothing stays open.
func Open(ctx context.Context, r *Request, watch Watch) (_ *Source, err error) {
	s := &Source{Request: r, episodes: make([][]int, len(r.Paths)), watch: watch}
	defer func() {
		if err != nil {
			_ = s.Close() // the first error is returned
		}
	}()
	for _, path := range r.Paths {
		defer dataset.Watched(path, &err)()
	}
	switch {
	case r.Fresh != "" && !store.IsStore(r.Paths[0]):
		return nil, refusef("fresh", "a store that robocache pack has written", "it with %q", r.Paths[0])
	case r.Streaming && !store.IsStore(r.Paths[0]):
		if s.Data, err = s.packing(0).Read(ctx); err == nil {
			s.opened(r.Paths[0], s.Data)
		}
		return s, err
	}
	for i, path := range r.Paths {
		store, err := s.open(ctx, i, path)
		if err != nil {
			return nil, err
		}
		s.Stores = append(s.Stores, store)
		s.opened(path, store)
	}
	s.Store = s.Stores[0]
	s.Data = s.Store
	if r.Fresh == "" {
		return s, nil
	}
	done := watch.step("hashing the files in " + r.Fresh)
	err = s.Store.Fresh(ctx, r.Fresh)
	done()
	var stale *store.StaleError
	switch {
	case errors.As(err, &stale):
		err = &InputError{Path: r.Paths[0], Err: err}
	case err != nil:
		err = ReadError(r.Fresh, err)
	}
	return s, err
}

// opened adds the notes about a dataset as a whole, and one if it lacks declared episodes.
func (s *Source) opened(path string, d dataset.Dataset) {
	info := d.Info()
	if n := info.Absent(); n != nil {
		n.Subject = path
		s.Absent = append(s.Absent, *n)
		s.watch.add(*n)
	}
	for _, n := range info.Problems() {
		s.Problems = append(s.Problems, n)
		s.watch.add(n)
	}
}

// drawn returns the plan file's plan, or a plan with the streams that the arguments name. If the plan file cannot be read, the plan is
// empty, and Plan reports the error.
func (s *Source) drawn() align.Plan {
	p := align.Plan{Streams: s.Streams}
	if s.planned() {
		p, _ = s.readPlan()
	}
	return p
}

// packing returns a dataset's packing, by its index among the paths.
func (s *Source) packing(i int) *Packing {
	p := s.Packing
	p.Path, p.Strict = s.Paths[i], s.Strict
	drawn := s.drawn()
	if s.planned() {
		p.Points = drawn
	}
	if slices.ContainsFunc(p.Points.Streams, func(t align.Stream) bool { return t.Points != nil }) {
		p.Prefer = cmp.Or(p.Prefer, "header") // the clock of tf
	}
	p.Build = store.BuildOptions{Columns: store.Columns(drawn.Streams), Double: loader.Doubles(&drawn, &s.Options)}
	for _, t := range s.Streams {
		p.Build.Streams = append(p.Build.Streams, t.Name)
	}
	p.Options.Episodes = s.selection(i)
	return &p
}

// selection returns the episodes of a dataset that the arguments select, by its index among the paths.
func (s *Source) selection(i int) dataset.Selection {
	some := s.Packing.Options.Episodes
	if i < len(s.Options.Episodes) {
		some.Take = dataset.RangesOf(s.Options.Episodes[i])
	}
	if i < len(s.LeaveOut) {
		some.Leave = dataset.RangesOf(s.LeaveOut[i])
	}
	return some
}

// open opens a store, or packs a dataset.
func (s *Source) open(ctx context.Context, i int, path string) (*store.Store, error) {
	if !store.IsStore(path) {
		store, d, err := s.packing(i).Store(ctx, &s.watch)
		if err == nil {
			s.recordings = append(s.recordings, d)
		}
		return store, err
	}
	store, err := store.Open(path)
	if err != nil {
		return nil, ReadError(path, err)
	}
	if some := s.selection(i); !some.IsZero() {
		if s.episodes[i], err = some.Of(store.Numbers()); err != nil {
			return nil, errors.Join(ReadError(path, err), store.Close())
		}
	}
	if err := store.CheckTimes(path, &s.Packing.Options); err != nil {
		return nil, errors.Join(ReadError(path, err), store.Close())
	}
	if err := s.checkCameras(i, path, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// checkCameras returns an error if a store's file lacks a camera's frames.
func (r *Request) checkCameras(i int, path string, s *store.Store) error {
	for _, c := range r.Cameras {
		if slices.ContainsFunc(s.Media, func(m store.Media) bool { return m.Name == c.NameIn(i) }) {
			continue
		}
		err := errors.New("the store lacks its frames, want a store by robocache pack --media, or the recordings")
		for _, e := range s.Episodes {
			if n := e.Notes.LeftOut(c.NameIn(i)); n != nil {
				err = &dataset.NoteError{Note: *n}
				break
			}
		}
		return &InputError{Path: path, Stream: c.Name, Err: err}
	}
	return nil
}

// Close closes the datasets and stores. Close twice is fine.
func (s *Source) Close() error {
	var errs []error
	if s.Data != nil && s.Store == nil {
		errs = append(errs, s.Data.Close())
	}
	for _, store := range s.Stores {
		errs = append(errs, store.Close())
	}
	for _, d := range s.recordings {
		errs = append(errs, d.Close())
	}
	s.Data, s.Store, s.Stores, s.recordings = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Make makes a loader on each device. The devices have consecutive ranks; Ranks counts the devices of all programs. For the plan see
// Plan.
func (s *Source) Make(ctx context.Context, devices []*ops.Device, plan align.Plan) (*loader.Group, error) {
	what := "putting the store on the device"
	if s.Streaming {
		what = "looking at the episodes"
	}
	done := s.watch.step(what)
	group, err := loader.NewGroup(devices, s.Options, func(device *ops.Device, opt loader.Options) (*loader.Loader, error) {
		return s.on(ctx, device, plan, opt)
	})
	done()
	if err != nil {
		return nil, s.Explain(err)
	}
	return group, nil
}

// MakeOn makes the loader of one rank.
func (s *Source) MakeOn(ctx context.Context, device *ops.Device, plan align.Plan) (*loader.Loader, error) {
	l, err := s.on(ctx, device, plan, s.Options)
	if err != nil {
		return nil, s.Explain(err)
	}
	return l, nil
}

// statistics returns the given statistics for the plan's streams; nil if none are given. A statistics file from another program may list
// other streams, which are left out with a note.
func (s *Source) statistics(ctx context.Context, plan align.Plan) (map[string]loader.Statistics, error) {
	if s.Statistics == nil {
		return nil, nil
	}
	var names []string
	for _, t := range plan.Streams {
		names = append(names, t.Name)
	}
	if names == nil {
		var err error
		if names, err = s.names(ctx); err != nil {
			return nil, err
		}
	}
	some, unused := maps.Clone(s.Statistics), []string{}
	for name, by := range s.Statistics {
		if by.Shift == nil && !slices.Contains(names, name) {
			delete(some, name)
			unused = append(unused, name)
		}
	}
	if slices.Sort(unused); len(unused) > 0 && !s.hasUnusedNote {
		s.hasUnusedNote = true
		s.watch.note(dataset.CodeStatisticsUnused, "", dataset.Detail{Names: unused})
	}
	return some, nil
}

func (s *Source) on(ctx context.Context, device *ops.Device, plan align.Plan, opt loader.Options) (l *loader.Loader, err error) {
	if opt.Statistics, err = s.statistics(ctx, plan); err != nil {
		return nil, err
	}
	opt.Episodes = s.episodes
	named := s.planned() || len(s.Streams) > 0
	opt.AllNotes = !named
	if s.Streaming {
		l, err = loader.NewStreaming(ctx, device, s.Data, plan, opt)
	} else {
		l, err = loader.NewMixture(ctx, device, s.weighted(), plan, opt)
	}
	if err != nil || !named {
		return l, err
	}
	for i, asked := range plan.Streams { // compared by name
		if slices.ContainsFunc(l.Batch().Streams, func(b loader.BatchStream) bool { return b.Name == asked.Name }) {
			continue
		}
		for _, k := range l.Report().Lacking {
			if k.Stream == asked.Name {
				return nil, errors.Join(plan.At(i, "columns", &loader.LackingError{Lacking: k, All: true}), l.Close())
			}
		}
	}
	return l, nil
}

// Bytes estimates the stores' memory on a device: all samples and timestamps of the selected streams.
func (s *Source) Bytes(plan align.Plan) (n int64) {
	for _, store := range s.Stores {
		for i := range store.Streams {
			p := &store.Streams[i]
			asked := slices.ContainsFunc(plan.Streams, func(a align.Stream) bool { return a.Source() == p.Name })
			if asked || len(plan.Streams) == 0 {
				n += int64(p.Samples()) * int64(len(p.Columns)*p.DType().Size()+tensor.I64.Size())
			}
		}
	}
	return n
}

// weighted returns the stores with their weights.
func (s *Source) weighted() []loader.Weighted {
	list := make([]loader.Weighted, len(s.Stores))
	for i, store := range s.Stores {
		list[i].Store = store
		if s.Weights != nil {
			list[i].Weight = s.Weights[i]
		}
	}
	return list
}

// Listed returns a report whose lists are not null in JSON.
func Listed(r loader.Report) loader.Report {
	r.Lacking = append([]loader.Lacking{}, r.Lacking...)
	r.Cameras = append([]loader.CameraReport{}, r.Cameras...)
	r.Mixture = append([]loader.MixtureReport{}, r.Mixture...)
	r.Weights = append([]loader.WeightReport{}, r.Weights...)
	return r
}
