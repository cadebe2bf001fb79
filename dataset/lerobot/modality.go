package lerobot

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/storage"
)

// Modality returns the text of meta/modality.json, where GR00T finds its parts of states and actions; nil if the dataset has no
// such file.
func (s *Set) Modality(ctx context.Context) (_ []byte, err error) {
	defer dataset.Watched(s.root, &err)()
	path := s.path(layout.ModalityFile)
	var files storage.Listing
	if !files.Has(ctx, path) {
		return nil, ctx.Err()
	}
	if _, err := readObject(path); err != nil { // also rejects files over the size limit
		return nil, err
	}
	return storage.ReadFile(ctx, path)
}
