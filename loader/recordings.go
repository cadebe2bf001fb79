package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// recordings packs a dataset's episodes one by one. Its episodes have the dtype, streams and columns of the store that
// Build makes. Streams that the plan does not name stay as recorded, because only their timestamps are read.
type recordings struct {
	dataset.Dataset
	recorded dataset.Dataset       // for frames
	numbered dataset.Info          // has the episodes' numbers
	streams  []dataset.EmptyStream // of all episodes: name, columns, dtype
	splits   [][]string
	packing  store.BuildOptions
}

// unpack returns the source for a dataset of recordings. It finds the columns of the streams that the plan names, or of all streams if it
// names none, and reads episodes until all are found.
func unpack(ctx context.Context, d dataset.Dataset, names []string, packing store.BuildOptions, opt *Options) (*recordings, error) {
	var episodes []int
	if len(opt.Episodes) > 0 {
		episodes = opt.Episodes[0]
	}
	of, err := dataset.Select(d, dataset.Selection{Take: dataset.RangesOf(episodes)})
	if err != nil {
		return nil, err
	}
	recorded, err := dataset.Select(dataset.Recorded(d), dataset.Selection{Take: dataset.RangesOf(episodes)})
	if err != nil {
		return nil, err
	}
	u := &recordings{Dataset: of, recorded: recorded, numbered: of.Info(), packing: packing}
	u.splits = u.numbered.SplitsOf(u.Len())
	type found struct {
		packed *store.Store
		err    error
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(names)))
	look := func(ctx context.Context, i int) (f found) {
		e, err := of.Episode(ctx, i)
		if err != nil {
			return found{nil, &dataset.EpisodeError{Episode: u.numbered.Number(i), Err: err}}
		}
		s, err := u.pack(ctx, e, names)
		return found{s, err}
	}
	for _, f := range inorder.Each(ctx, of.Len(), opt.Workers, opt.Workers, func(found) int { return opt.Workers }, look) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f.err != nil {
			if opt.Strict || dataset.IsFatal(f.err) {
				return nil, f.err
			}
			continue
		}
		for _, s := range f.packed.Streams {
			if !slices.ContainsFunc(u.streams, func(o dataset.EmptyStream) bool { return o.Name == s.Name }) {
				u.streams = append(u.streams, dataset.EmptyStream{Name: s.Name, Columns: s.Columns, DType: s.DType()})
			}
		}
		if len(names) > 0 && len(u.streams) == len(wanted) {
			break
		}
	}
	u.packing.Double = func(s *dataset.Stream) bool { // as in the episode that had it first
		return slices.ContainsFunc(u.streams, func(o dataset.EmptyStream) bool { return o.Name == s.Name && o.DType == tensor.F64 })
	}
	return u, nil
}

// Episode returns an episode as recorded.
func (u *recordings) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return u.recorded.Episode(ctx, i)
}

// Names returns the stream names.
func (u *recordings) Names() []string {
	list := make([]string, len(u.streams))
	for i := range u.streams {
		list[i] = u.streams[i].Name
	}
	return list
}

// singleEpisode is a dataset with one episode.
type singleEpisode struct {
	dataset.Dataset
	episode *dataset.Episode
}

func (o singleEpisode) Len() int { return 1 }

func (o singleEpisode) Info() dataset.Info { return dataset.Info{} }

func (o singleEpisode) Episode(context.Context, int) (*dataset.Episode, error) { return o.episode, nil }

// pack packs an episode's named streams, or all streams if names is empty, and returns them as a store with one episode.
func (u *recordings) pack(ctx context.Context, e *dataset.Episode, names []string) (*store.Store, error) {
	if len(names) > 0 {
		some := *e
		some.Streams = slices.DeleteFunc(slices.Clone(e.Streams), func(s dataset.Stream) bool { return !slices.Contains(names, s.Name) })
		e = &some
	}
	return store.Build(ctx, singleEpisode{u.Dataset, e}, u.packing)
}

func (u *recordings) Read(ctx context.Context, i int) (*dataset.Episode, *store.Episode, error) {
	n, splits := u.numbered.Number(i), u.splits[i]
	about := &store.Episode{Name: fmt.Sprint(n), Number: n, Splits: splits}
	recorded, err := u.Dataset.Episode(ctx, i)
	if err != nil {
		return nil, about, &dataset.EpisodeError{Episode: n, Err: err}
	}
	names := u.Names()
	s, err := u.pack(ctx, recorded, names)
	if err != nil {
		return nil, about, err
	}
	e, known, err := s.Read(ctx, 0)
	if err != nil {
		return nil, about, err
	}
	e.Media = recorded.Media
	known.Tasks = store.TasksOf(recorded, u.numbered.Tasks)
	known.Number, known.Splits = n, splits
	streams := e.Streams
	e.Streams = nil
	var missing dataset.Notes // about streams that the episode lacks
	for _, o := range u.streams {
		at := slices.IndexFunc(streams, func(s dataset.Stream) bool { return s.Name == o.Name })
		if at >= 0 {
			why, err := known.Fit(&streams[at], o.Columns, len(u.packing.Columns[o.Name]) > 0)
			if err != nil {
				return nil, known, err
			}
			if why.Code == "" {
				e.Streams = append(e.Streams, streams[at])
				continue
			}
			why.Subject = o.Name
			missing = append(missing, why)
		} else if known.Notes.LeftOut(o.Name) == nil {
			missing = append(missing, dataset.Note{Code: dataset.CodeNoSamples, Subject: o.Name})
		}
		e.Empty = append(e.Empty, o)
	}
	e.Notes = slices.Concat(known.Notes, missing)
	for _, o := range recorded.Streams {
		if !recorded.Steps && !slices.Contains(names, o.Name) && o.Check() == nil {
			e.Streams = append(e.Streams, o)
		}
	}
	return e, known, nil
}

func (u *recordings) GuardEpisode(_ int, do func() error) error { return do() }

func (u *recordings) Place(i int) (store, number int) { return 0, u.numbered.Number(i) }
