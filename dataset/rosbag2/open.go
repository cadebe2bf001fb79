package rosbag2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/internal/logs/message/defs"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

const sqliteMagic = "SQLite format 3\x00"

func init() {
	dataset.Register(dataset.Format{
		Name: "rosbag2", Extensions: []string{".db3"},
		Match: func(head []byte) bool {
			return bytes.HasPrefix(head, []byte(sqliteMagic)) || bytes.HasPrefix(head, []byte(zstdMagic))
		},
		Inside: inside,
		Folder: isFolder,
		Open: func(ctx context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(ctx, path, opt)
		},
	})
}

// inside reports whether a file is a rosbag2 database, compressed or not, or a compressed MCAP file.
func inside(ctx context.Context, path string) (bool, error) {
	f, err := storage.Open(ctx, path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	n, _ := f.ReadAt(head, 0)
	if string(head[:n]) == sqliteMagic {
		return true, nil
	}
	z, err := zstd.NewReader(io.NewSectionReader(f, 0, f.Size()), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return false, nil
	}
	defer z.Close()
	n, _ = io.ReadFull(z, head)
	return string(head[:n]) == sqliteMagic || bytes.HasPrefix(head[:n], []byte("\x89MCAP0\r\n")), nil
}

// Set is an open bag, a dataset with one episode.
type Set struct {
	dataset.Dataset
	path     string
	opt      dataset.Options
	metadata *metadata // nil if there is none
	files    []string
	info     dataset.Info
	notes    dataset.Notes // about the choice of files
	cache    openfiles.Cache[*opened]
	messages *zstd.Decoder
	defs     *defs.Set
	close    sync.Once
}

// Open opens a bag's folder, or a single file. If files that metadata.yaml lists are missing, Info has problems, or with
// Options.Strict the result is an error. If all are missing, it is always an error.
func Open(ctx context.Context, path string, opt dataset.Options) (*Set, error) {
	s := &Set{path: path, opt: opt}
	s.Dataset = dataset.Single("rosbag2", path, s.episode)
	var err error
	if s.info, s.defs, err = topics.Check(ctx, opt); err != nil {
		return nil, err
	}
	st, err := storage.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		err = s.readFolder(ctx)
	} else {
		s.files = []string{path}
	}
	if err != nil {
		return nil, err
	}
	if s.messages, err = newMessages(); err != nil {
		return nil, err
	}
	s.cache.Format, s.cache.Most = "rosbag2", mostOpen
	return s, nil
}

// Name returns the name of the folder, or of the file without its extensions.
func (s *Set) Name() string { return nameOf(s.path) }

// Info returns the declarations in metadata.yaml, and problems if they are wrong.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// Close closes the files. After it, the episode's media and clouds cannot be read.
func (s *Set) Close() error {
	s.close.Do(func() {
		s.cache.Close()
		s.messages.Close()
	})
	return nil
}

// episode reads the bag to an episode.
func (s *Set) episode(ctx context.Context) (*dataset.Episode, error) {
	var damage dataset.Notes
	b, err := newBag(ctx, &s.cache, s.messages, s.files, &damage)
	if err != nil {
		return nil, err
	}
	if broken := damage.Damage(); s.opt.Strict && broken != nil {
		return nil, broken[0].Cause
	}
	b.describe(s.metadata)
	e, notes, err := s.read(ctx, b)
	if err != nil {
		return nil, s.named(err)
	}
	damage.Join(e.Notes)
	e.Name, e.Notes, e.Attributes.Source = s.Name(), damage, s.path
	e.Attributes.Other = b.said
	if b.distro != "" {
		b.said["ros_distro"] = b.distro
	}
	e.Notes = slices.Concat(e.Notes, s.notes, notes)
	b.lacks(e.Notes)
	if b.metadata != nil {
		maps.Copy(b.said, b.metadata.Custom)
		e.Notes.Join(b.metadata.disagreements(b))
	}
	return e, nil
}

// read decodes the messages. If some do not fit the bag's own definitions, it checks these definitions, and reads the bag again without the
// wrong ones.
func (s *Set) read(ctx context.Context, b *bag) (e *dataset.Episode, notes dataset.Notes, err error) {
	notes, err = b.choose(ctx, s.defs)
	if err != nil {
		return nil, nil, err
	}
	e, err = topics.Read(ctx, b, s.opt)
	if _, bad := dataset.AsBroken(err); !bad && (err != nil || len(e.Notes.Damage()) == 0) {
		return e, notes, err
	}
	wrong, failed := b.replace(ctx, s.defs)
	if failed != nil {
		return nil, nil, failed
	}
	if wrong != nil {
		e, err = topics.Read(ctx, b, s.opt)
	}
	return e, append(notes, wrong...), err
}

// named adds the bag's path to an error.
func (s *Set) named(err error) error {
	var bad *dataset.FormatError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = s.path
	}
	return err
}
