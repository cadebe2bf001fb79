package lerobot

import (
	"context"
	"path/filepath"

	"github.com/robocache/robocache/storage"
)

// modalityFile says which columns of a state and action are of which part of a robot: GR00T's, which LeRobot does not read.
const modalityFile = "meta/modality.json"

// Modality returns the text of meta/modality.json, with which GR00T finds its parts of states and actions; nil of a dataset without.
func (s *Set) Modality(ctx context.Context) ([]byte, error) {
	path := s.path(modalityFile)
	var files storage.Listing
	if !files.Has(ctx, path) {
		return nil, ctx.Err()
	}
	if _, err := readObject(path); err != nil { // of more than fits, too
		return nil, err
	}
	return storage.ReadFile(ctx, path)
}

// writeModality writes WriteOptions.Modality, if there is one.
func (w *Writer) writeModality() error {
	if len(w.opt.Modality) == 0 {
		return nil
	}
	return w.writeJSON(filepath.FromSlash(modalityFile), w.opt.Modality)
}
