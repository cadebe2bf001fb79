package plain

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/h5episode"
)

var layout = h5episode.Layout{
	Format: "hdf5",
	Index:  func(ctx context.Context, s *h5episode.Set) error { return s.IndexGroups(ctx) },
	Begin:  (*h5episode.Reader).BeginRoot,
}

func init() { layout.Register() }

// Open opens an HDF5 file in any layout.
func Open(path string, opt dataset.Options) (dataset.Dataset, error) { return layout.Open(path, opt) }
