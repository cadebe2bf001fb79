package zarr

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

const format = "zarr"

// endsPath is the array that every dataset has.
const endsPath = "meta/episode_ends"

// metadataNames are the files that describe an array, in versions 2 and 3.
var metadataNames = [2]string{".zarray", "zarr.json"}

// files are a dataset's files: a folder, or a zip file.
type files struct {
	path    string
	root    string               // the dataset's folder in a zip file: "pusht.zarr/"
	members map[string]*zip.File // by their names; nil for a folder
	zip     storage.File         // nil for a folder
}

// open opens the files at a path. For a zip file without a dataset the error is a *dataset.FormatError that is ErrUnsupported.
func open(ctx context.Context, path string) (*files, error) {
	st, err := storage.Stat(ctx, path)
	if err != nil || st.IsDir() {
		return &files{path: path}, err
	}
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &files{path: path, members: map[string]*zip.File{}, zip: file}
	z, err := zip.NewReader(file, file.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		bad := fail(dataset.ErrCorrupt, path, "archive", "", "a zip file")
		bad.Err = err
		return nil, errors.Join(bad, file.Close())
	}
	found := false
	for _, m := range z.File {
		f.members[m.Name] = m // the last with a name, because zarr appends new versions
		for _, name := range metadataNames {
			if top, is := strings.CutSuffix(m.Name, endsPath+"/"+name); is && (!found || len(top) < len(f.root)) {
				f.root, found = top, true
			}
		}
	}
	if !found {
		const want = "the row after each episode there, and arrays in data: a ReplayBuffer"
		return nil, errors.Join(fail(dataset.ErrUnsupported, path, "archive", "no "+endsPath, want), file.Close())
	}
	return f, nil
}

func (f *files) close() error {
	if f.zip == nil {
		return nil
	}
	return storage.CloseOnce(f.zip)
}

// where returns a file's path for errors.
func (f *files) where(name string) string {
	if f.zip != nil {
		return f.path + ":" + name
	}
	return storage.Join(f.path, name)
}

// read returns a file's content. If there is no file, the error is fs.ErrNotExist.
func (f *files) read(ctx context.Context, name string) ([]byte, error) {
	if f.zip == nil {
		return storage.ReadFile(ctx, f.where(name))
	}
	m := f.members[f.root+name]
	if m == nil {
		return nil, fs.ErrNotExist
	}
	size := int64(min(m.UncompressedSize64, math.MaxInt64))
	if err := memory.Check("member", size, f.zip.Size()); err != nil {
		return nil, err
	}
	r, err := m.Open()
	var data []byte
	if err == nil {
		defer r.Close()
		data, err = io.ReadAll(r) // verifies the size and the CRC
	}
	if err == nil || dataset.IsSystem(err) {
		return data, err
	}
	bad := fail(dataset.ErrCorrupt, f.where(name), "member", fmt.Sprintf("%d bytes in %d", size, m.CompressedSize64), "its bytes")
	if bad.Err = err; errors.Is(err, zip.ErrAlgorithm) {
		bad.Kind = dataset.ErrUnsupported
	}
	return nil, bad
}

// arrays returns the folders' names in data, sorted by dataset.CompareNames.
func (f *files) arrays(ctx context.Context) (names []string, err error) {
	if f.zip == nil {
		list, err := storage.ReadDir(ctx, f.where("data"))
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].IsDir() {
				names = append(names, list[i].Name)
			}
		}
	}
	for member := range f.members {
		below, in := strings.CutPrefix(member, f.root+"data/")
		if name, _, folder := strings.Cut(below, "/"); in && folder && name != "" {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, dataset.CompareNames)
	return slices.Compact(names), nil
}

// readJSON reads a JSON file into v. It returns fs.ErrNotExist if there is none, and a *dataset.FormatError if it is broken.
func (f *files) readJSON(ctx context.Context, name string, v any) error {
	data, err := f.read(ctx, name)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(data, v); err != nil {
		bad := fail(dataset.ErrCorrupt, f.where(name), "JSON", "", "")
		bad.Err = err
		return bad
	}
	return nil
}

// readAttributes reads the attributes of a group or array into v. prefix is its path and a slash, or empty. v is unchanged if there are
// none.
func (f *files) readAttributes(ctx context.Context, prefix string, v any) error {
	err := f.readJSON(ctx, prefix+".zattrs", v)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.readJSON(ctx, prefix+metadataNames[1], &struct {
			Attributes any `json:"attributes"`
		}{v})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// fail is a *dataset.FormatError without a position.
func fail(kind error, path, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: format, Path: path, Offset: -1, Kind: kind, Msg: msg, Got: got, Want: want}
}

// isArchive recognises a zip file by its first bytes.
func isArchive(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }
