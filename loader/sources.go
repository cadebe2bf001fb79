package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Source is a file that a store was packed from.
type Source struct {
	Path   string `json:"path"` // below the dataset's folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SourcesOf hashes the files of a dataset: the file, or all below the folder, in the order of their names. Names that begin with a dot are left out.
func SourcesOf(ctx context.Context, path string) ([]Source, error) {
	var list []Source
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case file != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(file) // what a link links to
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name := filepath.Base(file)
		if file != path {
			if name, err = filepath.Rel(path, file); err != nil {
				return err
			}
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		n, err := io.Copy(h, f)
		list = append(list, Source{filepath.ToSlash(name), n, hex.EncodeToString(h.Sum(nil))})
		return err
	})
	return list, err
}

// StaleError says that the files which a store was packed from are others now.
type StaleError struct {
	Path    string
	Changed []string // files that are other, gone or new
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("loader: the store is stale: of %s %d files differ: %s; want it packed again", e.Path, len(e.Changed), listed(e.Changed))
}

// Unwrap returns dataset.ErrCorrupt.
func (e *StaleError) Unwrap() error { return dataset.ErrCorrupt }

// Fresh compares the files of a dataset with those that the store was packed from. Others are a *StaleError.
func (s *Store) Fresh(ctx context.Context, path string) error {
	now, err := SourcesOf(ctx, path)
	if err != nil {
		return err
	}
	was := make(map[string]Source, len(s.Sources))
	for _, f := range s.Sources {
		was[f.Path] = f
	}
	var changed []string
	for _, f := range now {
		if was[f.Path] != f {
			changed = append(changed, f.Path)
		}
		delete(was, f.Path)
	}
	for _, f := range s.Sources {
		if _, gone := was[f.Path]; gone {
			changed = append(changed, f.Path)
		}
	}
	if len(changed) > 0 {
		return &StaleError{path, changed}
	}
	return nil
}
