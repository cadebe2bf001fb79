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
		Open: Open,
	})
}

// Open opens a bag, whose one episode is read when it is asked for. Its images and clouds can be read until the dataset is closed.
func Open(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
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

// fromFile is Open of a file that is open, and is the dataset's if there is no error.
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
	d := &bagDataset{source: s, log: log, opt: opt, info: info}
	d.Dataset = dataset.Single("rosbag", path, d.read)
	return d, nil
}

// bagDataset is an open bag.
type bagDataset struct {
	dataset.Dataset
	source *source
	log    *bag
	opt    dataset.Options
	info   dataset.Info
}

// Info is the format's version and the clocks there are.
func (d *bagDataset) Info() dataset.Info { return d.info }

// Close closes the file.
func (d *bagDataset) Close() error { return d.source.Close() }

func (d *bagDataset) read(ctx context.Context) (*dataset.Episode, error) {
	if d.opt.Strict && d.log.damage != nil {
		return nil, d.log.damage[0].Cause
	}
	e, err := topics.Read(ctx, d.log, d.opt)
	if err != nil {
		return nil, err
	}
	e.Name, e.Attributes.Source = d.Name(), d.log.path
	damage := slices.Clone(d.log.damage)
	damage.Join(e.Notes)
	damage.SetPath(d.log.path)
	e.Notes = damage
	return e, nil
}

// source is a bag's file, of which reads after Close are dataset.ErrClosed.
type source struct {
	file   storage.File
	mu     sync.RWMutex
	closed bool
}

func (s *source) ReadAt(b []byte, at int64) (int, error) {
	return s.ReadAtContext(context.Background(), b, at)
}

// ReadAtContext is a read that ends with ctx too, of files that can be read so.
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
