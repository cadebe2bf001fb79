package store

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/sources"
)

// Source is a file that a store was packed from.
type Source = sources.File

// SourcesOf hashes a dataset's files: the file, or all files below the folder, sorted by name. Names that begin with a dot are
// left out.
func SourcesOf(ctx context.Context, path string) ([]Source, error) {
	list, err := sources.List(ctx, path)
	if err != nil {
		return nil, err
	}
	return list, sources.Hash(ctx, path, list)
}

// StaleError means that files have changed since a store was packed from them.
type StaleError struct {
	Path    string
	Changed []string // files that are changed, missing or new
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("loader: the store is stale: in %s %d files differ: %s; want it packed again", e.Path, len(e.Changed), listNames(e.Changed))
}

// Unwrap returns dataset.ErrCorrupt.
func (e *StaleError) Unwrap() error { return dataset.ErrCorrupt }
