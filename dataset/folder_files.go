package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxOpen is how many files of a folder stay open that nobody reads.
const maxOpen = 8

// shared is an open file of a folder.
type shared struct {
	Dataset
	path string
	used int // by how many, of which none may find it closed
	shut bool
}

// take returns a file for reading, and opens it if it is not open. Give it back.
func (d *folder) take(ctx context.Context, path string) (*shared, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("dataset: %s: %w", d.path, ErrClosed)
	}
	at := slices.IndexFunc(d.open, func(f *shared) bool { return f.path == path })
	if at < 0 {
		one, err := d.format.Open(ctx, path, d.opt)
		if err != nil {
			return nil, err
		}
		at = len(d.open)
		d.open = append(d.open, &shared{Dataset: one, path: path})
	}
	f := d.open[at]
	f.used++
	d.open = append(slices.Delete(d.open, at, at+1), f)
	return f, nil
}

// give gives a file back, and closes those that were not used for the longest time.
func (d *folder) give(f *shared) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.used--
	most := maxOpen
	if d.closed {
		most = 0
	}
	for i := 0; i < len(d.open) && len(d.open) > most; {
		if d.open[i].used > 0 {
			i++
			continue
		}
		_ = d.open[i].shutDown() // it was read only, and what was read of it was right
		d.open = slices.Delete(d.open, i, i+1)
	}
}

func (f *shared) shutDown() error {
	f.shut = true
	return f.Close()
}

// Close closes the files that nobody reads at this moment; the others follow.
func (d *folder) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.open = slices.DeleteFunc(d.open, func(f *shared) bool {
		if f.used == 0 {
			err = errors.Join(err, f.shutDown())
		}
		return f.used == 0
	})
	return err
}

// again returns a file that was open, if it still is, for reading. Give it back.
func (d *folder) again(f *shared) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.shut || d.closed {
		return false
	}
	f.used++
	return true
}

// folderFrames are the frames of an episode whose file may have been closed since: then it is opened and the episode read again.
type folderFrames struct {
	folder         *folder
	path           string
	episode, media int

	mu     sync.Mutex
	from   *shared
	source FrameSource
}

func (s *folderFrames) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	from, source, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	defer s.folder.give(from)
	return source.ReadFrame(ctx, i)
}

// current returns an open file and the frames' source in it.
func (s *folderFrames) current(ctx context.Context) (*shared, FrameSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder.again(s.from) {
		return s.from, s.source, nil
	}
	from, err := s.folder.take(ctx, s.path)
	if err != nil {
		return nil, nil, err
	}
	e, err := from.Episode(ctx, s.episode)
	if err == nil && s.media >= len(e.Media) {
		err = &FormatError{Format: s.folder.format.Name, Path: s.path, Offset: -1, Kind: ErrNotFound, Msg: "frames", Got: "a file that has changed", Want: "the one that was opened"}
	}
	if err != nil {
		s.folder.give(from)
		return nil, nil, err
	}
	s.from, s.source = from, e.Media[s.media].Source
	return from, s.source, nil
}
