package h5episode

import (
	"context"
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
)

const magic = "\x89HDF\r\n\x1a\n"

// Layout is a way of keeping episodes in an HDF5 file.
type Layout struct {
	Format string // the name under which it is registered
	Want   string // description of the structure that Fits finds, for errors
	// Fits recognises a file by its root group. Nil accepts every file that no other layout recognises.
	Fits func(root *hdf5.Group) (bool, error)
	// Index finds the episodes in a file, and reads the file's own attributes.
	Index func(ctx context.Context, s *Set) error
	// Begin reads the attributes of an episode's group, before its datasets are read.
	Begin func(r *Reader, group *hdf5.Group) error
}

// Register makes dataset.Open know the layout.
func (l *Layout) Register() {
	f := dataset.Format{
		Name: l.Format, Extensions: []string{".hdf5", ".h5"}, Match: matches,
		Named: func(head []byte) bool { return len(head) == dataset.HeadBytes }, // a block of the user's may be longer
		Open:  l.open,
	}
	if l.Fits != nil {
		f.Inside = l.inside
	}
	dataset.Register(f)
}

// matches recognises an HDF5 file, which may begin with a user block.
func matches(head []byte) bool {
	for at := 0; at+len(magic) <= len(head); at = max(512, 2*at) {
		if string(head[at:at+len(magic)]) == magic {
			return true
		}
	}
	return false
}

func (l *Layout) inside(_ context.Context, path string) (bool, error) {
	file, err := hdf5.Open(path)
	if err != nil {
		return false, err
	}
	ok, err := l.Fits(file.Root())
	return ok, errors.Join(err, file.Close())
}

// Open opens a file. One of another layout is an error that is dataset.ErrUnsupported.
func (l *Layout) Open(path string, opt dataset.Options) (dataset.Dataset, error) {
	return l.open(context.Background(), path, opt)
}

func (l *Layout) open(ctx context.Context, path string, opt dataset.Options) (opened dataset.Dataset, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	file, err := hdf5.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Set{layout: l, path: path, strict: opt.Strict, rate: opt.Rate, Kind: l.Format, File: file}
	if err := s.index(ctx); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}
