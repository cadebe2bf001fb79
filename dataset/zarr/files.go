package zarr

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
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
	members map[string]*zip.File // by their paths below the dataset; nil for a folder
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
		return nil, errors.Join(dataset.StandIn(ctx, bad, path), file.Close())
	}
	root, found := "", false
	for _, m := range z.File {
		for _, name := range metadataNames {
			if top, is := strings.CutSuffix(m.Name, endsPath+"/"+name); is && (!found || len(top) < len(root)) {
				root, found = top, true
			}
		}
	}
	if !found {
		return nil, errors.Join(fail(dataset.ErrUnsupported, path, "archive", "no "+endsPath, "a ReplayBuffer"), file.Close())
	}
	for _, m := range z.File {
		if name, in := strings.CutPrefix(m.Name, root); in {
			f.members[name] = m // the last with a name, because zarr appends new versions
		}
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
	m := f.members[name]
	if m == nil {
		return nil, fs.ErrNotExist
	}
	bad := fail(dataset.ErrCorrupt, f.where(name), "member", fmt.Sprintf("%d bytes in %d", m.UncompressedSize64, m.CompressedSize64), "its bytes")
	size := int64(min(m.UncompressedSize64, math.MaxInt64))
	if err := memory.Check("member", size, f.zip.Size()); err != nil {
		return nil, err
	}
	r, err := m.Open()
	var data []byte
	if err == nil {
		defer r.Close()
		data = make([]byte, size)
		_, err = io.ReadFull(r, data)
	}
	if err == nil {
		_, err = io.ReadFull(r, make([]byte, 1)) // verifies the CRC
	}
	switch {
	case err == io.EOF:
		return data, nil
	case err != nil && dataset.IsSystem(err):
		return nil, err
	case errors.Is(err, zip.ErrAlgorithm):
		bad.Kind = dataset.ErrUnsupported
	}
	bad.Err = err
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
		parts := strings.Split(member, "/")
		if len(parts) > 2 && parts[0] == "data" && parts[1] != "" {
			names = append(names, parts[1])
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
		return dataset.StandIn(ctx, bad, f.where(name))
	}
	return nil
}

// fail is a *dataset.FormatError without a position.
func fail(kind error, path, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: format, Path: path, Offset: -1, Kind: kind, Msg: msg, Got: got, Want: want}
}

// isArchive recognises a zip file by its first bytes, unless it begins with a numpy array.
func isArchive(head []byte) bool {
	if len(head) < 30 || string(head[:4]) != "PK\x03\x04" {
		return false
	}
	name := head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))]
	return !bytes.HasSuffix(name, []byte(".npy"))
}
