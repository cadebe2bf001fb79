package loader

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/sources"
)

// Source is a file that a store was packed from.
type Source = sources.File

// SourcesOf hashes the files of a dataset: the file, or all below the folder, in the order of their names. Names that begin with a dot are left out.
func SourcesOf(ctx context.Context, path string) ([]Source, error) {
	list, err := sources.List(ctx, path)
	if err != nil {
		return nil, err
	}
	return list, sources.Hash(ctx, path, list)
}

// StaleError says that the files which a store was packed from are others now.
type StaleError struct {
	Path    string
	Changed []string // files that are other, gone or new
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("loader: the store is stale: of %s %d files differ: %s; want it packed again", e.Path, len(e.Changed), listed(e.Changed))
}

// Unwrap returns dataset.ErrCorrupt.
func (e *StaleError) Unwrap() error { return dataset.ErrCorrupt }

// Fresh compares the files of a dataset with those that the store was packed from. Others are a *StaleError. Of a store that is one of several files
// it reads those that this one has hashed, and compares the others' names and sizes.
func (s *Store) Fresh(ctx context.Context, path string) error {
	var now []Source
	var err error
	if s.Shard == nil {
		now, err = SourcesOf(ctx, path)
	} else {
		is := *s.Shard
		if now, err = is.sources(ctx, path); err == nil && is.Listing != s.Shard.Listing {
			return &StaleError{path, []string{fmt.Sprintf("%d files, of which some have another name or size than the %d that there were", is.Files, s.Shard.Files)}}
		}
	}
	if err != nil {
		return err
	}
	was := make(map[string]Source, len(s.Sources))
	for _, f := range s.Sources {
		was[f.Path] = f
	}
	var changed []string
	for _, f := range now {
		if was[f.Path] != f {
			changed = append(changed, f.Path)
		}
		delete(was, f.Path)
	}
	for _, f := range s.Sources {
		if _, gone := was[f.Path]; gone {
			changed = append(changed, f.Path)
		}
	}
	if len(changed) > 0 {
		return &StaleError{path, changed}
	}
	return nil
}
