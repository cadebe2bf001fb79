package aloha

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/internal/h5episode"
)

var layout = h5episode.Layout{
	Format: "aloha",
	Want:   "a dataset action and a group observations with qpos or images",
	Fits: func(root *hdf5.Group) (bool, error) {
		if !root.Has("action") || !root.Has("observations") {
			return false, nil
		}
		o, err := root.Open("observations")
		seen, ok := o.(*hdf5.Group)
		return ok && (seen.Has("qpos") || seen.Has("images")), err
	},
	Index: func(ctx context.Context, s *h5episode.Set) error { return s.IndexGroups(ctx) },
	Begin: func(r *h5episode.Reader, root *hdf5.Group) error {
		r.Omit = func(path string) dataset.Code {
			if path == "compress_len" {
				return dataset.CodeFrameLengths
			}
			return ""
		}
		return r.BeginRoot(root)
	},
}

func init() { layout.Register() }

// Open opens a file with one episode, which has the file's name without the extension. If the file has another layout, the error is
// dataset.ErrUnsupported.
func Open(path string, opt dataset.Options) (dataset.Dataset, error) { return layout.Open(path, opt) }
