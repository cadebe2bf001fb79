package mutate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

// Read opens a dataset and reads the streams of the first 50 episodes, and up to three frames of each media stream. whole reports
// whether there were no errors, damage or notes about the dataset.
//
// wrong joins the results that are bugs of the reader even for a broken dataset: errors that Untyped rejects, streams that fail
// Check, and damage without an error although opt.Strict is set. It is nil if there are none.
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

// Untyped returns nil if a broken dataset may give the error err: a *dataset.FormatError with a kind, a *fs.PathError, a *memory.Error, a
// *dataset.SetBackError, dataset.ErrOption or dataset.ErrShape. Otherwise it returns an error that describes the fault in err.
func Untyped(err error) error {
	var bad *dataset.FormatError
	var system *fs.PathError
	var back *dataset.SetBackError
	var large *memory.Error
	switch {
	case errors.As(err, &bad) && bad.Kind == nil:
		return fmt.Errorf("an error of no kind: %w", err)
	case errors.As(err, &bad), errors.As(err, &system), errors.As(err, &back), errors.As(err, &large),
		errors.Is(err, dataset.ErrOption), errors.Is(err, dataset.ErrShape):
		return nil
	}
	return fmt.Errorf("an error without a type: %T: %w", err, err)
}

// Files reads seeds from a folder. Faults may hit any byte of them.
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

// In overwrites the file that the mutant was made from, calls try, and restores the file.
func (m Mutant) In(dir string, try func()) error {
	path := filepath.Join(dir, filepath.FromSlash(m.Seed.Name))
	if err := os.WriteFile(path, m.Data, 0o600); err != nil {
		return err
	}
	try()
	return os.WriteFile(path, m.Seed.Data, 0o600)
}
