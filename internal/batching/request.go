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
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Request is what batches are asked for, but for the device.
type Request struct {
	Packing // how a dataset is read; its Path is the first one's
	Others  []string
	Weights []float64 // one for each dataset, or none
	Fresh   string    // a dataset that the store must be packed of as it is now

	PlanFile string  // instead of Hz to Shuffle
	PlanText []byte  // of PlanFile, which is then a name; nil where the file is to be read
	Hz       float64 // of the windows' clock; the dataset's unless given
	Taken    []align.Stream
	Windows  []Window
	Defaults align.Sampling
	// Normalise is by stream, where it is not that of Defaults.
	Normalise map[string]string
	MaxGaps   map[string]time.Duration // likewise
	Shuffle   string
	Unordered string       // what becomes of streams whose timestamps step back, as align.Plan has it
	Given     []Normalised // that Loader.Statistics were made of

	Streaming bool
	Cameras   []loader.Camera
	Loader    loader.Options // but for Cameras and Strict
}

// Window is a stream's.
type Window struct {
	Name string
	align.Window
}

// Watch is told what goes on; all of it may be nil.
type Watch struct {
	Step     func(what string) (done func())
	Counting func(what string, of int) (one, done func())
	Remark   func(format string, args ...any)
}

func (w *Watch) step(what string) func() {
	if w.Step == nil {
		return func() {}
	}
	return w.Step(what)
}

func (w *Watch) remark(format string, args ...any) {
	if w.Remark != nil {
		w.Remark(format, args...)
	}
}

// Paths are those of all datasets.
func (r *Request) Paths() []string { return append([]string{r.Path}, r.Others...) }

// Check returns a *UsageError if the options do not go together.
func (r *Request) Check() error {
	switch n := 1 + len(r.Others); {
	case r.PlanFile != "" && (r.Hz > 0 || len(r.Taken) > 0 || len(r.Windows) > 0 || r.Shuffle != "" || r.Unordered != "" || r.Defaults.Normalise != "" || r.Defaults.MaxGap != ops.Limit{} || len(r.Normalise) > 0 || len(r.MaxGaps) > 0):
		return Usagef("--plan: got it with --hz, --stream, --window, --shuffle or --unordered, or how streams are sampled, want what they say in the plan")
	case r.Shuffle != "" && !slices.Contains(align.Shuffles, r.Shuffle):
		return Usagef("--shuffle: got %q, want %s", r.Shuffle, strings.Join(align.Shuffles, ", "))
	case r.Unordered != "" && !slices.Contains(align.Unordereds, r.Unordered):
		return Usagef("--unordered: got %q, want %s", r.Unordered, strings.Join(align.Unordereds, ", "))
	case len(r.Weights) > 0 && len(r.Weights) != n:
		return Usagef("--weight: got %d, want one for each of %d datasets", len(r.Weights), n)
	case r.Streaming && n > 1:
		return Usagef("--streaming: got it with %d datasets, want one: several are kept on the device together", n)
	case r.Streaming && len(r.Weights) > 0:
		return Usagef("--streaming: got it with --weight, want one of the two: a weighted dataset is kept on the device")
	case r.Fresh != "" && n > 1:
		return Usagef("--check-fresh: got it with %d datasets, want one", n)
	case r.Shuffle != "" && r.Shuffle != "shards" && (r.Loader.ShardWindows != 0 || r.Loader.MixShards != 0):
		return Usagef("--shuffle: got %s with --shard-windows or --mix-shards, want shards", r.Shuffle)
	}
	return nil
}

// Source is what batches are drawn from. The caller closes it, after its loaders.
type Source struct {
	*Request
	Data dataset.Dataset
	// Store is Data, if that is one, and Stores are all that are drawn from, Store first; none of a dataset that is read meanwhile.
	Store  *loader.Store
	Stores []*loader.Store
	// Absent are the inputs of which declared episodes are not there.
	Absent []Absent
	watch  Watch
	told   bool // of statistics that are not used
}

// Open opens stores, or a dataset to be read meanwhile, or packs what is no store.
func Open(ctx context.Context, r *Request, watch Watch) (_ *Source, err error) {
	s := &Source{Request: r, watch: watch}
	defer func() {
		if err != nil {
			_ = s.Close() // of which nothing more is wanted
		}
	}()
	switch {
	case r.Fresh != "" && !loader.IsStore(r.Path):
		return nil, Usagef("--check-fresh: got it with %q, want a store that robocache pack has written", r.Path)
	case r.Streaming && !loader.IsStore(r.Path):
		if s.Data, err = r.Packing.Read(ctx); err == nil {
			s.absent(r.Path, s.Data)
		}
		return s, err
	}
	for i, path := range r.Paths() {
		store, err := s.open(ctx, i, path)
		if err != nil {
			return nil, err
		}
		s.Stores = append(s.Stores, store)
		s.absent(path, store)
		if err := r.filmed(path, store); err != nil {
			return nil, err
		}
	}
	s.Store = s.Stores[0]
	s.Data = s.Store
	if r.Fresh == "" {
		return s, nil
	}
	done := watch.step("hashing the files of " + r.Fresh)
	err = s.Store.Fresh(ctx, r.Fresh)
	done()
	var stale *loader.StaleError
	switch {
	case errors.As(err, &stale):
		err = &InputError{Path: r.Path, Err: err}
	case err != nil:
		err = ReadError(r.Fresh, err)
	}
	return s, err
}

// absent notes the episodes that an input declares and that are not there.
func (s *Source) absent(path string, d dataset.Dataset) {
	if a := AbsentOf(path, d); a != nil {
		s.Absent = append(s.Absent, *a)
		s.watch.remark("%v", a)
	}
}

