package isaaclab

import (
	"context"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/internal/h5episode"
)

const initial = "initial_state"

var layout = h5episode.Layout{
	Format: "isaaclab",
	Want:   h5episode.WantDemos + ", with a group initial_state or states, or env_args with sim_args",
	Fits:   fits,
	Index:  func(ctx context.Context, s *h5episode.Set) error { return s.IndexDemos(ctx) },
	Begin: func(r *h5episode.Reader, demo *hdf5.Group) error {
		r.Omit = func(path string) dataset.Code {
			if strings.HasPrefix(path, initial+"/") {
				return dataset.CodeInitialState
			}
			return ""
		}
		return r.BeginRoot(demo)
	},
}

func init() { layout.Register() }

// Open opens a file. If the file has another layout, the error is dataset.ErrUnsupported.
func Open(path string, opt dataset.Options) (dataset.Dataset, error) { return layout.Open(path, opt) }

// fits looks into the first demonstrations, since one may be broken.
func fits(root *hdf5.Group) (bool, error) {
	data, demos, err := h5episode.DemosOf(root)
	if len(demos) == 0 {
		return false, err
	}
	if a, none := data.Attr("env_args"); none == nil {
		if text, none := a.ReadStrings(); none == nil && len(text) == 1 && strings.Contains(text[0], `"sim_args"`) {
			return true, nil
		}
	}
	for _, name := range demos[:min(3, len(demos))] {
		demo, broken := root.Group(name)
		if broken != nil {
			continue
		}
		for _, name := range []string{initial, "states"} {
			if _, none := demo.Group(name); none == nil {
				return true, nil
			}
		}
	}
	return false, nil
}
