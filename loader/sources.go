package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// Source is a file that a store was packed from.
type Source struct {
	Path   string `json:"path"` // below the dataset's folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SourcesOf hashes the files of a dataset: the file, or all below the folder, in the order of their names. Names that begin with a dot are left out.
func SourcesOf(ctx context.Context, path string) ([]Source, error) {
	list, err := filesOf(ctx, path)
	if err != nil {
		return nil, err
	}
	return list, hashAll(ctx, path, list)
}

// filesOf lists what SourcesOf hashes.
func filesOf(ctx context.Context, path string) ([]Source, error) {
	st, err := storage.Stat(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return filesBelow(ctx, path, "", nil)
	case !st.IsRegular():
		return nil, nil
	}
	return []Source{{Path: st.Name, Bytes: st.Size}}, nil
}

// filesBelow adds those of a folder to a list. Links to files are files.
func filesBelow(ctx context.Context, path, folder string, list []Source) ([]Source, error) {
	entries, err := storage.ReadNames(ctx, storage.Join(path, folder), -1)
	if err != nil {
		return nil, err
	}
	for _, st := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(st.Name, ".") {
			continue
		}
		name := st.Name
		if folder != "" {
			name = folder + "/" + name
		}
		if st.IsDir() {
			if list, err = filesBelow(ctx, path, name, list); err != nil {
				return nil, err
			}
			continue
		}
		if file, local := storage.Local(storage.Join(path, name)); local {
			if st, err = storage.Stat(ctx, file); err != nil { // what a link links to, and how large it is
				return nil, err
			}
		}
		if st.IsRegular() {
			list = append(list, Source{Path: name, Bytes: st.Size})
		}
	}
	return list, nil
}

// hashAll reads the files of a list, and fills in what they are.
func hashAll(ctx context.Context, path string, list []Source) error {
	single := false
	if info, err := storage.Stat(ctx, path); err == nil {
		single = !info.IsDir()
	}
	for i := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		file := path
		if !single {
			file = storage.Join(path, list[i].Path)
		}
		if err := list[i].hash(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) hash(ctx context.Context, file string) error {
	f, err := storage.Open(ctx, file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	s.Bytes, err = io.Copy(h, storage.Reader(storage.Bound(ctx, f)))
	s.SHA256 = hex.EncodeToString(h.Sum(nil))
	return err
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

// Fresh compares the files of a dataset with those that the store was packed from. Others are a *StaleError. Of a store that is one of several files
// it reads those that this one has hashed, and compares the others' names and sizes.
func (s *Store) Fresh(ctx context.Context, path string) error {
	var now []Source
	var err error
	if s.Shard == nil {
		now, err = SourcesOf(ctx, path)
	} else {
		is := *s.Shard
		if now, err = is.sources(ctx, path); err == nil && is.Listing != s.Shard.Listing {
			return &StaleError{path, []string{fmt.Sprintf("%d files, of which some have another name or size than the %d that there were", is.Files, s.Shard.Files)}}
		}
	}
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