// columns are those that are asked for of each stream. Of a plan file that cannot be read, which Plan will tell, they are all.
func (s *Source) columns() map[string][]string {
	if s.PlanFile == "" {
		return loader.Columns(s.Taken)
	}
	p, err := s.readPlan()
	if err != nil {
		return nil
	}
	return loader.Columns(p.Streams)
}

// open opens a store, or packs a dataset.
func (s *Source) open(ctx context.Context, i int, path string) (*loader.Store, error) {
	if !loader.IsStore(path) {
		p := s.Packing
		p.Columns = s.columns()
		if p.Path = path; i < len(s.Loader.Episodes) {
			p.Episodes = s.Loader.Episodes[i]
		}
		return p.Store(ctx, &s.watch)
	}
	store, err := loader.Open(path)
	if err != nil {
		return nil, ReadError(path, err)
	}
	if rate := store.Info().Rate; s.Rate != 0 && s.Rate != rate {
		return nil, errors.Join(Usagef("--rate: got %g, want none: %s is a store, whose times are there", s.Rate, path), store.Close())
	}
	if clock := store.Info().Clock; s.Clock != "" && s.Clock != clock {
		return nil, errors.Join(Usagef("--clock: got %s, want %s: %s is a store, whose times come from there", s.Clock, cmp.Or(clock, "none"), path), store.Close())
	}
	return store, nil
}

// filmed checks that a store has the frames of the cameras.
func (r *Request) filmed(path string, s *loader.Store) error {
	for _, c := range r.Cameras {
		if slices.ContainsFunc(s.Media, func(m loader.Media) bool { return m.Name == c.Name }) {
			continue
		}
		err := errors.New("the store has no frames of it, want one that robocache pack --media has made, or the recordings")
		for _, e := range s.Episodes {
			if n := e.Notes.LeftOut(c.Name); n != nil {
				if err = (&dataset.NoteError{Note: *n}); n.Code == dataset.CodeVideoNotPacked {
					err = fmt.Errorf("%w; --streaming, of the recordings, decodes videos", err)
				}
				break
			}
		}
		return &InputError{Path: path, Stream: c.Name, Err: err}
	}
	return nil
}

// Close closes what is read, and lets go of what is in memory. Close twice is fine.
func (s *Source) Close() error {
	var errs []error
	if s.Data != nil && s.Store == nil {
		errs = append(errs, s.Data.Close())
	}
	for _, store := range s.Stores {
		errs = append(errs, store.Close())
	}
	s.Data, s.Store, s.Stores = nil, nil, nil
	return errors.Join(errs...)
}

// Make makes a loader on each device, which draw as so many ranks; ranks count the devices of all programs. The plan is the Source's: see Plan.
func (s *Source) Make(ctx context.Context, devices []*ops.Device, plan align.Plan) (*loader.Group, error) {
	what := "putting the store on the device"
	if s.Streaming {
		what = "looking at the episodes"
	}
	done := s.watch.step(what)
	group, err := loader.NewGroup(devices, s.options(), func(device *ops.Device, opt loader.Options) (*loader.Loader, error) {
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
	l, err := s.on(ctx, device, plan, s.options())
	if err != nil {
		return nil, s.Explain(err)
	}
	return l, nil
}

// statistics are those that are given, without those of other than streams that a file has which is no loader's.
func (s *Source) statistics(ctx context.Context, plan align.Plan) (map[string]loader.Statistics, error) {
	if s.Loader.Statistics == nil {
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
	some, unused := maps.Clone(s.Loader.Statistics), []string{}
	for name, by := range s.Loader.Statistics {
		if by.Shift == nil && !slices.Contains(names, name) {
			delete(some, name)
			unused = append(unused, name)
		}
	}
	if slices.Sort(unused); len(unused) > 0 && !s.told {
		s.told = true
		s.watch.remark("statistics that are not used, of what is no stream of the batches: %s", strings.Join(unused, ", "))
	}
	return some, nil
}

func (s *Source) options() loader.Options {
	opt := s.Loader
	opt.Cameras, opt.Strict = s.Cameras, s.Strict
	return opt
}

func (s *Source) on(ctx context.Context, device *ops.Device, plan align.Plan, opt loader.Options) (l *loader.Loader, err error) {
	if opt.Statistics, err = s.statistics(ctx, plan); err != nil {
		return nil, err
	}
	if s.Streaming {
		l, err = loader.NewStreaming(ctx, device, s.Data, plan, opt)
	} else {
		l, err = loader.NewMixture(ctx, device, s.weighted(), plan, opt)
	}
	if err != nil || s.PlanFile == "" && len(s.Taken) == 0 {
		return l, err
	}
	for i, asked := range plan.Streams { // by their names
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

// Bytes is about what the stores take on a device: all of their samples of the streams that are asked for, and their timestamps.
func (s *Source) Bytes(plan align.Plan) (n int64) {
	for _, store := range s.Stores {
		for i := range store.Streams {
			p := &store.Streams[i]
			asked := slices.ContainsFunc(plan.Streams, func(a align.Stream) bool { return cmp.Or(a.From, a.Name) == p.Name })
			if asked || len(plan.Streams) == 0 {
				n += int64(p.Samples()) * int64(len(p.Columns)*p.DType().Size()+tensor.I64.Size())
			}
		}
	}
	return n
}

// weighted are the stores with their weights.
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

// Listed is a report whose lists are lists in JSON too where they are empty.
func Listed(r loader.Report) loader.Report {
	r.Lacking = append([]loader.Lacking{}, r.Lacking...)
	r.Said = append([]loader.Said{}, r.Said...)
	r.Cameras = append([]loader.CameraReport{}, r.Cameras...)
	r.Mixture = append([]loader.MixtureReport{}, r.Mixture...)
	return r
}
