package rosbag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

func init() {
	dataset.Register(dataset.Format{
		Name: "rosbag", Extensions: []string{".bag"},
		Match: func(head []byte) bool {
			for _, v := range versioned {
				if bytes.HasPrefix(head, []byte(v)) {
					return true
				}
			}
			return false
		},
		Folder: func(ctx context.Context, folder string) bool {
			names, err := pieces(ctx, folder)
			return err == nil && names != nil
		},
		Open: Open,
	})
}

// Open opens a bag, or a folder with the pieces of one recording. Episode(ctx, 0) reads it. Its images and clouds can be read until
// the dataset is closed.
func Open(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
	st, err := storage.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return fromFolder(ctx, path, opt)
	}
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	d, err := fromFile(ctx, file, path, opt)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

// fromFolder opens the pieces of a recording.
func fromFolder(ctx context.Context, folder string, opt dataset.Options) (dataset.Dataset, error) {
	info, _, err := topics.Check(ctx, opt)
	if err != nil {
		return nil, err
	}
	names, err := pieces(ctx, folder)
	if err == nil && names == nil {
		err = &dataset.FormatError{Format: "rosbag", Path: folder, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "folder", Got: "no pieces of one recording", Want: "a bag"}
	}
	if err != nil {
		return nil, err
	}
	info.Version = "2.0"
	d := &bagDataset{path: folder, opt: opt, info: info}
	d.notes.Add(dataset.Note{Code: dataset.CodePiecesAssumed, Count: len(names), Detail: dataset.Detail{Names: names}})
	if err := openPieces(ctx, folder, names, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Dataset = dataset.Single("rosbag", folder, d.read)
	return d, nil
}

// fromFile returns the dataset for an open bag file. The dataset then closes the file; after an error the caller does.
func fromFile(ctx context.Context, file storage.File, path string, opt dataset.Options) (dataset.Dataset, error) {
	info, _, err := topics.Check(ctx, opt)
	if err != nil {
		return nil, err
	}
	info.Version = "2.0"
	s := &source{file: file}
	log, err := open(ctx, s, path)
	if err != nil {
		return nil, err
	}
	d := &bagDataset{sources: []*source{s}, log: log, path: path, damage: log.damage, opt: opt, info: info}
	d.Dataset = dataset.Single("rosbag", path, d.read)
	return d, nil
}

// bagDataset is an open bag, or the pieces of one recording.
type bagDataset struct {
	dataset.Dataset
	sources []*source
	log     topics.Log
	path    string
	damage  dataset.Notes // of the files as a whole
	notes   dataset.Notes // about the choice of files
	opt     dataset.Options
	info    dataset.Info
}

// Info returns the format's version and the available clocks.
func (d *bagDataset) Info() dataset.Info { return d.info }

// Close closes the files.
func (d *bagDataset) Close() (err error) {
	for _, s := range d.sources {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (d *bagDataset) read(ctx context.Context) (*dataset.Episode, error) {
	if d.opt.Strict && d.damage != nil {
		return nil, d.damage[0].Cause
	}
	e, err := topics.Read(ctx, d.log, d.opt)
	if err != nil {
		return nil, err
	}
	e.Name, e.Attributes.Source = d.Name(), d.path
	damage := slices.Clone(d.damage)
	damage.Join(e.Notes)
	damage.SetPath(d.path)
	e.Notes = append(damage, d.notes...)
	return e, nil
}

// source is a bag's file. Reads after Close return dataset.ErrClosed.
type source struct {
	file   storage.File
	mu     sync.RWMutex
	closed bool
}

func (s *source) ReadAt(b []byte, at int64) (int, error) {
	return s.ReadAtContext(context.Background(), b, at)
}

// ReadAtContext is like ReadAt, but also ends when ctx ends, if the storage supports that.
func (s *source) ReadAtContext(ctx context.Context, b []byte, at int64) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, fmt.Errorf("rosbag: %w", dataset.ErrClosed)
	}
	return storage.Bound(ctx, s.file).ReadAt(b, at)
}

func (s *source) Size() int64 { return s.file.Size() }

// Close closes the file. Close twice is fine.
func (s *source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.file.Close()
}
