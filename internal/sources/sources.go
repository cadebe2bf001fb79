package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/robocache/robocache/storage"
)

// File is a file of a dataset.
type File struct {
	Path   string `json:"path"` // below the dataset's folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	// Modified is when it was written last, in nanoseconds of Unix time; 0 where that is not known, and of what is hashed, which is what it holds.
	Modified int64 `json:"-"`
}

// List lists the files of a dataset: the file, or all below the folder, in the order of their names. Names that begin with a dot are left out.
func List(ctx context.Context, path string) ([]File, error) {
	st, err := storage.Stat(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return filesBelow(ctx, path, "", nil)
	case !st.IsRegular():
		return nil, nil
	}
	return []File{{Path: st.Name, Bytes: st.Size, Modified: modified(st)}}, nil
}

// filesBelow adds those of a folder to a list. Links to files are files.
func filesBelow(ctx context.Context, path, folder string, list []File) ([]File, error) {
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
			list = append(list, File{Path: name, Bytes: st.Size, Modified: modified(st)})
		}
	}
	return list, nil
}

func modified(st storage.Info) int64 {
	if st.Modified.IsZero() {
		return 0
	}
	return st.Modified.UnixNano()
}

// Hash reads the files of a list, and fills in what they are.
func Hash(ctx context.Context, path string, list []File) error {
	info, err := storage.Stat(ctx, path)
	if err != nil {
		return err
	}
	for i := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		file := path
		if info.IsDir() {
			file = storage.Join(path, list[i].Path)
		}
		if err := list[i].hash(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

func (s *File) hash(ctx context.Context, file string) error {
	f, err := storage.Open(ctx, file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	s.Bytes, err = io.Copy(h, storage.Reader(storage.Bound(ctx, f)))
	s.SHA256, s.Modified = hex.EncodeToString(h.Sum(nil)), 0
	return err
}
