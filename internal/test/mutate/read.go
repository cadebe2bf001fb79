package mutate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
)

// Read opens a dataset and reads all that it has: the first 50 episodes, some frames of each media stream. Whole reports whether there was no error, damage or
// problem at all. Wrong is what no dataset may do, however broken: an error that is none of a *dataset.FormatError with a kind, an option that is
// missing, arrays that do not go together and a file that is not there; a stream that is not sound; damage of a strict reader.
func Read(open func(dataset.Options) (dataset.Dataset, error), opt dataset.Options) (whole bool, wrong error) {
	whole = true
	check := func(err error) bool {
		if err != nil {
			whole, wrong = false, errors.Join(wrong, Untyped(err))
		}
		return err == nil
	}
	ctx := context.Background()
	d, err := open(opt)
	if !check(err) {
		return whole, wrong
	}
	defer d.Close()
	whole = whole && len(d.Info().Notes) == 0
	for i := range min(d.Len(), 50) {
		e, err := d.Episode(ctx, i)
		if !check(err) {
			continue
		}
		whole = whole && e.Notes.Damage() == nil
		if opt.Strict && e.Notes.Damage() != nil {
			wrong = errors.Join(wrong, fmt.Errorf("strict, and damage %v", e.Notes.Damage()))
		}
		for k := range e.Streams {
			wrong = errors.Join(wrong, e.Streams[k].Check())
		}
		for k := range e.Media {
			m := &e.Media[k]
			for _, i := range []int{0, m.Len() / 2, m.Len() - 1} {
				if i >= 0 && i < m.Len() {
					_, err := m.Frame(ctx, i)
					check(err)
				}
			}
		}
	}
	return whole, wrong
}

// Untyped returns nil for an error that a broken dataset may give, and else what is wrong with it.
func Untyped(err error) error {
	var bad *dataset.FormatError
	var system *fs.PathError
	var back *dataset.SetBackError
	switch {
	case errors.As(err, &bad) && bad.Kind == nil:
		return fmt.Errorf("an error of no kind: %w", err)
	case bad == nil && !errors.As(err, &system) && !errors.As(err, &back) && !errors.Is(err, dataset.ErrOption) && !errors.Is(err, dataset.ErrShape):
		return fmt.Errorf("an error without a type: %T: %w", err, err)
	}
	return nil
}

// Files reads seeds from a folder, all of whose bytes are hit alike.
func Files(dir string, names ...string) ([]Seed, error) {
	seeds := make([]Seed, len(names))
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		seeds[i] = Seed{Name: name, Data: data}
	}
	return seeds, nil
}

// In puts a mutant in the place of the file that it is of, calls try, and puts the file back.
func (m Mutant) In(dir string, try func()) error {
	path := filepath.Join(dir, filepath.FromSlash(m.Seed.Name))
	if err := os.WriteFile(path, m.Data, 0o600); err != nil {
		return err
	}
	try()
	return os.WriteFile(path, m.Seed.Data, 0o600)
}
