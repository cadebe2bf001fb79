package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
)

// init registers the store as a dataset format.
func init() {
	dataset.Register(dataset.Format{
		Name: "store", Extensions: []string{".safetensors"}, Match: safetensors.Match,
		Inside: func(_ context.Context, path string) (bool, error) { return IsStore(path), nil },
		Folder: func(_ context.Context, path string) bool { return IsStore(path) },
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			s, err := Open(path)
			if err != nil {
				return nil, err
			}
			if err := s.CheckTimes(path, &opt); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return copyingStore{s}, nil
		},
	})
}

// CheckTimes returns an *OptionError if opt sets another rate or clock than that of the store, which was opened from path.
func (s *Store) CheckTimes(path string, opt *dataset.Options) error {
	clock, why := s.Clock(), ": "+path+" is a store, which has its times"
	switch {
	case opt.Rate != 0 && opt.Rate != s.info.Rate:
		return refuse("Rate", fmt.Sprint(opt.Rate), "none"+why)
	case opt.VideoBackend != "":
		return refuse("VideoBackend", opt.VideoBackend, "none: "+path+" is a store, which has its frames")
	case opt.Clock != "" && opt.Clock != clock:
		return refuse("Clock", opt.Clock, cmp.Or(clock, "none")+why)
	}
	return nil
}

// copyingStore is a store that dataset.Open opened. Its episodes are copies, as those of every dataset, so they stay when the store is
// closed or its file is cut short.
type copyingStore struct{ *Store }

// Of returns the store if the dataset is one, also if [dataset.Open] opened it. Otherwise it returns nil.
func Of(d dataset.Dataset) *Store {
	switch d := d.(type) {
	case *Store:
		return d
	case copyingStore:
		return d.Store
	}
	return nil
}

// Episode returns a copy of an episode.
func (d copyingStore) Episode(ctx context.Context, i int) (e *dataset.Episode, err error) {
	err = d.holder(i).Guard(func() error {
		if e, err = d.Store.Episode(ctx, i); err != nil {
			return err
		}
		for k := range e.Streams {
			s := &e.Streams[k]
			if s.Values, s.Times, err = Join([]Samples{{Values: s.Values, Times: s.Times}}, len(s.Columns), s.Len(), s.Values.DType()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}
