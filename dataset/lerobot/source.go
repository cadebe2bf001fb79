package lerobot

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// source is a dataset's folder and the results so far: each step of Open adds to info and problems.
type source struct {
	root     string
	info     dataset.Info
	problems problems
	refused  error // a pipe or device instead of a file, which ends Open
}

// path returns the path of a file in the dataset.
func (s *source) path(name string) string { return storage.Join(s.root, filepath.FromSlash(name)) }

// unreadable adds a note that a file is missing or unreadable. It records a pipe or a device in refused.
func (s *source) unreadable(name string, err error) {
	if bad := (*storage.NotFileError)(nil); errors.As(err, &bad) && !bad.Mode.IsDir() {
		s.refused = err
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.problems.add(dataset.CodeFileMissing, name, 0, detail{})
		return
	}
	s.problems.add(dataset.CodeUnreadable, name, 0, detail{Cause: err})
}

// parquetFiles lists the files in a folder and its subfolders, sorted as strings, which is the row order.
func (s *source) parquetFiles(ctx context.Context, dir string) (names []string, err error) {
	entries, err := storage.ReadDir(ctx, s.path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	add := func(dir string, entry storage.Info) {
		name := filepath.Join(dir, entry.Name)
		if entry.Mode&fs.ModeSymlink != 0 {
			_, err := storage.Stat(ctx, s.path(name))
			s.unreadable(filepath.ToSlash(name), err) // a link without a target
		} else if entry.IsRegular() {
			names = append(names, name)
		} else if !entry.IsDir() {
			s.unreadable(filepath.ToSlash(name), &fs.PathError{Op: "open", Path: s.path(name), Err: &storage.NotFileError{Mode: entry.Mode}})
		}
	}
	for _, entry := range entries {
		if isParquet(entry.Name) {
			add(dir, entry)
			continue
		}
		if !entry.IsDir() {
			continue
		}
		name := filepath.Join(dir, entry.Name)
		below, err := storage.ReadDir(ctx, s.path(name))
		if err != nil {
			s.unreadable(filepath.ToSlash(name), err)
		}
		for _, file := range below {
			if isParquet(file.Name) {
				add(name, file)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

func isParquet(name string) bool {
	return strings.HasSuffix(name, ".parquet") && !strings.HasPrefix(name, ".")
}
