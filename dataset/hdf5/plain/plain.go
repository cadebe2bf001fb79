package plain

import (
	"context"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/dataset/internal/h5episode"
)

var layout = h5episode.Layout{
	Format: "hdf5",
	Index:  index,
	Begin:  (*h5episode.Reader).BeginRoot,
}

func init() { layout.Register() }

// Open opens a file of any layout.
func Open(path string, opt dataset.Options) (dataset.Dataset, error) { return layout.Open(path, opt) }

func index(_ context.Context, s *h5episode.Set) error {
	root := s.File.Root()
	if names := numbered(root); len(names) > 0 {
		said, err := s.Attributes(root)
		if err != nil {
			return err
		}
		s.About.Attributes = said
		s.AddTask(h5episode.TaskOf(said))
		for _, name := range names {
			s.Parts = append(s.Parts, h5episode.Part{Name: name, Path: "/" + name})
		}
	} else {
		s.Parts = []h5episode.Part{{Name: s.Name(), Path: "/"}}
	}
	return s.ChooseRate(0)
}

// numbered returns the names in the root in the order of their numbers, if these are all in which they differ, and all are groups.
func numbered(root *hdf5.Group) []string {
	names := root.Names()
	for _, name := range names {
		stem := strings.TrimRight(name, "0123456789")
		if stem == name || stem != strings.TrimRight(names[0], "0123456789") {
			return nil
		}
		if _, err := root.Dataset(name); err == nil {
			return nil
		}
	}
	slices.SortFunc(names, dataset.CompareNames)
	return names
}
