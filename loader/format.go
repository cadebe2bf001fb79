package loader

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
)

// A store is a format of datasets too: dataset.Open gives a *Store.
func init() {
	dataset.Register(dataset.Format{
		Name: "store", Extensions: []string{".safetensors"}, Match: safetensors.Match,
		Inside: func(path string) (bool, error) { return IsStore(path), nil },
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			s, err := Open(path)
			if err != nil {
				return nil, err
			}
			if clock := s.info.Clock; opt.Clock != "" && opt.Clock != clock {
				return nil, errors.Join(&dataset.OptionError{Arg: "Clock", Got: opt.Clock, Want: fmt.Sprintf("%q, which it was packed with", clock)}, s.Close())
			}
			return s, nil
		},
	})
}
