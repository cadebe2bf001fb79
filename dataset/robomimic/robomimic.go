package robomimic

import (
	"context"
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/internal/h5episode"
)

var layout = h5episode.Layout{
	Format: "robomimic",
	Want:   h5episode.WantDemos,
	Fits: func(root *hdf5.Group) (bool, error) {
		_, demos, err := h5episode.DemosOf(root)
		return len(demos) > 0, err
	},
	Index: func(ctx context.Context, s *h5episode.Set) error {
		if err := s.IndexDemos(ctx); err != nil {
			return err
		}
		if data, err := s.File.Root().Group("data"); err == nil {
			if _, err := data.Attr("env_args"); errors.Is(err, dataset.ErrNotFound) {
				s.Kind = "robosuite"
			}
		}
		return nil
	},
	Begin: (*h5episode.Reader).BeginRoot,
}

func init() { layout.Register() }

// Open opens a file. If the file has no group data with groups demo_N, the error is dataset.ErrUnsupported.
func Open(path string, opt dataset.Options) (dataset.Dataset, error) { return layout.Open(path, opt) }
